"""Which questions does a proof ask?

Those of a file, a line each: plain text, or JSON. Without a file some that are drawn from what the caller may see, the
same ones every time; nothing is ever drawn from what is hidden.
"""

import codecs
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from eval.proof.requests import Question, search_body
from eval.proof.visible_part import View
from evidence.access import Principal
from evidence.errors import InvalidSource
from evidence.identity import RevisionKey
from evidence.record_fields import as_object, as_passage
from evidence.strict_json import InvalidJson, loads_exactly
from index.catalog_read import Reading
from server.errors import Invalid
from server.parsing import parse
from server.rescoring_samples import spread
from server.schemas import PacketRequest, SearchRequest
from server.settings import Settings
from server.source_place import Place, SourceFileError, open_regular, unreadable

DRAWN = 50  # questions without a file
NOTHING_VISIBLE = "What may I see?"  # asked where there is nothing to draw from

BEIR = ("_id", "text")  # the fields of a query there; `metadata` may stand beside them

Body = Mapping[str, object]

_WORDS = 8
_CHARACTERS = 200  # for scripts that write no spaces


def read_questions(path: Path, *, principal: Principal, settings: Settings) -> list[Question]:
    """The questions of a file, in its order. A line that begins with `{` is JSON; any other is a query as it stands.

    A line of JSON holds fields of `POST /v1/packets`, `query` among them, or is a query of a BEIR folder (`_id` and
    `text`). Raises SourceFileError naming line and JSON path, also for what every request would be refused for: more
    than the settings allow, or a purpose that `principal` does not hold.
    """
    questions = []
    for place, line in _lines(path, most=settings.max_body_bytes):
        if line.startswith(codecs.BOM_UTF8):
            raise SourceFileError(place, problem="starts with a byte order mark; send UTF-8 without one")
        written, sent = _of_json(place, line) if line.startswith(b"{") else _of_text(place, line)
        try:
            _check(written, principal=principal, settings=settings)
        except Invalid as error:
            raise SourceFileError(place, path=error.path or "$", problem=error.detail) from None
        questions.append(Question(body=sent))
    if not questions:
        raise SourceFileError(Place(file=str(path), line=1), problem="holds no query")
    return questions


def draw_questions(reading: Reading, visible: Sequence[RevisionKey], *, view: View, most: int) -> list[Question]:
    """At most `most` questions of what is visible: of some of its revisions, evenly spread, in turn the title and the
    first words of a unit."""
    facts = reading.facts()
    queries: dict[str, None] = {}
    for at, key in enumerate(spread(visible, most)):
        units = reading.units_of(key)
        words = " ".join(units[len(units) // 2].text.split()[:_WORDS])[:_CHARACTERS] if units else ""
        asked = (facts[key].title, words)[at % 2].strip() or words or facts[key].title.strip()
        if asked:
            queries[asked.replace("\0", " ")[:_CHARACTERS]] = None
    stated = {"purpose": view.purpose, **({"use": "draft"} if view.drafts else {})}
    return [Question(body={"query": query, **stated}) for query in queries or {NOTHING_VISIBLE: None}]


def _lines(path: Path, *, most: int) -> Iterator[tuple[Place, bytes]]:
    """The lines that are not blank, without the space around them."""
    with open_regular(path) as stream:
        number = 0
        while True:
            number += 1
            place = Place(file=str(path), line=number)
            try:
                data = stream.readline(most + 1)
            except OSError as error:
                raise unreadable(place, error) from None
            if not data:
                return
            if len(data) > most:
                raise SourceFileError(place, problem=f"a line of more than {most} bytes")
            if data.strip():
                yield place, data.strip()


def _of_text(place: Place, line: bytes) -> tuple[Body, Body]:
    try:
        body = {"query": line.decode("utf-8")}
    except UnicodeDecodeError:
        raise SourceFileError(place, problem="not UTF-8") from None
    return body, body


def _of_json(place: Place, line: bytes) -> tuple[Body, Body]:
    """The body that a line stands for, with its numbers as they are written, and as it is sent: with numbers that a
    double holds, which need only be the same twice."""
    try:
        row = loads_exactly(line)
        if isinstance(row, dict) and ("query" in row or row.keys().isdisjoint(BEIR)):
            return row, json.loads(line)
        fields = as_object(row, "$", allowed=(*BEIR, "metadata"), required=BEIR)
        body = {"query": as_passage(fields["text"], "$.text")}
    except (InvalidJson, InvalidSource) as error:
        raise SourceFileError(place, path=error.path, problem=error.problem) from None
    return body, body


def _check(body: Body, *, principal: Principal, settings: Settings) -> None:
    """Raise Invalid where every request with this body would be refused."""
    request = parse(body, PacketRequest)
    parse(search_body(body), SearchRequest)
    size = len(request.query.encode("utf-8"))
    if size > settings.max_query_bytes:
        raise Invalid(f"has {size} bytes, at most {settings.max_query_bytes} are allowed", path="$.query")
    if request.k is not None and request.k > settings.max_k:
        raise Invalid(f"is {request.k}, at most {settings.max_k} is allowed", path="$.k")
    if request.purpose is not None and request.purpose not in principal.purposes:
        raise Invalid("the purpose was not granted to this principal", path="$.purpose")
