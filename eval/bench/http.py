"""What does HTTP cost around an engine that answers at once, against FastAPI and pydantic as they are shipped?

Both sides take the same body by the same schemas, answer the same ten hits and describe them in OpenAPI. Ours checks
the token and what was revoked, waits for a place and gives the engine a thread, as in service; the peer does nothing of
that, and calls the engine on its event loop. In process, through ASGI, and over a socket of this machine.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import FastAPI
from starlette.types import ASGIApp

from eval.bench.errors import AnswersDiffer
from eval.bench.goals import GOALS
from eval.bench.loopback import Loopback, serving
from eval.bench.rounds import ROUNDS, Comparison, Effort, in_turn
from evidence.access import Principal
from evidence.canonical import Json
from evidence.identity import Namespace
from index.catalog import Catalog
from index.recipe import Recipe
from server.app import create_app
from server.containment import Told, untold
from server.in_process import HttpRequest, ask
from server.keys import create_key, load_key
from server.opening import open_recorder
from server.pipeline import Answer, Pipeline
from server.responses import SearchAnswer
from server.schemas import SearchRequest
from server.settings import Settings
from server.tokens import issue

US, PEER = "muniment", "FastAPI and pydantic"
EQUAL = "both bodies, as JSON"
HITS = 10
_PATH = "/v1/search"
_TOKEN_S = 3600
_QUERY = "What is the upload limit of each file, and since when? " * 15
_BODY = {
    "query": _QUERY,
    "k": HITS,
    "channel": "hybrid",
    "filter": {"family": ["bulletin", "policy"]},
    "fusion": {"method": "minmax", "dense_weight": 0.5, "depth": 200},
}
_RECIPE = Recipe(
    encoder="none",
    model_digest="none",
    query_prompt="",
    document_prompt="",
    pooling="mean",
    normalize=True,
    scale="1",
    dimension=1,
    window=1,
    runtime="none",
    precision="int8",
    chunker="none",
    chunk_target=1,
    contextual=False,
    analyzer="none",
    bm25="lucene",
    k1="1.2",
    b="0.75",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    requests: int  # of a round in process; over a socket one at a time, for as long as a round lasts
    rounds: int


_SIZES = {Effort.FULL: _Sizes(requests=400, rounds=15), Effort.QUICK: _Sizes(requests=5, rounds=ROUNDS)}


class StubEngine(Pipeline):
    """Answers every search alike, and at once. Its catalog is a real one, and empty: revocations are read from it."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.encoder = None

    def search(
        self,
        request: SearchRequest,  # noqa: ARG002 - as of the engine that it stands for
        principal: Principal,  # noqa: ARG002 - as above
        *,
        told: Told = untold,  # noqa: ARG002 - as above
    ) -> Answer:
        return ANSWER

    def warm_up(self) -> None:
        """Nothing to warm."""


def run(effort: Effort) -> list[Comparison]:
    """Two comparisons: in process, one request after the other, and over a socket, on one connection. Raises
    AnswersDiffer."""
    sizes = _SIZES[effort]
    with _applications() as (ours, theirs, request):
        return [_in_process(ours, theirs, request, sizes), _over_a_socket(ours, theirs, request)]


def peer() -> FastAPI:
    """The same route, as FastAPI's own documentation writes it."""
    app = FastAPI()

    @app.post(_PATH, response_model=SearchAnswer)
    async def search(body: SearchRequest) -> Answer:  # noqa: ARG001 - its type is the schema
        return ANSWER

    return app


@contextmanager
def _applications() -> Iterator[tuple[ASGIApp, ASGIApp, HttpRequest]]:
    """Both sides, and the request that is sent to either."""
    settings = Settings()
    with (
        TemporaryDirectory() as folder,
        Catalog.create(Path(folder) / "catalog", _RECIPE, prepare=create_key) as catalog,
        open_recorder(catalog, settings=settings) as recorder,
    ):
        key = load_key(catalog.directory)
        app = create_app(settings, pipeline=StubEngine(catalog), recorder=recorder, key=key)
        who = Principal(sub="ann", tenant=Namespace("blue"), roles=("technician",), scope=("search",))
        token = issue(who, key=key, now_s=int(time.time()), lifetime_s=_TOKEN_S)
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        request = HttpRequest(method="POST", target=_PATH, headers=headers, body=json.dumps(_BODY).encode())
        yield app, peer(), request


def _in_process(ours: ASGIApp, theirs: ASGIApp, request: HttpRequest, sizes: _Sizes) -> Comparison:
    work = "answer a search in process"
    times = asyncio.run(_rounds(work, ours, theirs, request, sizes))
    return _comparison(work, request, (tuple(ours for ours, _ in times), tuple(theirs for _, theirs in times)))


async def _rounds(
    work: str, ours: ASGIApp, theirs: ASGIApp, request: HttpRequest, sizes: _Sizes
) -> list[tuple[float, float]]:
    """Seconds a request of each side in each round, all on one event loop."""
    _require_equal(work, (await ask(ours, request)).body, (await ask(theirs, request)).body)

    async def seconds(app: ASGIApp) -> float:
        begun = time.perf_counter()
        for _ in range(sizes.requests):
            await ask(app, request)
        return (time.perf_counter() - begun) / sizes.requests

    return [(await seconds(ours), await seconds(theirs)) for _ in range(sizes.rounds)]


def _over_a_socket(ours: ASGIApp, theirs: ASGIApp, request: HttpRequest) -> Comparison:
    work = "answer a search over a socket"
    with ExitStack() as opened:
        ask_us, ask_them = (
            partial(opened.enter_context(Loopback(opened.enter_context(serving(app)))).ask, request)
            for app in (ours, theirs)
        )
        _require_equal(work, ask_us(), ask_them())
        return _comparison(work, request, in_turn(ask_us, ask_them))


def _require_equal(work: str, ours: bytes, theirs: bytes) -> None:
    if not json.loads(ours) == json.loads(theirs) == ANSWER:
        raise AnswersDiffer(work, "other bodies")


def _comparison(work: str, request: HttpRequest, times: tuple[tuple[float, ...], tuple[float, ...]]) -> Comparison:
    return Comparison(
        work=work,
        us=US,
        peer=PEER,
        equal=EQUAL,
        amount=1,
        unit="requests",
        sizes={"request_bytes": len(request.body), "answer_bytes": len(json.dumps(ANSWER)), "hits": HITS},
        ours=times[0],
        theirs=times[1],
        goal=GOALS["C6"] if "process" in work else None,
    )


def _hit(rank: int) -> dict[str, Json]:
    return {
        "unit_id": f"blue/SB-A-{rank}@7#0",
        "handle": f"EV-248EDH3PH4D3Q5F{rank % 10}",
        "namespace": "blue",
        "source": {
            "source_id": f"SB-A-{rank}",
            "revision": "7",
            "title": "Uploads and their limits",
            "family": "bulletin",
            "owner": "brand-safety",
            "authority": "manufacturer",
            "status": "current",
            "effective_from": "2025-03-01T00:00:00Z",
            "effective_to": None,
        },
        "heading": ["Uploads", "Limits"],
        "span": [0, 440],
        "text": "The upload limit is 25 MB for each file. " * 11,
        "score": 2**32 - rank,
        "ranks": {"lexical": rank, "dense": rank},
        "scores": {"lexical": 2**36 - rank, "dense": 90_000 - rank, "fused": 2**32 - rank},
        "matched_terms": ["upload", "limit"],
    }


ANSWER: Answer = {
    "hits": [_hit(rank) for rank in range(1, HITS + 1)],
    "catalog_version": "sha256:" + "3" * 64,
    "recipe": "sha256:" + "c" * 64,
    "fusion": {"method": "minmax", "dense_weight": "1/2", "depth": 200, "version": "1", "denominator": 2**32},
    "degraded": [],
    "stats_scope": {"set": "usable units", "digest": "sha256:" + "a" * 64, "units": 1000, "terms": 50_000},
    "disposition": "accepted",
    "run": {"device": "cpu", "fallback": None, "milliseconds": {"total": 4}},
}
"""What both engines answer."""
