"""The exact text of a packet (R26, R31)."""

import json

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.canonical import Json
from evidence.render import join, joined_bytes, render_item, render_json, text_spans
from tests.hostile import HOSTILE_TEXTS

texts = st.text(max_size=30) | st.sampled_from(HOSTILE_TEXTS)
items = st.fixed_dictionaries({"text": texts, "title": texts, "heading": st.lists(texts, max_size=2)})


def packet_of(evidence: list[dict[str, Json]], **others: Json) -> dict[str, Json]:
    return {"schema": "s", "coverage": {"roles": []}, "conflict_groups": [], **others, "evidence": evidence}


@settings(max_examples=60)
@given(st.lists(items, max_size=3), texts)
def test_parsing_the_body_gives_the_packet_back(evidence: list[dict[str, Json]], namespace: str) -> None:
    packet = packet_of(evidence, namespace=namespace)

    assert json.loads(render_json(packet)) == packet


@settings(max_examples=60)
@given(st.lists(items, max_size=3))
def test_the_body_without_our_escapes_is_the_rfc_8785_form(evidence: list[dict[str, Json]]) -> None:
    """The reference writes the parsed body; only strings differ, and only by escapes of what it writes raw."""
    packet = packet_of(evidence)
    body = render_json(packet)

    assert rfc8785.dumps(json.loads(body)) == rfc8785.dumps(packet)
    assert len(body) >= len(rfc8785.dumps(packet).decode())


def test_plain_text_is_rendered_as_rfc_8785_writes_it() -> None:
    value: Json = {"b": "line\nbreak é 😀", "a": [1, None, True, {}]}

    assert render_json(value) == '{"a":[1,null,true,{}],"b":"line\\nbreak é 😀"}'


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_bracket_of_a_text_stands_raw_in_the_body(text: str) -> None:
    """Every raw `[` is one of the frame: a packet with plain words has as many."""
    plain = render_json(packet_of([{"text": "words", "title": "words", "heading": ["words"]}]))
    hostile = render_json(packet_of([{"text": text, "title": text, "heading": [text]}]))

    assert hostile.count("[") == plain.count("[")
    assert "<" not in hostile


@settings(max_examples=100)
@given(st.lists(items, max_size=4), texts)
def test_frame_and_items_join_to_the_whole_and_their_bytes_add_up(
    evidence: list[dict[str, Json]], namespace: str
) -> None:
    """R23: bytes are those of the whole body, though it is measured in parts."""
    whole = render_json(packet_of(evidence, namespace=namespace))
    frame = render_json(packet_of([], namespace=namespace))
    rendered = [render_item(item) for item in evidence]

    assert join(frame, rendered) == whole
    assert joined_bytes(frame, rendered) == len(whole.encode())


@settings(max_examples=100)
@given(st.lists(items, max_size=4), texts)
def test_the_span_of_a_passage_in_the_body_holds_exactly_its_escaped_text(
    evidence: list[dict[str, Json]], namespace: str
) -> None:
    """R30: spans before and after rendering."""
    frame = render_json(packet_of([], namespace=namespace))
    rendered = [render_item(item) for item in evidence]
    body = join(frame, rendered)

    passages = [body[start:end] for start, end in text_spans(frame, rendered)]
    assert [json.loads(f'"{passage}"') for passage in passages] == [item["text"] for item in evidence]
