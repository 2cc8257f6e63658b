"""Of which pieces is a rendered packet made, and how is JSON written in them? (pure)

A body is a frame and the items of its evidence, joined: a frame is the whole text but for its items, so that trying
many packings does not write the same units again and again. Every string that came from outside stands in the body as
an escaped JSON string, for every adapter, also inside another JSON string (R26). One module an adapter: `render_json`,
`render_openai`, `render_anthropic`, `render_chat`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.canonical import Json, canonical
from evidence.errors import UnreadableBody
from evidence.escape import end_of_string, escape_strings
from evidence.slots import Slot, Trust
from evidence.strict_json import InvalidJson, loads

_EMPTY = '"evidence":[]'  # can stand in a frame once only: inside strings both `"` and `[` are escaped
_TEXT = '"text":"'  # likewise in an item


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedItem:
    """One evidence item as it stands in the body.

    text_start, text_end: where its passage stands within `body`, in code points, without the quotes around it.
    """

    body: str
    bytes: int
    text_start: int
    text_end: int


class Framing(StrEnum):
    """What a model reads around the body, and whether it is known."""

    NONE = "none"  # the body is a part of an input that somebody else writes
    UNDISCLOSED = "undisclosed"  # a provider turns the body into an input, and does not publish how
    TEMPLATE = "template"  # the body is the whole input, a template's framing included


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Where one slot stands: the exact piece of the body that holds it, and what was done to make it fit."""

    slot: Slot
    text: str
    notice: str | None

    @property
    def trust(self) -> Trust:
        return self.slot.trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The text around the items of a packet: a body is `head`, the items parted by `separator`, and `tail`.

    evidence_start: where in `head` the segment of the evidence slot begins; evidence_end: where in `tail` it ends,
    both in code points. segments: those of the other slots, in slot order.
    """

    head: str
    separator: str
    tail: str
    evidence_start: int
    evidence_end: int
    segments: tuple[Segment, ...]

    def pieces(self, items: Iterable[RenderedItem]) -> list[str]:
        """The body, in pieces."""
        return [self.head, *self._parted(items), self.tail]

    def body(self, items: Iterable[RenderedItem]) -> str:
        return "".join(self.pieces(items))

    def size_bytes(self, items: Sequence[RenderedItem]) -> int:
        """The UTF-8 bytes of the body, by exact addition."""
        ends = len(self.head.encode("utf-8")) + len(self.tail.encode("utf-8"))
        separators = len(self.separator.encode("utf-8")) * max(0, len(items) - 1)
        return ends + separators + sum(item.bytes for item in items)

    def evidence_pieces(self, items: Iterable[RenderedItem]) -> list[str]:
        """The segment of the evidence slot, in pieces."""
        return [self.head[self.evidence_start :], *self._parted(items), self.tail[: self.evidence_end]]

    def text_spans(self, items: Iterable[RenderedItem]) -> list[tuple[int, int]]:
        """Where the passage of each item stands in the body: `[start, end)` in code points."""
        spans = []
        at = len(self.head)
        for item in items:
            spans.append((at + item.text_start, at + item.text_end))
            at += len(item.body) + len(self.separator)
        return spans

    def _parted(self, items: Iterable[RenderedItem]) -> list[str]:
        parted: list[str] = []
        for item in items:
            parted += [self.separator, item.body] if parted else [item.body]
        return parted


def render_json(value: Json) -> str:
    """The body for a packet, or the text of any part of it."""
    return escape_strings(canonical(value).decode("utf-8"))


def read_json(text: str) -> object:
    """The value of a JSON text that a body holds. Raises UnreadableBody where it is none."""
    try:
        return loads(text.encode("utf-8"))
    except InvalidJson as error:
        raise UnreadableBody(str(error)) from None


def quoted(text: str) -> str:
    r"""`text` as it stands between the quotes of a JSON string. Character by character: the parts of a text, quoted,
    join to the whole, quoted.

    >>> quoted('say "[hi]"')
    'say \\"\\u005bhi]\\"'
    """
    return render_json(text)[1:-1]


def unquoted(text: str) -> str:
    """What `quoted` wrote as `text`. Raises UnreadableBody where it wrote no such text."""
    value = read_json(f'"{text}"')
    if not isinstance(value, str):
        raise UnreadableBody("a quoted text ends early")
    return value


def fenced(packet: Mapping[str, Json]) -> dict[str, Json]:
    """The content of the evidence slot, for adapters that also render others."""
    slot = Slot.RETRIEVED_EVIDENCE
    return {"slot": slot.value, "trust": slot.trust.value, "packet": packet}


def unfenced(content: object) -> Mapping[str, Json] | None:
    """The packet that `fenced` put into a content, None for any other content."""
    if not isinstance(content, dict) or content.get("slot") != Slot.RETRIEVED_EVIDENCE.value:
        return None
    packet = content.get("packet")
    return packet if isinstance(packet, dict) else None


def evidence_of(packet: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The evidence items of a packet, in order."""
    evidence = packet.get("evidence")
    return [item for item in evidence if isinstance(item, Mapping)] if isinstance(evidence, list | tuple) else []


def handles_of(packet: Mapping[str, Json]) -> list[str]:
    """The citation handles of a packet's evidence, in order."""
    return [text_of(item, "handle") for item in evidence_of(packet)]


def text_of(item: Mapping[str, Json], name: str) -> str:
    """A field of an evidence item that is a string."""
    value = item[name]
    assert isinstance(value, str), f"{name} of an evidence item is a string"
    return value


def split_at_evidence(text: str) -> tuple[str, str]:
    """A rendered packet without evidence, where its items would go: the first part ends with the opening bracket."""
    head, tail = text.split(_EMPTY)
    return head + _EMPTY[:-1], _EMPTY[-1] + tail


def without_evidence(packet: Mapping[str, Json]) -> dict[str, Json]:
    return {**packet, "evidence": []}


def render_item(item: Mapping[str, Json]) -> RenderedItem:
    """The text of one evidence item; it has a string under `text`."""
    body = render_json(item)
    start = body.index(_TEXT) + len(_TEXT)
    return RenderedItem(
        body=body,
        bytes=len(body.encode("utf-8")),
        text_start=start,
        text_end=end_of_string(body, start - 1) - 1,
    )
