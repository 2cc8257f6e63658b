"""What does the real application answer, byte for byte?

In this process and through all its layers, with a clock and a stopwatch that stand still: so that every byte counts,
the `run` block included, and nothing is taken out before answers are compared but the two headers that R6 names.
"""

import functools
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import torch
from anyio.from_thread import BlockingPortal
from fastapi import FastAPI

from evidence.access import Principal
from evidence.instant import Instant
from index.catalog import Catalog
from index.records import Records
from server.app import create_app
from server.in_process import HttpRequest, HttpResponse, ask
from server.keys import SigningKey, load_key
from server.opening import open_requests
from server.pipeline import Pipeline
from server.ranking import Stage
from server.recording import Recorder
from server.requests import Requests
from server.reranking import RerankerSlot
from server.settings import Settings
from server.timing import Stopwatch
from server.tokens import issue
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.reranker import reranker as shared_words
from tests.noninterference.world import Asked
from tests.worlds import ANALYZER, NOW

UNLIKE = (b"date", b"x-request-id")  # R6: nothing else may differ
CPU = torch.device("cpu")
TOKEN_LIFETIME_S = 3600
ROOMY = {"max_running": 128, "max_running_per_tenant": 128, "max_waiting": 1024, "max_waiting_per_tenant": 1024}
"""Settings under which no request is turned away for another one's sake: overload is a declared exception (R6)."""


class Application:
    """The application over one open catalog. `app`, `pipeline` and `catalog` are there to be looked at, or patched;
    `portal` leads to its event loop."""

    def __init__(self, app: FastAPI, *, catalog: Catalog, pipeline: Pipeline, key: SigningKey, portal: BlockingPortal):
        self.app = app
        self.catalog = catalog
        self.pipeline = pipeline
        self._key = key
        self.portal = portal
        self._tokens: dict[Principal, str] = {}

    def ask(self, asked: Asked) -> HttpResponse:
        """The response to one request, alone."""
        return self.portal.call(ask, self.app, self.request(asked))

    def ask_together(self, requests: Sequence[Asked]) -> list[HttpResponse]:
        """The responses to requests that are all under way at once, in the order given."""
        return self.portal.call(_together, self.app, [self.request(asked) for asked in requests])

    def request(self, asked: Asked) -> HttpRequest:
        """The request as it is sent, with its caller's token."""
        headers = dict(asked.headers)
        if asked.who is not None:
            headers["authorization"] = f"Bearer {self._token(asked.who)}"
        body = asked.body if isinstance(asked.body, bytes) else b"" if asked.body is None else _json(asked.body)
        return HttpRequest(method=asked.method, target=asked.target, headers=headers, body=body)

    def _token(self, who: Principal) -> str:
        if who not in self._tokens:
            self._tokens[who] = issue(who, key=self._key, now_s=int(time.time()), lifetime_s=TOKEN_LIFETIME_S)
        return self._tokens[who]


@contextmanager
def running(
    directory: Path,
    *,
    portal: BlockingPortal,
    now: Instant = NOW,
    encoder: Any = None,
    reranker: RerankerSlot | None = None,
    reached: Callable[[Stage], None] = lambda _: None,
    **settings: Any,
) -> Iterator[Application]:
    """The application over the catalog in `directory`, closed at the end."""
    chosen = _settings(**{**ROOMY, **settings})
    with Catalog.open(directory, quick_check=False) as catalog, Records.open(directory) as records:
        pipeline = Pipeline(
            catalog,
            settings=chosen,
            device=CPU,
            encoder=encoder or FastEncoder(),
            encoder_trouble=None,
            analyzer=ANALYZER,
            reranker=reranker or shared_words(),
            requests=_requests(**settings),
            clock=lambda: now,
            reached=reached,
            stopwatch=lambda: Stopwatch(lambda: 0.0),
        )
        kept = {"max_runs": chosen.records_max_runs, "max_days": chosen.records_max_days}
        recorder = Recorder(records, catalog, clock=lambda: now, **kept)
        key = load_key(directory)
        app = create_app(chosen, pipeline=pipeline, recorder=recorder, key=key, request_id=_request_ids())
        yield Application(app, catalog=catalog, pipeline=pipeline, key=key, portal=portal)


def _request_ids() -> Callable[[], str]:
    """Ids that are the same in every application that is asked the same: records and audits hold them."""
    numbers = itertools.count(1)
    return lambda: f"{next(numbers):032x}"


def compared(response: HttpResponse) -> tuple[int, tuple[tuple[bytes, bytes], ...], bytes]:
    """All of a response that must not differ: status, headers but two, body to the last byte."""
    headers = tuple((name, value) for name, value in response.headers if name not in UNLIKE)
    lengths = [value for name, value in headers if name == b"content-length"]
    assert lengths == [str(len(response.body)).encode()], "the length that was declared is that of the body"
    assert response.status != 500, "a server that fails answers alike, whatever it holds"
    return response.status, headers, response.body


@functools.cache
def _settings(**said: Any) -> Settings:
    """Reading the environment takes milliseconds, and there are thousands of worlds."""
    return Settings(**said)


@functools.cache
def _requests(**said: Any) -> Requests:
    """The same of files of query classes, and of tokenizers."""
    return open_requests(_settings(**said))


async def _together(app: FastAPI, requests: Sequence[HttpRequest]) -> list[HttpResponse]:
    found: dict[int, HttpResponse] = {}

    async def one(place: int, request: HttpRequest) -> None:
        found[place] = await ask(app, request)

    async with anyio.create_task_group() as group:
        for place, request in enumerate(requests):
            group.start_soon(one, place, request)
    return [found[place] for place in range(len(requests))]


def _json(body: object) -> bytes:
    return json.dumps(body).encode("utf-8")
