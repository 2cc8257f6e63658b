"""How does a test ask a server in the shapes of other APIs?"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from index.catalog import Catalog
from server.app import create_app
from server.keys import load_key
from server.opening import open_recorder
from server.settings import Settings
from server.tokens import issue
from tests.worlds import build, pipeline_over, principal

ANN = principal("blue")


class Served:
    """The application over an empty catalog; nothing here depends on what it holds."""

    def __init__(self, client: TestClient, token: str) -> None:
        self.client = client
        self._headers = {"authorization": f"Bearer {token}"}

    def post(self, path: str, body: object) -> Any:
        return self.client.post(path, json=body, headers=self._headers)


@contextmanager
def serving(directory: Path, *, who: Any = ANN, **how: Any) -> Iterator[Served]:
    """The application, made in `directory`. how: as of `pipeline_over`."""
    build(directory, [])
    settings = Settings()
    with Catalog.open(directory) as catalog, open_recorder(catalog, settings=settings) as recorder:
        key = load_key(directory)
        app = create_app(settings, pipeline=pipeline_over(catalog, **how), recorder=recorder, key=key)
        token = issue(who, key=key, now_s=int(time.time()), lifetime_s=60)
        with TestClient(app) as client:
            yield Served(client, token)
