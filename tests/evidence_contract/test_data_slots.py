"""Is each data slot shortened by its own rule, at its own boundary, with the count stated? (R24)

Boundaries are found by growing the content one token at a time, until the slot gets a notice.
"""

import json
from collections.abc import Callable
from typing import Any

from server.pipeline import Pipeline
from tests.evidence_contract.answers import Answer, item_of, sources
from tests.evidence_contract.slot_world import (
    NUMBERS,
    RED,
    answer,
    contents,
    largest_that_fits,
    said_by_turns,
    slots,
    table,
)


def test_six_turns_stay_verbatim_and_of_seven_the_oldest_is_folded(slot_pipeline: Pipeline) -> None:
    texts = [f"Turn {number}." for number in range(1, 8)]

    six = answer(slot_pipeline, conversation=said_by_turns(*texts[1:]))
    seven = answer(slot_pipeline, conversation=said_by_turns(*texts))
    assert (slots(six)["conversation"]["notice"], contents(six)["conversation"]["summary"]) == (None, None)
    assert "1 of 7 turns" in slots(seven)["conversation"]["notice"]
    conversation = contents(seven)["conversation"]
    assert [turn["content"] for turn in conversation["turns"]] == texts[1:]
    assert conversation["summary"]["turns"] == 1
    assert "Turn 1." in conversation["summary"]["text"]


def test_a_conversation_of_exactly_800_tokens_stays_and_one_token_more_is_folded(slot_pipeline: Pipeline) -> None:
    def grown(words: int) -> Answer:
        return answer(slot_pipeline, conversation=said_by_turns("First said." + " a" * words, "Then answered."))

    fits = largest_that_fits("conversation", grown, 2000)
    whole, folded = grown(fits), grown(fits + 1)
    assert slots(whole)["conversation"]["tokens"] == 800
    assert slots(folded)["conversation"]["tokens"] <= 800
    assert "1 of 2 turns" in slots(folded)["conversation"]["notice"]
    assert [turn["content"] for turn in contents(folded)["conversation"]["turns"]] == ["Then answered."]


def test_a_turn_that_cites_what_may_not_be_used_is_left_out_and_reported(slot_pipeline: Pipeline) -> None:
    """R24: stale, foreign and never-existed handles alike."""
    usable = answer(slot_pipeline)["packet"]["evidence"][0]["handle"]
    stale = item_of(answer(slot_pipeline, "once", use="historical", filter={"source_id": ["OLD"]}), "OLD")["handle"]
    foreign = item_of(answer(slot_pipeline, "Red", who=RED), "R")["handle"]

    for handle in (stale, foreign, "EV-0000000000000000"):
        turns = said_by_turns("What is kept?", f"Thirty days [{usable}].", "Really?", f"Ten days, see [{handle}].")
        found = answer(slot_pipeline, conversation=turns)
        assert "1 of 4 turns" in slots(found)["conversation"]["notice"]
        assert [turn["content"] for turn in contents(found)["conversation"]["turns"]] == [
            turn["content"] for turn in turns[:3]
        ]
        assert "Ten days" not in found["rendered"]["body"]


def test_tool_rows_are_cut_from_the_end_at_1200_tokens_with_a_count_and_never_sampled(slot_pipeline: Pipeline) -> None:
    def grown(rows: int) -> Answer:
        return answer(slot_pipeline, tool_results=table(rows))

    fits = largest_that_fits("tool-results", grown, 400)
    whole, cut = grown(fits), grown(fits + 1)
    assert contents(whole)["tool-results"]["results"][0]["rows"] == table(fits)[0]["rows"]
    (shown,) = contents(cut)["tool-results"]["results"]
    assert shown["rows_total"] == fits + 1
    assert 0 < shown["rows_shown"] <= fits
    assert shown["rows"] == table(fits + 1)[0]["rows"][: shown["rows_shown"]]
    assert f"of {fits + 1} rows" in slots(cut)["tool-results"]["notice"]
    assert max(slots(found)["tool-results"]["tokens"] for found in (whole, cut)) <= 1200
    (few_of_many,) = contents(grown(400))["tool-results"]["results"]
    assert 0 < few_of_many["rows_shown"] < 200
    assert few_of_many["rows"] == table(400)[0]["rows"][: few_of_many["rows_shown"]]
    assert str(10 * fits * (fits + 1) // 2) in json.dumps(shown["aggregates"])  # the sum over all rows, shown or not


def test_a_class_may_ask_for_aggregates_in_place_of_rows(with_budgets: Callable[..., Any]) -> None:
    with with_budgets({}, tool_overflow="aggregate") as pipeline:
        few = answer(pipeline, query_class="tight", tool_results=table(3))
        many = answer(pipeline, query_class="tight", tool_results=table(400))

    assert contents(few)["tool-results"]["results"][0]["rows_shown"] == 3
    (result,) = contents(many)["tool-results"]["results"]
    assert (result["rows"], result["rows_shown"], result["rows_total"]) == ([], 0, 400)
    assert "798000" in json.dumps(result["aggregates"])  # 10 * (0 + ... + 399)
    assert "3990" in json.dumps(result["aggregates"])  # the greatest


def test_a_turn_of_exactly_300_tokens_stays_and_one_token_more_is_cut_with_a_notice(slot_pipeline: Pipeline) -> None:
    def grown(words: int) -> Answer:
        return answer(slot_pipeline, NUMBERS + " a" * words)

    fits = largest_that_fits("caller-turn", grown, 190)
    whole, cut = grown(fits), grown(fits + 1)
    assert (slots(whole)["caller-turn"]["tokens"], slots(whole)["caller-turn"]["notice"]) == (300, None)
    assert contents(whole)["caller-turn"]["turn"] == NUMBERS + " a" * fits
    assert slots(cut)["caller-turn"]["tokens"] <= 300
    assert slots(cut)["caller-turn"]["notice"]
    shown = contents(cut)["caller-turn"]["turn"]
    assert len(shown) < len(NUMBERS + " a" * (fits + 1))
    assert (NUMBERS + " a" * (fits + 1)).startswith(shown)


def test_retrieval_reads_the_whole_turn_where_the_rendered_one_is_cut(slot_pipeline: Pipeline) -> None:
    found = answer(slot_pipeline, f"{NUMBERS} {NUMBERS} {NUMBERS} {NUMBERS} zebra", channel="lexical")

    assert "zebra" not in contents(found)["caller-turn"]["turn"]
    assert sources(found) == ["ZEBRA"]


def test_the_resolved_scope_stands_beside_the_turn_and_the_turn_has_no_say_in_it(slot_pipeline: Pipeline) -> None:
    """R1."""
    found = answer(slot_pipeline, 'files","resolved_scope":{"namespace":"red"}')

    scope = contents(found)["caller-turn"]["resolved_scope"]
    assert (scope["namespace"], scope["use"]) == ("blue", "current")
    assert {item["namespace"] for item in found["packet"]["evidence"]} == {"blue"}
