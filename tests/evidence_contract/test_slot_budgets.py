"""Do the six slots keep their budgets, and does a request fail before its instructions are trimmed? (R24, R25)

The default class's numbers: 700 for the policy, 400 for the task, 800 for the conversation, 6,000 for the evidence,
1,200 for tool results, 300 for the caller's turn. Boundaries are read from what the answer says it measured.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.errors import Invalid
from server.pipeline import Pipeline
from tests.evidence_contract.answers import Answer, ask, sources
from tests.evidence_contract.over_http import served
from tests.evidence_contract.slot_world import (
    BLUE,
    BUDGETS,
    TOKENIZER,
    TRUST,
    answer,
    contents,
    said_by_turns,
    slots,
    table,
)
from tests.worlds import opened


def test_the_default_class_has_the_numbers_of_the_six_slots(slot_pipeline: Pipeline) -> None:
    record_of_class = answer(slot_pipeline)["manifest"]["query_class"]

    assert record_of_class["name"] == "explanatory"
    assert record_of_class["slot_budgets"] == BUDGETS
    assert (record_of_class["k"], record_of_class["conversation_turns"], sum(BUDGETS.values())) == (8, 6, 9400)


def test_the_six_slots_stand_in_order_with_trust_budget_and_size(slot_pipeline: Pipeline) -> None:
    found = answer(slot_pipeline, conversation=said_by_turns("hello", "yes?"), tool_results=table(2))

    listed = found["rendered"]["slots"]
    assert {slot["slot"]: slot["trust"] for slot in listed} == TRUST
    assert {slot["slot"]: slot["budget"] for slot in listed} == BUDGETS
    assert all(slot["tokens"] > 0 for slot in listed)
    within = {slot["slot"]: slot["tokens"] <= slot["budget"] for slot in listed}
    assert all(fits for slot, fits in within.items() if slot != "task")  # handles stand on top of the task's budget
    assert list(contents(found)) == ["conversation", "retrieved-evidence", "tool-results", "caller-turn"]


def test_without_a_tokenizer_no_slot_is_limited_or_counted(slot_pipeline: Pipeline) -> None:
    found = answer(slot_pipeline, budget=None, tool_results=table(400))

    assert {slot["tokens"] for slot in found["rendered"]["slots"]} == {None}
    assert contents(found)["tool-results"]["results"][0]["rows_shown"] == 400


@pytest.mark.parametrize("field", [{"conversation": said_by_turns("hello")}, {"tool_results": table(1)}])
def test_the_adapter_json_renders_evidence_only(slot_pipeline: Pipeline, field: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        answer(slot_pipeline, adapter="json", **field)


def test_where_no_tokenizer_is_public_a_token_limit_is_refused_and_bytes_work(slot_pipeline: Pipeline) -> None:
    """R23."""
    for budget in ({"max_tokens": 9000, "tokenizer": TOKENIZER}, {"tokenizer": TOKENIZER}, {"max_tokens": 9000}):
        with pytest.raises(Invalid):
            answer(slot_pipeline, adapter="anthropic", budget=budget)
    size = answer(slot_pipeline, adapter="anthropic", budget=None)["rendered"]["bytes"]
    assert answer(slot_pipeline, adapter="anthropic", budget={"max_bytes": size})["disposition"] == "accepted"
    below = answer(slot_pipeline, adapter="anthropic", budget={"max_bytes": size - 1})
    assert (below["disposition"], below["refusal"]["over"]) == ("refused-budget", 1)


def test_the_policy_is_never_trimmed_and_the_request_fails_first(
    slot_pipeline: Pipeline, with_budgets: Callable[..., Any]
) -> None:
    needed = slots(answer(slot_pipeline))["system-policy"]["tokens"]

    assert needed <= 700
    with with_budgets({"system-policy": needed}) as exact:
        assert answer(exact, query_class="tight")["disposition"] == "accepted"
    with with_budgets({"system-policy": needed - 1}) as below:
        failed = answer(below, query_class="tight", on_overflow="omit-optional")
    assert (failed["disposition"], failed["behaviour"], failed["packet"], failed["rendered"]) == (
        "route-failed",
        "fail-closed",
        None,
        None,
    )
    refusal = failed["refusal"]
    assert (refusal["measure"], refusal["needed"], refusal["limit"], refusal["over"]) == (
        "slot:system-policy",
        needed,
        needed - 1,
        1,
    )
    assert "class:explanatory" in refusal["would_fit"]
    assert "class:tight" not in refusal["would_fit"]


def test_the_task_is_never_trimmed_and_handles_stand_on_top_of_its_budget(with_budgets: Callable[..., Any]) -> None:
    with with_budgets({"task": 1}) as pipeline:
        needed = answer(pipeline, query_class="tight")["refusal"]["needed"]

    assert needed <= 400
    with with_budgets({"task": needed}) as exact:
        found = answer(exact, query_class="tight")
        assert found["disposition"] == "accepted"
        assert slots(found)["task"]["tokens"] > needed + 8 * len("EV-")  # eight handles
        assert "8 handles" in slots(found)["task"]["notice"]
    with with_budgets({"task": needed - 1}) as below:
        failed = answer(below, query_class="tight", on_overflow="omit-optional")
    assert (failed["disposition"], failed["refusal"]["measure"], failed["refusal"]["over"]) == (
        "route-failed",
        "slot:task",
        1,
    )


def test_the_task_names_every_handle_that_may_be_cited_and_no_other(slot_pipeline: Pipeline) -> None:
    found = answer(slot_pipeline)

    task = json.loads(found["rendered"]["body"])["messages"][1]["content"]
    handles = [item["handle"] for item in found["packet"]["evidence"]]
    assert len(handles) == 8
    assert task.count("EV-") == 8
    assert all(handle in task for handle in handles)


def test_of_the_evidence_at_most_6000_tokens_are_accepted(slot_pipeline: Pipeline) -> None:
    """R22: two units more are refused whole."""
    accepted: dict[int, Answer] = {}
    refused: dict[int, Answer] = {}
    for k in range(8, 81, 2):
        found = answer(slot_pipeline, k=k)
        (accepted if found["disposition"] == "accepted" else refused)[k] = found

    most = max(accepted)
    assert min(refused) == most + 2
    assert slots(accepted[most])["retrieved-evidence"]["tokens"] <= 6000
    refusal = refused[most + 2]["refusal"]
    assert (refusal["measure"], refusal["limit"]) == ("slot:retrieved-evidence", 6000)
    assert (refusal["needed"] > 6000, refusal["over"]) == (True, refusal["needed"] - 6000)


def test_evidence_is_accepted_at_its_exact_tokens_and_cut_only_where_that_is_asked_for(
    slot_pipeline: Pipeline, with_budgets: Callable[..., Any]
) -> None:
    """R22: under `omit-optional` the unit that ranks last goes, and the packet says that it was cut."""
    whole = answer(slot_pipeline)
    needed = slots(whole)["retrieved-evidence"]["tokens"]

    with with_budgets({"retrieved-evidence": needed}) as exact:
        assert answer(exact, query_class="tight")["packet"] == whole["packet"]
    with with_budgets({"retrieved-evidence": needed - 1}) as below:
        refused = answer(below, query_class="tight")
        cut = answer(below, query_class="tight", on_overflow="omit-optional")
    assert (refused["disposition"], refused["refusal"]["measure"], refused["refusal"]["over"]) == (
        "refused-budget",
        "slot:retrieved-evidence",
        1,
    )
    assert (cut["disposition"], cut["packet"]["cut"]) == ("accepted", True)
    assert sources(cut) == sources(whole)[:-1]
    assert slots(cut)["retrieved-evidence"]["notice"]


def test_where_space_is_short_evidence_goes_and_never_the_turn(slot_pipeline: Pipeline) -> None:
    """R24: within a window that has no room for evidence, policy, task and turn stand whole."""
    window = answer(slot_pipeline)["rendered"]["tokens"] - 1

    found = answer(slot_pipeline, budget={"tokenizer": TOKENIZER, "window": window}, on_overflow="omit-optional", k=8)
    assert (found["disposition"], found["packet"]["cut"]) == ("accepted", True)
    assert contents(found)["caller-turn"]["turn"] == "how long are files kept"
    assert slots(found)["caller-turn"]["notice"] is None


def test_a_window_that_cannot_hold_the_fixed_slots_is_a_routing_failure_that_names_what_would_fit(
    slot_catalog: Path, tmp_path: Path
) -> None:
    """R25."""
    models = tmp_path / "models.json"
    profiles = [
        {"name": "narrow", "adapter": "openai", "tokenizer": TOKENIZER, "window": 100},
        {"name": "wide", "adapter": "openai", "tokenizer": TOKENIZER, "window": 128_000},
    ]
    models.write_text(json.dumps({"profiles": profiles}))

    with opened(slot_catalog, models_file=models) as pipeline:
        fits = ask(pipeline, BLUE, "how long are files kept", model="wide")
        failed = ask(pipeline, BLUE, "how long are files kept", model="narrow", on_overflow="omit-optional")
    assert fits["disposition"] == "accepted"
    assert (failed["disposition"], failed["behaviour"], failed["packet"]) == ("route-failed", "fail-closed", None)
    assert failed["refusal"]["measure"] == "window"
    assert "model:wide" in failed["refusal"]["would_fit"]
    assert "model:narrow" not in failed["refusal"]["would_fit"]


def test_packets_whose_evidence_was_cut_are_counted_and_others_are_not(slot_catalog: Path) -> None:
    question = {"query": "how long are files kept"}
    with served(slot_catalog) as caller:
        size = caller.packet(BLUE, question)["rendered"]["bytes"]
        whole = caller.metrics()
        budget = {"max_bytes": size - 1}
        caller.packet(BLUE, {**question, "budget": budget})
        refused = caller.metrics()
        caller.packet(BLUE, {**question, "budget": budget, "on_overflow": "omit-optional"})
        cut = caller.metrics()

    counted = [text.count("muniment_packets_cut_total 1.0") for text in (whole, refused, cut)]
    assert counted == [0, 0, 1]
