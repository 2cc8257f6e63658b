"""Which exact text is a packet for an API that takes documents with ids and gives citations of its own? (pure)

`{"messages": […], "system": […]}`: policy and task are the system blocks; one user message holds a block for each data
slot. The evidence slot is the packet without its passages, then one `search_result` block a unit, whose source is the
citation handle. Titles and passages stand in their blocks as quoted JSON text, so that no block of ours holds raw what
came from outside. The provider publishes neither its tokenizer nor its framing.
"""

from collections.abc import Iterator, Mapping

from evidence.canonical import Json
from evidence.errors import UnreadableBody
from evidence.prompt import Prompt, SlotContent, needed
from evidence.render import (
    Frame,
    Framing,
    RenderedItem,
    evidence_of,
    fenced,
    handles_of,
    quoted,
    read_json,
    render_json,
    text_of,
    unfenced,
    unquoted,
)
from evidence.slots import DATA, INSTRUCTIONS, Slot

_TEXT = '"text":"'  # its first place in a block is its passage: inside strings `"` is escaped


class AnthropicRenderer:
    """The adapter `anthropic`: system and messages as Anthropic's messages API takes them."""

    name = "anthropic-search-results/1"
    framing = Framing.UNDISCLOSED

    def record(self) -> dict[str, Json]:
        return {"renderer": self.name, "framing": self.framing.value, "template": None}

    def item(self, evidence: Mapping[str, Json]) -> RenderedItem:
        body = render_json(_search_result(evidence))
        start = body.index(_TEXT) + len(_TEXT)
        passage = quoted(quoted(text_of(evidence, "text")))
        return RenderedItem(body=body, bytes=len(body.encode("utf-8")), text_start=start, text_end=start + len(passage))

    def segment(self, content: SlotContent) -> str:
        return render_json(_text_block(content))

    def frame(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> Frame:
        segments = needed(prompt).segments(handles_of(packet), self.segment)
        conversation = segments.get(Slot.CONVERSATION)
        before = '{"messages":[{"content":[' + ("" if conversation is None else conversation.text + ",")
        evidence = render_json(_text_block(fenced(_without_passages(packet)))) + ("," if evidence_of(packet) else "")
        after = "".join("," + segments[slot].text for slot in DATA[2:] if slot in segments)
        system = ",".join(segments[slot].text for slot in INSTRUCTIONS)
        return Frame(
            head=before + evidence,
            separator=",",
            tail=f'{after}],"role":"user"}}],"system":[{system}]}}',
            evidence_start=len(before),
            evidence_end=0,
            segments=tuple(segments.values()),
        )

    def write(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> str:
        contents = needed(prompt).contents(handles_of(packet), evidence=fenced(_without_passages(packet)))
        blocks: list[Json] = []
        for slot in DATA:
            if slot in contents:
                blocks.append(_text_block(contents[slot]))
            if slot is Slot.RETRIEVED_EVIDENCE:
                blocks += [_search_result(item) for item in evidence_of(packet)]
        return render_json(
            {
                "system": [_text_block(contents[slot]) for slot in INSTRUCTIONS],
                "messages": [{"role": "user", "content": blocks}],
            }
        )

    def parse(self, body: str) -> Mapping[str, Json]:
        blocks = list(_blocks_of(read_json(body)))
        packet = next(filter(None, (unfenced(_content_of(block)) for block in blocks)), None)
        results = [block for block in blocks if block.get("type") == "search_result"]
        if packet is None or len(evidence_of(packet)) != len(results):
            raise UnreadableBody("the body holds no evidence packet with one search result a unit")
        evidence = [_joined(item, block) for item, block in zip(evidence_of(packet), results, strict=True)]
        return {**packet, "evidence": evidence}


def _text_block(content: SlotContent) -> dict[str, Json]:
    return {"type": "text", "text": content if isinstance(content, str) else render_json(content)}


def _search_result(evidence: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "search_result",
        "source": text_of(evidence, "handle"),
        "title": quoted(text_of(evidence, "title")),
        "content": [{"type": "text", "text": quoted(text_of(evidence, "text"))}],
        "citations": {"enabled": True},
    }


def _without_passages(packet: Mapping[str, Json]) -> dict[str, Json]:
    items = [{name: value for name, value in item.items() if name != "text"} for item in evidence_of(packet)]
    return {**packet, "evidence": items}


def _joined(item: Mapping[str, Json], block: Mapping[str, object]) -> dict[str, Json]:
    """An evidence item with the passage of its search result, which must be its own."""
    match block:
        case {"source": str(source), "title": str(title), "content": [{"type": "text", "text": str(text)}]} if (
            source == item.get("handle") and unquoted(title) == item.get("title")
        ):
            return {**item, "text": unquoted(text)}
        case _:
            raise UnreadableBody("a search result is not the unit at its place in the packet")


def _blocks_of(body: object) -> Iterator[Mapping[str, object]]:
    """The blocks of the body's one user message."""
    match body:
        case {"messages": [{"role": "user", "content": [*blocks]}]}:
            yield from (block for block in blocks if isinstance(block, dict))


def _content_of(block: Mapping[str, object]) -> object:
    text = block.get("text")
    return read_json(text) if block.get("type") == "text" and isinstance(text, str) else None
