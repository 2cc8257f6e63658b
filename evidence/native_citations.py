"""Which citations does a model's answer hold, in the common record? (pure)

Providers cite in their own ways: Anthropic attaches locations to blocks of text, OpenAI annotates a text, any model may
write a handle into it. Each citation becomes one Occurrence, and none is left out because it looks wrong: one that
names nothing known keeps what it names, and `validation` calls it fabricated. Offsets are taken over where they are
offsets into the source; those into the answer say nothing about the source and are not passed off as such (R34).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evidence.adapters import Adapter
from evidence.errors import InvalidRequest, UnreadableBody
from evidence.handles import lookalikes_in
from evidence.occurrence import Occurrence
from evidence.render import unquoted
from evidence.sent_text import SentText, sent_text

MAX_CITATIONS = 256  # of one answer
MAX_QUOTE = 4096  # code points before a handle in which its quotation is looked for

_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_QUOTATION_MARKS = {'"': '"', "\u201d": "\u201c", "\u201c": "\u201e", "\u00bb": "\u00ab"}  # closing: opening
_NAMES_OF_A_SOURCE = ("source", "file_id", "filename", "document_title", "url", "title")  # the first one that is there


def citations_of(adapter: Adapter, answer: object, *, packet: Mapping[str, object]) -> list[Occurrence]:
    """The citations of what came back for a packet that `adapter` rendered.

    An answer that is a text stands for itself, whatever the adapter. Raises InvalidRequest for an answer that is
    neither that nor of the provider's shape, or that holds more than MAX_CITATIONS, where the first too many stands.
    """
    if isinstance(answer, str):
        return _few(citations_in_text(answer), "$.answer")
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
    none, or holds more than MAX_CITATIONS.
    """
    found: list[Occurrence] = []
    shown: _Shown | None = None
    for block, path in _objects(_fields(message, "$.answer").get("content"), "$.answer.content"):
        if block.get("type") != "text":
            continue
        text = _text(block.get("text"), f"{path}.text")
        for citation, _ in _objects(block.get("citations") or [], f"{path}.citations"):
            shown = shown or _Shown(_evidence(packet))
            found.append(_of_location(citation, claim=text, shown=shown))
            _few(found, f"{path}.citations")
        found += citations_in_text(text)
        _few(found, f"{path}.text")
    return found


def citations_of_openai(message: object) -> list[Occurrence]:
    """The citations of an answer of OpenAI's APIs: of each text its annotations first, then the handles in it.

    Takes a chat completion, one message of it, or a response of the Responses API. Raises InvalidRequest for others,
    and for more than MAX_CITATIONS.
    """
    found: list[Occurrence] = []
    for text, annotations, path in _texts_of_openai(_fields(message, "$.answer")):
        for annotation, _ in _objects(annotations or [], f"{path}.annotations"):
            found.append(_of_annotation(annotation))
            _few(found, f"{path}.annotations")
        found += citations_in_text(text)
        _few(found, path)
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


@dataclass(frozen=True, slots=True)
class _Shown:
    """The passages that were sent, each looked at as often as there are, not as often as they are cited."""

    items: Sequence[Mapping[str, object]]
    places: dict[str, int] = field(init=False, default_factory=dict)  # of the first item with a handle
    sent: dict[int, SentText] = field(init=False, default_factory=dict)  # of the items that were cited by characters

    def __post_init__(self) -> None:
        for place, item in enumerate(self.items):
            handle = item.get("handle")
            if isinstance(handle, str):
                self.places.setdefault(handle, place)

    def sent_text(self, place: int, text: str) -> SentText:
        """The sent form of `text`, the text of the item at `place`."""
        if place not in self.sent:
            self.sent[place] = sent_text(text)
        return self.sent[place]


def _of_location(citation: Mapping[str, object], *, claim: str, shown: _Shown) -> Occurrence:
    handle = _name(citation)
    at = _integer(citation.get("document_index", citation.get("search_result_index")))
    place = shown.places.get(handle)
    if place is None and at is not None and 0 <= at < len(shown.items) and "source" not in citation:
        place = at
        handle = str(shown.items[at].get("handle"))
    cited = citation.get("cited_text")
    quote = None
    if isinstance(cited, str):
        undone = stored_text(cited)
        quote = cited if undone is None else undone
    return Occurrence(
        handle=handle, quote=quote, span=None if place is None else _span(citation, quote, place, shown), claim=claim
    )


def _span(citation: Mapping[str, object], quote: str | None, place: int, shown: _Shown) -> tuple[int, int] | None:
    """Where in the revision text a location by characters points; None for one that has none, or that does not hold
    the cited text there: then the provider counted otherwise, and its numbers are not the source's."""
    start, end = _integer(citation.get("start_char_index")), _integer(citation.get("end_char_index"))
    text, within = shown.items[place].get("text"), shown.items[place].get("span")
    if start is None or end is None or not isinstance(text, str) or not isinstance(within, list | tuple) or not within:
        return None
    sent, first = shown.sent_text(place, text), _integer(within[0])
    if not 0 <= start < end <= sent.length:
        return None
    begin, stop = sent.stored_place(start), sent.stored_place(end)
    if begin is None or stop is None or first is None or text[begin:stop] != quote:
        return None
    return (first + begin, first + stop)


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


def _few(found: list[Occurrence], path: str) -> list[Occurrence]:
    """`found`, which reaches to `path`. Raises InvalidRequest for too many."""
    if len(found) > MAX_CITATIONS:
        raise InvalidRequest(path, f"more citations than an answer may hold; at most {MAX_CITATIONS} are allowed")
    return found


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
