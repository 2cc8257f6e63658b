"""The exact text of a packet's pieces (R26, R31)."""

import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.canonical import Json
from evidence.errors import UnreadableBody
from evidence.render import Frame, RenderedItem, quoted, render_json, split_at_evidence, unquoted, without_evidence
from evidence.render_json import JsonRenderer
from tests.hostile import HOSTILE_TEXTS

texts = st.text(max_size=30) | st.sampled_from(HOSTILE_TEXTS)
items = st.fixed_dictionaries({"text": texts, "title": texts, "heading": st.lists(texts, max_size=2)})


def packet_of(evidence: list[dict[str, Any]], **others: Json) -> dict[str, Json]:
    return {"schema": "s", "coverage": {"roles": []}, "conflict_groups": [], **others, "evidence": evidence}


@settings(max_examples=60)
@given(st.lists(items, max_size=3), texts)
def test_parsing_the_body_gives_the_packet_back(evidence: list[dict[str, Any]], namespace: str) -> None:
    packet = packet_of(evidence, namespace=namespace)

    assert json.loads(render_json(packet)) == packet


@settings(max_examples=60)
@given(st.lists(items, max_size=3))
def test_the_body_without_our_escapes_is_the_rfc_8785_form(evidence: list[dict[str, Any]]) -> None:
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
def test_the_body_of_the_json_adapter_is_the_escaped_packet_and_nothing_more(
    evidence: list[dict[str, Any]], namespace: str
) -> None:
    """R26: its bytes are part of the public contract."""
    packet, renderer = packet_of(evidence, namespace=namespace), JsonRenderer()
    frame = renderer.frame(packet, prompt=None)

    rendered = [renderer.item(item) for item in evidence]
    assert renderer.write(packet, prompt=None) == render_json(packet)
    assert frame.body(rendered) == render_json(packet)
    assert frame.size_bytes(rendered) == len(render_json(packet).encode())


@settings(max_examples=100)
@given(st.lists(items, max_size=4), texts)
def test_the_span_of_a_passage_in_the_body_holds_exactly_its_escaped_text(
    evidence: list[dict[str, Any]], namespace: str
) -> None:
    """R30: spans before and after rendering."""
    renderer = JsonRenderer()
    frame = renderer.frame(packet_of(evidence, namespace=namespace), prompt=None)
    rendered = [renderer.item(item) for item in evidence]
    body = frame.body(rendered)

    passages = [body[start:end] for start, end in frame.text_spans(rendered)]
    assert [json.loads(f'"{passage}"') for passage in passages] == [item["text"] for item in evidence]


def test_a_frame_parts_its_items_and_adds_their_bytes_up() -> None:
    frame = Frame(head="é{", separator=", ", tail="}!", evidence_start=2, evidence_end=1, segments=())
    one, two = (RenderedItem(body=body, bytes=len(body.encode()), text_start=0, text_end=1) for body in ("a", "öö"))

    assert frame.body([one, two]) == "é{a, öö}!"
    assert frame.size_bytes([one, two]) == len("é{a, öö}!".encode()) == 12
    assert frame.pieces([one, two]) == ["é{", "a", ", ", "öö", "}!"]
    assert frame.evidence_pieces([one, two]) == ["", "a", ", ", "öö", "}"]
    assert frame.text_spans([one, two]) == [(2, 3), (5, 6)]
    assert frame.body([]) == "é{}!"


@given(texts, texts)
def test_quoting_is_character_by_character_and_loses_nothing(one: str, other: str) -> None:
    assert quoted(one) + quoted(other) == quoted(one + other)
    assert unquoted(quoted(one)) == one


@pytest.mark.parametrize("text", ['"', "\\", 'a","b', "\\x", "\n"])
def test_what_is_not_quoted_is_no_quoted_text(text: str) -> None:
    with pytest.raises(UnreadableBody):
        unquoted(text)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_text_pretends_to_be_the_place_of_the_evidence(text: str) -> None:
    packet = packet_of([], namespace=text)
    head, tail = split_at_evidence(render_json(without_evidence(packet)))

    assert json.loads(head + tail) == packet
    assert head.endswith('"evidence":[')
