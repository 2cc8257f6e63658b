"""Which citations does a model's answer hold, in the common record? (pure)

Providers cite in their own ways: Anthropic attaches locations to blocks of text, OpenAI annotates a text, any model may
write a handle into it. Each citation becomes one Occurrence, and none is left out because it looks wrong: one that
names nothing known keeps what it names, and `validation` calls it fabricated. Offsets are taken over where they are
offsets into the source; those into the answer say nothing about the source and are not passed off as such (R34).
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from evidence.adapters import Adapter
from evidence.errors import InvalidRequest, UnreadableBody
from evidence.handles import lookalikes_in
from evidence.occurrence import Occurrence
from evidence.render import quoted, unquoted

MAX_QUOTE = 4096  # code points before a handle in which its quotation is looked for

_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_QUOTATION_MARKS = {'"': '"', "\u201d": "\u201c", "\u201c": "\u201e", "\u00bb": "\u00ab"}  # closing: opening
_NAMES_OF_A_SOURCE = ("source", "file_id", "filename", "document_title", "url", "title")  # the first one that is there


def citations_of(adapter: Adapter, answer: object, *, packet: Mapping[str, object]) -> list[Occurrence]:
    """The citations of what came back for a packet that `adapter` rendered.

    An answer that is a text stands for itself, whatever the adapter. Raises InvalidRequest for an answer that is
    neither that nor of the provider's shape.
    """
    if isinstance(answer, str):
        return citations_in_text(answer)
    match adapter:
        case Adapter.ANTHROPIC:
            return citations_of_anthropic(answer, packet=packet)
        case Adapter.OPENAI | Adapter.HF_CHAT:  # runtimes of open weights answer in the shape of OpenAI's
            return citations_of_openai(answer)
        case Adapter.JSON:
            raise InvalidRequest("$.answer", "must be a text: the adapter json is no provider's")


def citations_in_text(text: str) -> list[Occurrence]:
    """An occurrence for everything in `text` that looks like a handle, in order, whatever stands around it.

    A quotation that ends right before a bracket with one handle, as in `"25 MB" [EV-...]`, is its quote. A bracket with
    several handles does not say which of them is quoted, so none is.

    >>> [(found.handle, found.quote) for found in citations_in_text('At most "25 MB" [EV-1A], see EV-2B.')]
    [('EV-1A', '25 MB'), ('EV-2B', None)]
    """
    quotes: dict[int, str | None] = {}
    for bracket in _BRACKET.finditer(text):
        inside = [bracket.start(1) + handle.start() for handle in lookalikes_in(bracket[1])]
        if len(inside) == 1:
            quotes[inside[0]] = _quotation_before(text, bracket.start())
    return [Occurrence(handle=handle[0], quote=quotes.get(handle.start())) for handle in lookalikes_in(text)]


def citations_of_anthropic(message: object, *, packet: Mapping[str, object]) -> list[Occurrence]:
    """The citations of a message of Anthropic's API: of each text block its own first, then the handles in its text.

    packet: what the adapter rendered, for the order and the texts of its documents. `cited_text` is a piece of what
    was sent, so that its escapes are undone. The block's text is the claim. Raises InvalidRequest when `message` is
    none.
    """
    found: list[Occurrence] = []
    for block, path in _objects(_fields(message, "$.answer").get("content"), "$.answer.content"):
        if block.get("type") != "text":
            continue
        text = _text(block.get("text"), f"{path}.text")
        for citation, _ in _objects(block.get("citations") or [], f"{path}.citations"):
            found.append(_of_location(citation, claim=text, evidence=_evidence(packet)))
        found += citations_in_text(text)
    return found


def citations_of_openai(message: object) -> list[Occurrence]:
    """The citations of an answer of OpenAI's APIs: of each text its annotations first, then the handles in it.

    Takes a chat completion, one message of it, or a response of the Responses API. Raises InvalidRequest for others.
    """
    found: list[Occurrence] = []
    for text, annotations, path in _texts_of_openai(_fields(message, "$.answer")):
        found += [_of_annotation(annotation) for annotation, _ in _objects(annotations or [], f"{path}.annotations")]
        found += citations_in_text(text)
    return found


def stored_text(sent: str) -> str | None:
    r"""The stored text that an adapter wrote as `sent`, None where `sent` begins or ends inside an escape.

    >>> stored_text("\\u003cb>") == "<b>", stored_text("3cb>\\")
    (True, None)
    """
    try:
        return unquoted(sent)
    except UnreadableBody:
        return None


def _quotation_before(text: str, at: int) -> str | None:
    """The quotation that ends at `at`, but for white space; None without one."""
    before = text[max(0, at - MAX_QUOTE) : at].rstrip()
    opening = _QUOTATION_MARKS.get(before[-1:])
    if opening is None:
        return None
    start = before.rfind(opening, 0, len(before) - 1)
    return None if start < 0 else before[start + 1 : -1]


def _of_location(citation: Mapping[str, object], *, claim: str, evidence: Sequence[Mapping[str, object]]) -> Occurrence:
    handle = _name(citation)
    at = _integer(citation.get("document_index", citation.get("search_result_index")))
    item = next((item for item in evidence if item.get("handle") == handle), None)
    if item is None and at is not None and 0 <= at < len(evidence) and "source" not in citation:
        item = evidence[at]
        handle = str(item.get("handle"))
    sent = citation.get("cited_text")
    quote = None
    if isinstance(sent, str):
        undone = stored_text(sent)
        quote = sent if undone is None else undone
    return Occurrence(
        handle=handle, quote=quote, span=None if item is None else _span(citation, quote, item), claim=claim
    )


def _span(citation: Mapping[str, object], quote: str | None, item: Mapping[str, object]) -> tuple[int, int] | None:
    """Where in the revision text a location by characters points; None for one that has none, or that does not hold
    the cited text there: then the provider counted otherwise, and its numbers are not the source's."""
    start, end = _integer(citation.get("start_char_index")), _integer(citation.get("end_char_index"))
    text, place = item.get("text"), item.get("span")
    if start is None or end is None or not isinstance(text, str) or not isinstance(place, list | tuple) or not place:
        return None
    sent = quoted(text)
    if not 0 <= start < end <= len(sent):
        return None
    before, cited, first = stored_text(sent[:start]), stored_text(sent[start:end]), _integer(place[0])
    if before is None or cited is None or first is None or cited != quote:
        return None
    return (first + len(before), first + len(before) + len(cited))


def _of_annotation(annotation: Mapping[str, object]) -> Occurrence:
    nested = annotation.get(str(annotation.get("type")))
    fields = nested if isinstance(nested, Mapping) else annotation
    quote = fields.get("quote")
    return Occurrence(handle=_name(fields), quote=quote if isinstance(quote, str) else None)


def _name(fields: Mapping[str, object]) -> str:
    """What a citation names: the first field that holds something like a handle, else the first that holds a text."""
    named = [value for name in _NAMES_OF_A_SOURCE if isinstance(value := fields.get(name), str) and value]
    handle = next((found for value in named for found in lookalikes_in(value)), None)
    if handle is not None:
        return handle[0]
    return named[0] if named else ""


def _texts_of_openai(message: Mapping[str, object]) -> Iterator[tuple[str, object, str]]:
    """Each text of an answer, with its annotations and its path."""
    if "choices" in message:
        for choice, path in _objects(message["choices"], "$.answer.choices"):
            yield from _texts_of_message(_fields(choice.get("message"), f"{path}.message"), f"{path}.message")
    elif "output" in message:
        for item, path in _objects(message["output"], "$.answer.output"):
            if item.get("type") == "message":
                yield from _texts_of_message(item, path)
    else:
        yield from _texts_of_message(message, "$.answer")


def _texts_of_message(message: Mapping[str, object], path: str) -> Iterator[tuple[str, object, str]]:
    content = message.get("content")
    if content is None:  # a refusal, or a call of a tool
        return
    if isinstance(content, str):
        yield content, message.get("annotations"), path
        return
    for part, place in _objects(content, f"{path}.content"):
        if part.get("type") in ("output_text", "text"):
            yield _text(part.get("text"), f"{place}.text"), part.get("annotations"), place


def _evidence(packet: Mapping[str, object]) -> list[Mapping[str, object]]:
    return [item for item, _ in _objects(packet.get("evidence"), "$.packet.evidence")]


def _objects(value: object, path: str) -> Iterator[tuple[Mapping[str, object], str]]:
    if not isinstance(value, list | tuple):
        raise InvalidRequest(path, "must be an array of objects")
    for index, item in enumerate(value):
        yield _fields(item, f"{path}[{index}]"), f"{path}[{index}]"


def _fields(value: object, path: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidRequest(path, "must be an object")
    return value


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(path, "must be a string")
    return value


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
