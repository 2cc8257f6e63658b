"""Every adapter writes the same packet, and holds nothing raw that came from outside (R26, R34)."""

import itertools
import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.adapters import Adapter, renderer_for
from evidence.canonical import Json
from evidence.errors import BrokenGuarantee, UnreadableBody
from evidence.prompt import Prompt
from evidence.slots import DATA, INSTRUCTIONS, Slot
from evidence.tool_results import ToolResult
from tests.evidence.prompts import PROMPTED, prompt, rendered, renderer
from tests.hostile import HOSTILE_TEXTS

texts = st.text(max_size=30) | st.sampled_from(HOSTILE_TEXTS)
unit = st.fixed_dictionaries({"title": texts, "heading": st.lists(texts, max_size=2), "text": texts})
evidence = st.lists(unit, max_size=4)


def packet_of(units: list[dict[str, Any]], **others: Json) -> dict[str, Json]:
    items: list[Json] = [
        {"handle": f"EV-{place:016d}", "trust": "untrusted-retrieved-data", **fields}
        for place, fields in enumerate(units)
    ]
    return {"schema": "s", "coverage": {"roles": []}, "conflict_groups": [], **others, "evidence": items}


def of_words(text: str, count: int = 2) -> dict[str, Json]:
    return packet_of([{"title": text, "heading": [text], "text": text}] * count)


def prompt_of(adapter: Adapter, text: str = "words", *, everything: bool = True) -> Prompt | None:
    """A prompt whose every data slot holds the text; for `json`, which has no other slots, none."""
    if adapter is Adapter.JSON:
        return None
    if not everything:
        return prompt(query=text, adapter=adapter)
    table = ToolResult(tool=text, columns=(text, "n"), rows=((text, 1),))
    return prompt(query=text, turns=[("user", text), ("assistant", text)], tools=[table], adapter=adapter)


@pytest.mark.parametrize("adapter", Adapter)
@settings(max_examples=40, deadline=None)
@given(units=evidence, text=texts, everything=st.booleans())
def test_parsing_a_body_gives_the_packet_back(
    adapter: Adapter, units: list[dict[str, Any]], text: str, *, everything: bool
) -> None:
    """R34: one semantic packet, whatever the syntax around it."""
    packet = packet_of(units, namespace=text)

    body = renderer(adapter).write(packet, prompt=prompt_of(adapter, text, everything=everything))
    assert renderer(adapter).parse(body) == packet


@pytest.mark.parametrize("adapter", Adapter)
@settings(max_examples=40, deadline=None)
@given(units=evidence, text=texts, everything=st.booleans())
def test_frame_and_items_join_to_the_body_that_is_written_whole(
    adapter: Adapter, units: list[dict[str, Any]], text: str, *, everything: bool
) -> None:
    """R23: what is measured in pieces is what is handed over."""
    found = rendered(adapter, packet_of(units, namespace=text), prompt_of(adapter, text, everything=everything))

    assert found.joined == found.whole
    assert found.size_bytes == len(found.whole.encode())


@pytest.mark.parametrize("adapter", Adapter)
@settings(max_examples=40, deadline=None)
@given(units=evidence)
def test_the_span_of_a_passage_holds_exactly_that_passage_however_often_it_is_quoted(
    adapter: Adapter, units: list[dict[str, Any]]
) -> None:
    """R30: spans before and after rendering."""
    passages = rendered(adapter, packet_of(units), prompt_of(adapter)).passages
    quotings = 2 if adapter in (Adapter.OPENAI, Adapter.ANTHROPIC) else 1

    for _ in range(quotings):
        passages = [json.loads(f'"{passage}"') for passage in passages]
    assert passages == [fields["text"] for fields in units]


@pytest.mark.parametrize("adapter", Adapter)
def test_the_frame_does_not_read_the_passages(adapter: Adapter) -> None:
    packet = of_words("words")
    items = packet["evidence"]
    assert isinstance(items, list)
    bare = {**packet, "evidence": [{name: item[name] for name in item if name != "text"} for item in items]}

    asked = prompt_of(adapter)
    assert renderer(adapter).frame(bare, prompt=asked) == renderer(adapter).frame(packet, prompt=asked)


@pytest.mark.parametrize("adapter", Adapter)
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_hostile_text_adds_a_delimiter_to_a_body(adapter: Adapter, text: str) -> None:
    """R26: every raw `<` and `[` is one of ours: a body of plain words has as many, after NFKC and casefold too."""

    def delimiters(words: str) -> list[int]:
        body = rendered(adapter, of_words(words), prompt_of(adapter, words)).whole
        folded = (body, unicodedata.normalize("NFKC", body), unicodedata.normalize("NFC", body).casefold())
        return [form.count(mark) for form in folded for mark in "<["]

    assert delimiters(text) == delimiters("words")


@pytest.mark.parametrize("adapter", PROMPTED)
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_hostile_text_leaves_its_slot(adapter: Adapter, text: str) -> None:
    """The instructions are the same, whatever the data say."""
    handles: dict[str, list[str]] = {}
    for words in (text, "words"):
        asked = prompt_of(adapter, words)
        frame = renderer(adapter).frame(of_words(words), prompt=asked)
        handles[words] = [segment.text for segment in frame.segments if segment.slot in INSTRUCTIONS]

    assert handles[text] == handles["words"]


@pytest.mark.parametrize("adapter", PROMPTED)
def test_every_segment_is_a_piece_of_the_body_and_they_do_not_overlap(adapter: Adapter) -> None:
    """R24: a slot is measured over its own rendered segment."""
    packet, asked = of_words("words"), prompt_of(adapter)
    frame = renderer(adapter).frame(packet, prompt=asked)
    found = rendered(adapter, packet, asked)

    pieces = {segment.slot: segment.text for segment in frame.segments}
    assert list(pieces) == [slot for slot in Slot if slot is not Slot.RETRIEVED_EVIDENCE]
    pieces[Slot.RETRIEVED_EVIDENCE] = found.evidence
    spans = sorted((found.whole.index(text), found.whole.index(text) + len(text)) for text in pieces.values())
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


@pytest.mark.parametrize("adapter", PROMPTED)
def test_data_slots_stand_in_the_order_conversation_evidence_tools_turn(adapter: Adapter) -> None:
    packet, asked = of_words("words"), prompt_of(adapter)
    found = rendered(adapter, packet, asked)
    frame = renderer(adapter).frame(packet, prompt=asked)

    pieces = {segment.slot: segment.text for segment in frame.segments} | {Slot.RETRIEVED_EVIDENCE: found.evidence}
    places = [found.whole.index(pieces[slot]) for slot in DATA]
    assert places == sorted(places)


@pytest.mark.parametrize("adapter", PROMPTED)
def test_only_the_handles_of_the_packet_may_be_cited(adapter: Adapter) -> None:
    """R27: in its order, and no others."""
    asked = prompt_of(adapter)
    for count in (0, 1, 3):
        frame = renderer(adapter).frame(of_words("words", count), prompt=asked)
        (task,) = (segment for segment in frame.segments if segment.slot is Slot.TASK)
        handles = [f"EV-{place:016d}" for place in range(count)]
        assert re.findall(r"EV-\d{16}", task.text) == handles


def test_the_json_adapter_renders_evidence_and_nothing_else() -> None:
    packet = of_words("words")
    writer = renderer(Adapter.JSON)

    assert rendered(Adapter.JSON, packet, None).evidence == writer.write(packet, prompt=None)
    assert writer.frame(packet, prompt=None).segments == ()
    for asks in (
        lambda: writer.write(packet, prompt=prompt()),
        lambda: writer.frame(packet, prompt=prompt()),
        lambda: writer.segment("instructions"),
    ):
        with pytest.raises(BrokenGuarantee):
            asks()


@pytest.mark.parametrize("adapter", PROMPTED)
def test_an_adapter_with_other_slots_writes_nothing_without_them(adapter: Adapter) -> None:
    with pytest.raises(BrokenGuarantee):
        renderer(adapter).write(of_words("words"), prompt=None)


def test_a_chat_needs_a_template() -> None:
    with pytest.raises(BrokenGuarantee):
        renderer_for(Adapter.HF_CHAT, None)


@pytest.mark.parametrize("adapter", Adapter)
@pytest.mark.parametrize("spoil", [lambda body: "", lambda body: body[:-40], lambda body: "[]"])
def test_a_text_that_holds_no_packet_is_unreadable(adapter: Adapter, spoil: Callable[[str], str]) -> None:
    body = renderer(adapter).write(packet_of([]), prompt=prompt_of(adapter))
    spoiled = spoil(body) if adapter is not Adapter.HF_CHAT else spoil(body[: body.index("schema")])

    with pytest.raises(UnreadableBody):
        renderer(adapter).parse(spoiled)


@pytest.mark.parametrize("adapter", Adapter)
def test_the_record_names_the_renderer_and_what_is_known_of_its_framing(adapter: Adapter) -> None:
    """R23: framing that a provider does not publish is `undisclosed`."""
    framing = {"json": "none", "openai": "undisclosed", "anthropic": "undisclosed", "hf-chat": "template"}

    record = renderer(adapter).record()
    assert record["renderer"] == renderer(adapter).name
    assert record["framing"] == framing[adapter]
    assert (record["template"] is not None) is (adapter is Adapter.HF_CHAT)
