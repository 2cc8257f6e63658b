"""Does a word of what a caller may not see come out anywhere, or a word of theirs where an operator reads?

A world whose every hidden word is a canary: names, labels, texts, claims, relations, metadata. Its caller asks all that
can be asked, of every route, rightly and wrongly, also while models and the catalog fail with canaries in their own
errors. Then everything that came out is looked through.
"""

import contextlib
import io
import json
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import structlog

from index.errors import DamagedCatalog
from models.errors import ModelError
from server.in_process import HttpResponse
from server.logs import set_up_logs
from server.pipeline import Pipeline
from server.settings import Settings
from tests.noninterference.application import Application
from tests.noninterference.bench import Bench
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.generated_requests import handle_of, unit_id_of
from tests.noninterference.world import Asked, Record, Viewpoint, World
from tests.worlds import principal, record

CANARY, SECRET = "zqcanary", "zqsecret"
"""In all that is hidden; in all that the caller writes and an operator need not read."""
UNENCODABLE = "unencodable"
"""A query with this word makes the encoder fail."""
FOUND = re.compile(rf"(?:{CANARY}|{SECRET})[-\w]*", re.IGNORECASE)
SCOPE = ("audit", "ingest", "ingest-public", "revoke", "search")
ANN = Viewpoint(who=principal("blue", roles=("technician",), purposes=("repair",), scope=SCOPE), purpose="repair")
QUERY = f"upload limit {SECRET}"


@dataclass(slots=True, kw_only=True)
class Heard:
    """What came out: all responses, the log at the default level, the counters; and the tokens that were shown."""

    responses: list[HttpResponse] = field(default_factory=list)
    log: str = ""
    metrics: str = ""
    tokens: Sequence[str] = ()

    def seen_by_caller(self) -> list[str]:
        """The canaries in responses: headers and bodies."""
        parts = [b"".join((*sum(one.headers, ()), one.body)).decode() for one in self.responses]
        return [word for part in parts for word in FOUND.findall(part) if word.lower().startswith(CANARY)]

    def seen_by_operator(self) -> list[str]:
        """The canaries, the caller's own words and their tokens in what a server says of itself."""
        said = self.log + self.metrics
        return [*FOUND.findall(said), *(token for token in self.tokens if token in said)]


class FailingEncoder(FastEncoder):
    """Fails for some queries, and says why with a canary."""

    def encode_query(self, text: str) -> npt.NDArray[np.int8]:
        if UNENCODABLE in text:
            raise ModelError(f"{CANARY}-error")
        return super().encode_query(text)


def world() -> World:
    """What the caller sees, with relations to what they do not, and what they do not, in every way of hiding."""
    hidden = {"source_id": f"{CANARY}-source", "revision": "1"}
    visible = [
        record("S-1", "upload limit case", tenant="blue", claims=[_claim("10")], family="manual", owner="ops"),
        record("S-2", "upload limit", contradicts=[{"source_id": f"{CANARY}-public", "public": True}]),
        record(
            "S-3", "limit case", tenant="blue", supersedes=[hidden], contradicts=[{"source_id": hidden["source_id"]}]
        ),
    ]
    ways: list[dict[str, Any]] = [
        {"tenant": f"{CANARY}-tenant"},
        {"tenant": "red", "roles": [f"{CANARY}-role"], "regions": [f"{CANARY}-region"]},
        {"tenant": "blue", "roles": [f"{CANARY}-role"]},
        {"tenant": "blue", "purposes": [f"{CANARY}-purpose"]},
        {"public": True, "cases": [f"{CANARY}-case"]},
    ]
    named = [_hidden(f"{CANARY}-{place}", access) for place, access in enumerate(ways)]
    plain = [_hidden("S-1", ways[0]), _hidden("S-9", ways[1]), _hidden("S-7", ways[2]), _hidden("S-8", ways[4])]
    draft = {**_hidden("S-2", {"public": True}), "revision": "2", "status": "draft", "contradicts": []}
    related = [_hidden(hidden["source_id"], ways[2]), _hidden(f"{CANARY}-public", ways[4])]
    return World(records=(*visible, *named, *plain, *related, draft))


def listen(bench: Bench, requests: Iterable[Asked]) -> Heard:
    """Everything that comes out of an application of this world that is asked so, and then fails."""
    heard, said = Heard(), io.StringIO()
    with _logs_to(said), bench.application(world(), encoder=FailingEncoder()) as opened:
        for asked in requests:
            _ask(opened, asked, heard)
        for broken in (RuntimeError(f"{CANARY}-error"), DamagedCatalog(f"{CANARY}-damage")):
            with mock.patch.object(Pipeline, "search", side_effect=broken):
                _ask(opened, ANN.search(QUERY), heard)
        heard.metrics = opened.app.state.metrics.text().decode()
        heard.tokens = [opened.request(ANN.search(QUERY)).headers["authorization"].removeprefix("Bearer ")]
    heard.log = said.getvalue()
    return heard


def _ask(opened: Application, asked: Asked, heard: Heard) -> None:
    """Ask, and ask about the packet that came of it."""
    response = opened.ask(asked)
    heard.responses.append(response)
    if asked.target == "/v1/packets" and response.status == 200:
        body = json.loads(response.body)
        kept = body["packet_id"]
        heard.responses += [
            opened.ask(_as(ANN, "GET", f"/v1/manifests/{kept}")),
            opened.ask(_as(ANN, "GET", f"/v1/audit/{kept}")),
            opened.ask(_as(ANN, "POST", "/v1/manifests/replay", {"manifest": body["manifest"]})),
        ]


def everything() -> Iterator[Asked]:
    """All that can be asked, and much that cannot."""
    matches: list[dict[str, Any]] = [
        {"claim": "limit"},
        {"family": "manual"},
        {"source_id": "S-7"},
        {"claim": "limit", "value": "20"},
    ]
    matches += [{"source_id": "S-8", "public": True}, {"unit_id": unit_id_of(record("S-9", "", tenant="red"))}]
    roles = [{"role": f"r{at}", "match": match, "mandatory": at == 0} for at, match in enumerate(matches)]
    turns = [{"role": "assistant", "content": f"See {handle_of(one)}."} for one in world().records]
    for channel in ("hybrid", "lexical", "dense"):
        yield ANN.search(QUERY, channel=channel, k=20, fusion={"method": "rrf"} if channel == "hybrid" else None)
    for use in ("current", "historical", "draft"):
        yield ANN.search(QUERY, use=use)
        yield ANN.packet(QUERY, use=use, strategy="broad", requirements=roles)
    yield from (ANN.packet(QUERY, strategy=strategy, requirements=roles) for strategy in ("narrow", "auto", "broad"))
    yield from (ANN.packet(QUERY, strategy="document", source_id=name) for name in ("S-1", "S-7", "S-9"))
    yield ANN.packet(QUERY, strategy="document", source_id="S-8", public=True)
    yield from (ANN.packet(QUERY, budget={"max_bytes": size}, requirements=roles) for size in (10, 1500))
    yield from (ANN.packet(QUERY, adapter=adapter, conversation=turns) for adapter in ("openai", "anthropic"))
    yield from (ask(f"{UNENCODABLE} {QUERY}", rerank=True) for ask in (ANN.search, ANN.packet))
    yield from (ANN.search(QUERY, filter=one) for one in ({"source_id": ["S-7", "S-9"]}, {"family": ["manual"]}))
    yield ANN.search(QUERY, as_of="2025-01-01T00:00:00Z", subject="k1")
    yield ANN.packet(QUERY, catalog_version="sha256:" + "0" * 64)
    yield ANN.catalog()
    yield from _without_the_catalog()
    searches = [ANN.search(QUERY, channel=channel).body for channel in ("hybrid", "lexical", "dense")]
    for more in ({}, {"k": 0}, {"purpose": f"{SECRET}-purpose"}):
        yield _as(ANN, "POST", "/v1/search/batch", {"requests": [*searches, {**searches[0], **more}]})
    yield from _wrong()
    yield from _writing()


def _without_the_catalog() -> Iterator[Asked]:
    """Texts of the caller alone, to be embedded and reranked, and what of it is refused."""
    for model in ("words", SECRET):
        yield _as(ANN, "POST", "/v1/embeddings", {"model": model, "input": [QUERY, SECRET]})
    yield _as(ANN, "POST", "/v1/embeddings", {"model": "words", "input": f"{SECRET} " * 300})
    for path in ("/v1/rerank", "/v2/rerank"):
        for model in ("shared-words", SECRET):
            yield _as(ANN, "POST", path, {"model": model, "query": QUERY, "documents": [SECRET, "upload"]})


def _wrong() -> Iterator[Asked]:
    """What is refused before anything is looked at, or after."""
    yield ANN.search(QUERY, colour=SECRET)
    yield ANN.search(QUERY, k=0)
    yield ANN.search(QUERY * 2000)
    yield ANN.packet(QUERY, model=SECRET)
    yield ANN.packet(QUERY, query_class=SECRET)
    yield replace(ANN.search(QUERY), body={"query": QUERY, "purpose": f"{SECRET}-purpose"})
    yield replace(ANN.search(QUERY), body=b'{"query": "' + SECRET.encode())
    yield replace(ANN.search(QUERY), who=None)
    yield replace(ANN.search(QUERY), who=None, headers={"authorization": f"Bearer {SECRET}"})
    yield from (_as(ANN, method, f"/v1/{SECRET}") for method in ("GET", "POST"))
    yield from (_as(ANN, "GET", path) for path in ("/", "/docs", "/openapi.json", "/health/ready", "/metrics"))
    yield from (_as(ANN, "GET", f"/v1/{kind}/sha256:{'0' * 64}") for kind in ("manifests", "audit"))
    yield _as(ANN, "GET", "/v1/reviews")


def _writing() -> Iterator[Asked]:
    """Sources and revocations, of the caller's own and under the names of hidden ones."""
    yield from (_as(ANN, "DELETE", f"/v1/sources/{name}") for name in ("S-9", f"{SECRET}-source"))
    yield from (_as(ANN, "PUT", f"/v1/sources/{name}/access", {"tenant": "blue"}) for name in ("S-9", "S-10"))
    for name in ("S-9", "S-10"):
        yield _as(ANN, "POST", "/v1/revocations", {"source_id": name, "revision": "1"})
    offered = [
        record("S-7", f"upload {SECRET}", tenant="blue"),  # lies under another label
        record("S-1", f"upload {SECRET}", tenant="blue"),  # is there, with another text
        record("S-10", f"upload {SECRET}", tenant="red"),
        {**record("S-10", f"upload {SECRET}", tenant="blue"), "colour": SECRET},
        record("S-10", f"upload {SECRET}", tenant="blue"),
    ]
    yield from (_as(ANN, "POST", "/v1/sources", json.dumps(dict(one)).encode()) for one in offered)


def _as(view: Viewpoint, method: str, target: str, body: Any = None) -> Asked:
    return Asked(who=view.who, method=method, target=target, body=body)


def _claim(value: str) -> dict[str, str]:
    return {"key": "limit", "value": value, "quote": "limit"}


def _hidden(source_id: str, access: dict[str, Any]) -> Record:
    """A record of canaries that answers what the caller asks for."""
    return {
        "source_id": source_id,
        "revision": "1",
        "title": f"{CANARY}-title",
        "text": f"# {CANARY}-heading\n\nupload limit {CANARY}-text",
        "family": "manual",
        "owner": f"{CANARY}-owner",
        "authority": f"{CANARY}-authority",
        "effective_from": "2025-01-01T00:00:00Z",
        "claims": [_claim("20"), {"key": f"{CANARY}-key", "value": f"{CANARY}-value", "quote": "upload"}],
        "contradicts": [{"source_id": "S-2", "public": True}],
        "citable_for": [f"{CANARY}-use"],
        "metadata": {f"{CANARY}-field": f"{CANARY}-metadata"},
        "access": access,
    }


@contextlib.contextmanager
def _logs_to(said: io.StringIO) -> Iterator[None]:
    """Logs as `muniment serve` sets them up, written there."""
    before = structlog.get_config()
    with contextlib.redirect_stderr(said), mock.patch.object(logging, "basicConfig"):
        set_up_logs(Settings().log_level)
        try:
            yield
        finally:
            structlog.configure(**before)
