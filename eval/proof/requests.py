"""What is asked of both catalogs for one question? (pure)

Each query over each channel and as a packet; once for each view of the catalog also what costs more, and what names
something that the caller may not see. The requests are the same bytes on both sides, so that whatever they are answered
with must be too.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from eval.proof.visible_part import View
from evidence.eligibility import Use
from evidence.identity import PUBLIC, RevisionKey, UnitKey, unit_id
from evidence.request import Strategy
from server.schemas import Channel, SearchRequest

HITS = 10

_SEARCH, _PACKETS, _CATALOG = "/v1/search", "/v1/packets", "/v1/catalog"
_FIRST_SHOWN = 60  # characters of a query in a report


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query, and what else a request for it says. body: fields of `POST /v1/packets`, `query` among them."""

    body: Mapping[str, object]

    @property
    def query(self) -> str:
        return str(self.body["query"])

    @property
    def view(self) -> View:
        """What the visibility of sources depends on in this request."""
        purpose = self.body.get("purpose")
        return View(purpose=None if purpose is None else str(purpose), drafts=self.body.get("use") == Use.DRAFT.value)

    @property
    def shown(self) -> str:
        """The query in one short line that can do nothing to a terminal."""
        written = json.dumps(self.query, ensure_ascii=False)
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in written)
        return text if len(text) <= _FIRST_SHOWN else text[: _FIRST_SHOWN - 2] + '…"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. what: which of the requests of its question this is; names no source."""

    question: Question
    what: str
    method: str
    target: str
    body: bytes

    @property
    def route(self) -> str:
        return f"{self.method} {self.target.partition('?')[0]}"


def of_question(question: Question) -> Iterator[Asked]:
    """A search over each channel, and the packets of each strategy that costs little; a strategy that the question
    names is the only one."""
    for channel in (Channel.HYBRID, Channel.LEXICAL, Channel.DENSE):
        yield _search(question, channel.value, {"channel": channel.value})
    if "strategy" in question.body:
        yield _packet(question, "as asked", {})
    else:
        for strategy in (Strategy.NARROW, Strategy.AUTO):
            yield _packet(question, strategy.value, {"strategy": strategy.value})


def of_view(question: Question) -> Iterator[Asked]:
    """What is asked once for all questions of a view, with the query of the first."""
    view = question.view
    target = _CATALOG if view.purpose is None else f"{_CATALOG}?purpose={quote(view.purpose, safe='')}"
    yield Asked(question=question, what="overview", method="GET", target=target, body=b"")
    plain = _plain(question)
    yield _search(plain, "reranked", {"rerank": True})
    yield _packet(plain, Strategy.BROAD.value, {"strategy": Strategy.BROAD.value})


def of_hidden(question: Question, hidden: RevisionKey) -> Iterator[Asked]:
    """Requests that name a source that the caller may not see: in the catalog that holds what is visible, it never
    was (R7)."""
    plain = _plain(question)
    named = {"source_id": hidden.source_id, "public": hidden.namespace == PUBLIC}
    unit = unit_id(UnitKey(*hidden, 0))
    yield _packet(plain, "document of a hidden source", {"strategy": Strategy.DOCUMENT.value, **named})
    yield _packet(plain, "requirement of a hidden source", {"requirements": [_role(named)]})
    yield _packet(plain, "requirement of a hidden unit", {"requirements": [_role({"unit_id": unit})]})
    yield _search(plain, "filter on a hidden source", {"filter": {"source_id": [hidden.source_id]}})


def search_body(body: Mapping[str, object]) -> dict[str, object]:
    """The fields that a search shares with the packets of a question. Ten hits unless it says so, or fewer where its
    channels offer fewer."""
    shared = {name: value for name, value in body.items() if name in SearchRequest.model_fields and value is not None}
    fusion = shared.get("fusion")
    depth = fusion.get("depth", HITS) if isinstance(fusion, Mapping) else HITS
    return {"k": min(depth, HITS), **shared}


def _plain(question: Question) -> Question:
    """The query and its view alone."""
    kept = ("query", "purpose", "use")
    return Question(body={name: value for name, value in question.body.items() if name in kept})


def _search(question: Question, what: str, more: Mapping[str, object]) -> Asked:
    body = _json({**search_body(question.body), **more})
    return Asked(question=question, what=what, method="POST", target=_SEARCH, body=body)


def _packet(question: Question, what: str, more: Mapping[str, object]) -> Asked:
    return Asked(question=question, what=what, method="POST", target=_PACKETS, body=_json({**question.body, **more}))


def _role(match: Mapping[str, object]) -> dict[str, object]:
    return {"role": "hidden", "match": match, "mandatory": True}


def _json(body: Mapping[str, object]) -> bytes:
    return json.dumps(body).encode("ascii")
