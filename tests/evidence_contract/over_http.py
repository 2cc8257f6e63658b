"""How does a scenario ask over HTTP?"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from starlette.testclient import TestClient

from evidence.access import Principal
from index.records import Records
from server.app import create_app
from server.keys import SigningKey, load_key
from server.metrics import Metrics
from server.recording import Recorder
from server.settings import Settings
from server.tokens import issue
from tests.worlds import NOW, build, opened

Response: TypeAlias = Any  # the test client's, which is httpx's or its successor's by Starlette's choice
UNLIKE = ("date", "x-request-id", "content-length")  # R6; the length follows the milliseconds of `run`


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A client of a running server, which asks as whoever a call names."""

    client: TestClient
    key: SigningKey

    def post(self, who: Principal, path: str, body: object) -> Response:
        return self.client.post(path, json=body, headers=self._bearer(who))

    def post_bytes(self, who: Principal, path: str, body: bytes) -> Response:
        return self.client.post(path, content=body, headers=self._bearer(who))

    def get(self, who: Principal, path: str) -> Response:
        return self.client.get(path, headers=self._bearer(who))

    def packet(self, who: Principal, body: object) -> dict[str, Any]:
        """The body of an answer to `POST /v1/packets`."""
        answer = self.post(who, "/v1/packets", body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def runs(self, who: Principal, packet_id: str) -> list[dict[str, Any]]:
        """The sealed manifests of a packet."""
        answer = self.get(who, f"/v1/audit/{packet_id}")
        assert answer.status_code == 200, answer.text
        return list(answer.json()["runs"])

    def metrics(self) -> str:
        """The counters of the server, as its admin listener shows them."""
        counters: Metrics = self.client.app.state.metrics  # type: ignore[attr-defined]  # a FastAPI application
        return counters.text().decode()

    def _bearer(self, who: Principal) -> dict[str, str]:
        token = issue(who, key=self.key, now_s=int(time.time()), lifetime_s=60)
        return {"authorization": f"Bearer {token}"}


@contextmanager
def served(directory: Path, **settings: Any) -> Iterator[Caller]:
    """A server in process over a catalog that `tests.worlds.build` made."""
    key = load_key(directory)
    with opened(directory, **settings) as pipeline, Records.open(directory) as records:
        recorder = Recorder(records, pipeline.catalog, max_runs=1000, max_days=30, clock=lambda: NOW)
        app = create_app(Settings(**settings), pipeline=pipeline, recorder=recorder, key=key)
        with TestClient(app) as client:
            yield Caller(client=client, key=key)


@contextmanager
def served_all(
    folder: Path, worlds: Mapping[str, Sequence[dict[str, Any]]], **settings: Any
) -> Iterator[dict[str, Caller]]:
    """A catalog of each world's records in `folder`, and a server over each."""
    with ExitStack() as servers:
        callers = {}
        for number, (name, records) in enumerate(worlds.items()):
            build(folder / str(number), records)
            callers[name] = servers.enter_context(served(folder / str(number), **settings))
        yield callers


def as_sent(answer: Response) -> tuple[int, dict[str, str], str]:
    """What a caller can compare of an answer: status, headers and body less what may differ between runs (R6)."""
    body = answer.json()
    body.pop("run", None)
    headers = {name: value for name, value in answer.headers.items() if name not in UNLIKE}
    return answer.status_code, headers, json.dumps(body)
