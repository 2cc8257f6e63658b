"""Which exact text stands for a packet? (pure)

For the `json` adapter: the RFC 8785 form of the packet, escaped as `escape` says. Parsing it gives the packet back.
The frame is the same text for the packet without its evidence, the items those of the evidence alone: joined they
are the whole again, so that trying many packings does not write the same units again and again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evidence.canonical import Json, canonical
from evidence.escape import escape_strings

RENDERER = "json/1"

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


def render_json(value: Json) -> str:
    """The body for a packet, or the text of any part of it."""
    return escape_strings(canonical(value).decode("utf-8"))


def render_item(item: Mapping[str, Json]) -> RenderedItem:
    """The text of one evidence item; it has a string under `text`."""
    body = render_json(item)
    start = body.index(_TEXT) + len(_TEXT)
    return RenderedItem(
        body=body,
        bytes=len(body.encode("utf-8")),
        text_start=start,
        text_end=start + len(render_json(item["text"])) - 2,
    )


def join(frame: str, items: Iterable[RenderedItem]) -> str:
    """The body of a packet, from the text of the packet with no evidence and its items in order."""
    head, tail = frame.split(_EMPTY)
    return f'{head}"evidence":[{",".join(item.body for item in items)}]{tail}'


def joined_bytes(frame: str, items: Sequence[RenderedItem]) -> int:
    """The UTF-8 bytes of what `join` gives: one comma between each two items."""
    return len(frame.encode("utf-8")) + sum(item.bytes for item in items) + max(0, len(items) - 1)


def text_spans(frame: str, items: Iterable[RenderedItem]) -> list[tuple[int, int]]:
    """Where the passage of each item stands in the whole body: `[start, end)` in code points."""
    spans = []
    at = frame.index(_EMPTY) + len(_EMPTY) - 1
    for item in items:
        spans.append((at + item.text_start, at + item.text_end))
        at += len(item.body) + 1
    return spans
