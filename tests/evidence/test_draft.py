"""Tests of `evidence/draft.py`: what is measured piece by piece is what would be written (R22, R23)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.adapters import Adapter
from evidence.arrangement import arrange
from evidence.draft import Draft, draft
from tests.builders import candidates, character_meter, claim, means, request, requires, retrieval, snapshot
from tests.evidence.answers import LIMIT, units_of
from tests.evidence.disputes import passages, saying, seen
from tests.evidence.prompts import chat_template, prompt
from tests.hostile import HOSTILE_TEXTS

MANY = (*candidates("first", *HOSTILE_TEXTS[:2], "four"), LIMIT)


def drafted(adapter: Adapter = Adapter.JSON) -> Draft:
    """A conflict of two, four plain passages, and one that fills a role; counted by code points."""
    one, other = saying("X", "25", key="width"), saying("Y", "30", key="width")
    asked = request(adapter=adapter, requirements=[requires("limit", claim("max"))])
    everything = [one, *MANY, other]
    view = seen(everything)
    arrangement = arrange(
        asked,
        retrieval([one, *MANY]),
        snapshot=view,
        units_of=units_of(everything),
        rules=means().rules,
    )
    return draft(
        asked,
        arrangement,
        snapshot=view,
        means=means(meter=character_meter(), template=chat_template()),
        prompt=None if adapter is Adapter.JSON else prompt(adapter=adapter),
    )


DRAFTS = {adapter: drafted(adapter) for adapter in Adapter}


@pytest.mark.parametrize("adapter", Adapter)
@settings(max_examples=25, deadline=None)
@given(kept=st.sets(st.integers(0, 6)).map(sorted))
def test_what_is_measured_is_what_is_written(adapter: Adapter, kept: list[int]) -> None:
    """Whatever is kept: bytes by addition and tokens of the pieces are those of the body, written in one go."""
    made = DRAFTS[adapter]
    body, sizes = made.body(kept), made.sizes(kept)

    assert made.frame(kept).body(made.items_of(kept)) == body
    assert sizes.bytes == len(body.encode())
    assert sizes.tokens == len(body)


@pytest.mark.parametrize("adapter", Adapter)
def test_each_passage_stands_where_its_span_says(adapter: Adapter) -> None:
    made = DRAFTS[adapter]
    kept = range(7)
    body, spans = made.body(kept), made.frame(kept).text_spans(made.items_of(kept))

    texts = [candidate.unit.text for candidate in made.arrangement.selection]
    layers = {Adapter.JSON: 1, Adapter.HF_CHAT: 1, Adapter.OPENAI: 2, Adapter.ANTHROPIC: 2}[adapter]
    for (start, end), text in zip(spans, texts, strict=True):
        found = body[start:end]
        for _ in range(layers):
            found = json.loads(f'"{found}"')
        assert found == text


def test_for_evidence_only_the_evidence_slot_is_the_whole_body() -> None:
    sizes = DRAFTS[Adapter.JSON].sizes([0, 2])

    assert sizes.evidence_tokens == sizes.tokens


@pytest.mark.parametrize("adapter", [adapter for adapter in Adapter if adapter is not Adapter.JSON])
def test_for_a_prompt_the_evidence_slot_is_a_part_of_the_body(adapter: Adapter) -> None:
    sizes = DRAFTS[adapter].sizes([0, 2])

    assert sizes.tokens is not None
    assert sizes.evidence_tokens is not None
    assert 0 < sizes.evidence_tokens < sizes.tokens


def test_a_packet_holds_what_is_kept_and_says_when_that_is_not_everything() -> None:
    made = DRAFTS[Adapter.JSON]

    assert [item["source_id"] for item in made.evidence] == ["X", "Y", "S-1", "S-2", "S-3", "S-4", "A"]
    assert made.packet(range(7))["cut"] is False
    part = made.packet([2, 6])
    assert part["cut"] is True
    assert part["evidence"] == [made.evidence[2], made.evidence[6]]
    assert made.handles_of([2, 6]) == [made.handles[2], made.handles[6]]


def test_a_duplicate_that_is_out_beforehand_makes_no_packet_a_cut_one() -> None:
    """R17: nothing is lost with it."""
    twice = passages(saying("A", "1").facts, "the same", "the same")
    view = seen(twice)
    arrangement = arrange(request(), retrieval(twice), snapshot=view, units_of=units_of(twice), rules=means().rules)
    made = draft(request(), arrangement, snapshot=view, means=means(), prompt=None)

    assert arrangement.offered == (0,)
    assert made.packet([0])["cut"] is False
    assert made.coverage([0]).exhaustive is True


def test_without_a_meter_only_bytes_are_measured() -> None:
    view = snapshot([LIMIT.facts])
    arrangement = arrange(request(), retrieval([LIMIT]), snapshot=view, units_of=units_of([LIMIT]), rules=means().rules)

    sizes = draft(request(), arrangement, snapshot=view, means=means(), prompt=None).sizes([0])
    assert (sizes.tokens, sizes.evidence_tokens) == (None, None)
