"""Tests of `evidence/routing.py`: instructions that do not fit are no prompt to be squeezed (R25)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from evidence.adapters import Adapter
from evidence.assembly import Assembled
from evidence.budget import Budget, TokenMeter
from evidence.conversation import number_turns
from evidence.means import Alternative, Means
from evidence.packing import Overflow
from evidence.query_class import QueryClass
from evidence.request import PacketRequest
from evidence.slots import Slot
from evidence.state import Disposition
from tests.builders import (
    EXPLANATORY,
    candidate,
    candidates,
    character_meter,
    claim,
    means,
    request,
    requires,
    revision,
    with_budget,
)
from tests.evidence.answers import answer, wire
from tests.evidence.prompts import chat_template

ROOMY = replace(EXPLANATORY, budgets=dict.fromkeys(Slot, 10**6))
ADAPTERS = (Adapter.OPENAI, Adapter.ANTHROPIC, Adapter.HF_CHAT)


def asked(query_class: QueryClass = ROOMY, *, adapter: Adapter = Adapter.OPENAI, **more: Any) -> PacketRequest:
    return request(query_class=query_class, adapter=adapter, **more)


def by(meter: TokenMeter | None, *alternatives: Alternative) -> Means:
    return means(meter=meter, template=chat_template(), alternatives=alternatives)


def counted(asked_for: PacketRequest, *alternatives: Alternative) -> Assembled:
    return answer(candidates("first", "second"), asked_for, by=by(character_meter(), *alternatives))


def refusal(answered: Assembled) -> dict[str, Any]:
    told: dict[str, Any] = wire(answered)["refusal"]
    return told


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("slot", [Slot.SYSTEM_POLICY, Slot.TASK])
def test_a_slot_fits_at_its_exact_budget_and_fails_the_route_one_token_below(slot: Slot, adapter: Adapter) -> None:
    """R24, R25: without the handles that come on top of the task."""
    needed = refusal(counted(asked(with_budget(slot, 1, query_class=ROOMY), adapter=adapter)))["needed"]

    assert counted(asked(with_budget(slot, needed, query_class=ROOMY), adapter=adapter)).packet is not None
    failed = counted(asked(with_budget(slot, needed - 1, query_class=ROOMY), adapter=adapter))
    assert failed.disposition is Disposition.ROUTE_FAILED
    assert refusal(failed) == {
        "measure": f"slot:{slot.value}",
        "needed": needed,
        "limit": needed - 1,
        "over": 1,
        "mandatory_floor": needed,
        "tried": [],
        "would_fit": [],
    }


def test_the_policy_needs_what_a_client_counts_in_its_segment() -> None:
    """R24: counted over its own rendered segment, by the text that stands in the body."""
    needed = refusal(counted(asked(with_budget(Slot.SYSTEM_POLICY, 1, query_class=ROOMY))))["needed"]
    body = wire(counted(asked()))["rendered"]["body"]
    policy = json.loads(body)["messages"][0]["content"]

    assert policy == ROOMY.policy.text
    assert json.dumps(policy, ensure_ascii=False) in body
    assert needed == len('{"content":,"role":"system"}') + len(json.dumps(policy, ensure_ascii=False))


def test_a_prompt_that_leaves_no_room_at_all_fails_the_route_and_one_that_does_is_refused() -> None:
    """R25: the same request one token apart. `needed` is what the packet without evidence takes."""
    floor = refusal(counted(asked(budget=Budget(max_tokens=1))))["needed"]

    below = counted(asked(budget=Budget(max_tokens=floor - 1)))
    at = counted(asked(budget=Budget(max_tokens=floor)))
    assert (below.disposition, refusal(below)["measure"]) == (Disposition.ROUTE_FAILED, "tokens")
    assert (at.disposition, refusal(at)["measure"]) == (Disposition.REFUSED_BUDGET, "tokens")
    cut = counted(asked(budget=Budget(max_tokens=floor), on_overflow=Overflow.OMIT_OPTIONAL))
    assert wire(cut)["packet"]["evidence"] == []
    assert wire(cut)["rendered"]["tokens"] == floor


@pytest.mark.parametrize(
    ("budget", "measure"),
    [(Budget(max_bytes=1), "bytes"), (Budget(window=9, reserved_output_tokens=8), "window")],
)
def test_any_limit_on_the_whole_input_can_fail_the_route(budget: Budget, measure: str) -> None:
    failed = counted(asked(budget=budget))

    assert (failed.disposition, refusal(failed)["measure"]) == (Disposition.ROUTE_FAILED, measure)


def test_without_a_tokenizer_no_slot_has_a_budget() -> None:
    assert answer(candidates("first"), asked(with_budget(Slot.SYSTEM_POLICY, 0)), by=by(None)).packet is not None


def test_what_renders_evidence_only_has_no_route_to_fail() -> None:
    """The adapter json: whatever does not fit is the evidence."""
    small = with_budget(Slot.SYSTEM_POLICY, 0, query_class=ROOMY)

    assert counted(asked(small, adapter=Adapter.JSON)).packet is not None
    refused = counted(asked(small, adapter=Adapter.JSON, budget=Budget(max_bytes=1)))
    assert refused.disposition is Disposition.REFUSED_BUDGET


def test_the_evidence_slot_is_no_fixed_slot() -> None:
    """R25: where not even an empty packet fits its budget, that is a refusal."""
    refused = counted(asked(with_budget(Slot.RETRIEVED_EVIDENCE, 1, query_class=ROOMY)))

    assert (refused.disposition, refusal(refused)["measure"]) == (
        Disposition.REFUSED_BUDGET,
        "slot:retrieved-evidence",
    )


def test_a_route_that_failed_hands_nothing_over_and_lists_everything() -> None:
    whole = wire(counted(asked(budget=Budget(max_tokens=1))))

    assert whole["packet"] is whole["rendered"] is None
    assert (whole["behaviour"], whole["manifest"]["inclusions"]) == ("fail-closed", [])
    assert whole["manifest"]["omissions"]["counts"]["omitted-budget"] == 2


def test_evidence_that_says_more_about_what_is_missing_than_it_holds_fails_no_route() -> None:
    """R22: a packet at exactly its size is accepted, also where it would be larger without its evidence, since it then
    had to list every claim that nothing bears out."""
    long_keys = {f"{number}-{'key' * 60}": "1" for number in range(20)}
    found = candidate(revision("A", claims=long_keys), "text")
    roles = [requires(str(number), claim(key)) for number, key in enumerate(long_keys)]
    free = wire(answer([found], asked(requirements=roles), by=by(character_meter())))["rendered"]

    exact = answer([found], asked(requirements=roles, budget=Budget(max_bytes=free["bytes"])), by=by(character_meter()))
    assert exact.disposition is Disposition.ACCEPTED
    assert wire(exact)["rendered"] == free


# Where it would fit


def under(name: str, query_class: QueryClass, prepared: list[str] | None = None) -> Alternative:
    """Another class for the same question. `prepared` gets the names of those that are worked out."""

    def prepare() -> tuple[PacketRequest, Means]:
        if prepared is not None:
            prepared.append(name)
        return replace(asked(query_class), tokenizer="characters"), by(character_meter())

    return Alternative(name=name, prepare=prepare)


def test_the_classes_and_models_that_would_fit_are_named_in_order_and_each_was_tried() -> None:
    """R25."""
    tight = with_budget(Slot.SYSTEM_POLICY, 1, query_class=ROOMY)

    failed = counted(
        asked(tight),
        under("class:tight", tight),
        under("model:roomy", ROOMY),
        Alternative(name="class:impossible", prepare=lambda: None),
        under("class:roomy", ROOMY),
    )
    assert refusal(failed)["tried"] == ["class:tight", "model:roomy", "class:impossible", "class:roomy"]
    assert refusal(failed)["would_fit"] == ["model:roomy", "class:roomy"]


def test_a_class_under_which_the_whole_input_does_not_fit_either_is_not_named() -> None:
    short = replace(asked(ROOMY, budget=Budget(max_tokens=5)), tokenizer="characters")

    failed = counted(
        asked(budget=Budget(max_tokens=1)),
        Alternative(name="class:other", prepare=lambda: (short, by(character_meter()))),
    )
    assert refusal(failed)["would_fit"] == []


def test_nothing_else_is_tried_where_the_prompt_fits() -> None:
    """Opening another model takes time."""
    prepared: list[str] = []

    counted(asked(), under("class:other", ROOMY, prepared))
    counted(asked(with_budget(Slot.RETRIEVED_EVIDENCE, 1, query_class=ROOMY)), under("class:other", ROOMY, prepared))
    assert prepared == []


def test_what_is_said_about_a_class_that_would_fit_is_true() -> None:
    """The same request under the class named has a prompt that fits."""
    tight = with_budget(Slot.TASK, 1, query_class=ROOMY)
    turns = number_turns([("user", "hello")])

    failed = counted(asked(tight, conversation=turns), under("class:roomy", ROOMY))
    assert refusal(failed)["would_fit"] == ["class:roomy"]
    assert counted(asked(ROOMY, conversation=turns)).disposition is Disposition.ACCEPTED
