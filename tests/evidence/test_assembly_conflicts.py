"""Conflicts, duplicates and slots in a whole answer: what the packet shows, what the manifest tells (R16-R19, R24)."""

from typing import Any

from evidence.adapters import Adapter
from evidence.assembly import assemble
from evidence.budget import Budget
from evidence.citations import citation_handle
from evidence.conversation import number_turns
from evidence.packing import Overflow
from evidence.request import Strategy
from evidence.state import Behaviour, State
from tests.builders import candidates, claim, family, means, request, requires, retrieval
from tests.evidence.answers import RULE, answer, holding, size, units_of, wire
from tests.evidence.disputes import MANUFACTURER_FIRST, facts_of, passages, rules, saying

ANN = saying("A", "25", owner="ann", authority="manufacturer")
BOB = saying("C", "30", owner="bob", authority="forum")
PLAIN = candidates("a plain passage")


def decisions(whole: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Unit id -> what assembly decided about it."""
    return {one["unit_id"]: one["decision"] for one in whole["manifest"]["inclusions"]}


def test_both_sides_of_an_open_conflict_are_handed_over_with_their_owners() -> None:
    """R18: escalated, whoever ranked better."""
    outcome = answer([ANN, *PLAIN], others=[BOB])
    whole = wire(outcome)

    assert (outcome.state, outcome.behaviour) == (State.CONFLICTING, Behaviour.ESCALATE)
    assert [item["source_id"] for item in whole["packet"]["evidence"]] == ["A", "C", "S-1"]
    (group,) = whole["packet"]["conflict_groups"]
    assert group == {
        "id": group["id"],
        "handles": [citation_handle(ANN.unit), citation_handle(BOB.unit)],
        "key": "max",
        "keys": ["max"],
        "owners": ["ann", "bob"],
        "resolution": None,
    }
    assert [item["conflict_group"] for item in whole["packet"]["evidence"]] == [group["id"], group["id"], None]
    assert [item["support_role"] for item in whole["packet"]["evidence"]] == [
        "conflicting",
        "conflicting",
        "background",
    ]


def test_the_manifest_says_who_was_brought_in_and_for_which_group() -> None:
    """R16."""
    whole = wire(answer([ANN, *PLAIN], others=[BOB]))

    told = {unit: (one["reason"], one["tier"], one["brought_in"]) for unit, one in decisions(whole).items()}
    assert told == {
        "blue/A@1#0": ("conflicting", "conflict", False),
        "blue/C@1#0": ("conflicting", "conflict", True),
        "blue/S-1@1#0": ("included", "background", False),
    }
    assert {one["conflict_group"] for one in decisions(whole).values()} == {
        whole["manifest"]["conflict_groups"][0]["id"],
        None,
    }


def test_a_unit_that_a_conflict_brought_in_is_not_listed_as_unselected() -> None:
    """Its rank was too low, and it is in the packet all the same."""
    found = retrieval([ANN], unselected=[PLAIN[0].unit.key, BOB.unit.key])
    everything = [ANN, BOB, *PLAIN]

    assembled = assemble(
        request(), snapshot=holding(everything), retrieval=found, means=means(), units_of=units_of(everything)
    )
    assert wire(assembled)["manifest"]["omissions"]["items"] == [{"reason": "not-selected", "unit_id": "blue/S-1@1#0"}]


def test_a_rule_of_the_domain_settles_a_conflict_and_both_sides_stay() -> None:
    """R18: the rule is named with its version, and the loser is overruled."""
    outcome = answer([BOB], others=[ANN], by=means(rules=rules(MANUFACTURER_FIRST)))
    whole = wire(outcome)

    assert outcome.state is State.UNASSESSED
    assert {unit: one["reason"] for unit, one in decisions(whole).items()} == {
        "blue/A@1#0": "included",
        "blue/C@1#0": "overruled",
    }
    assert whole["packet"]["conflict_groups"][0]["resolution"] == {
        "rule": "manufacturer-first",
        "rules": "house",
        "version": "3",
        "prevails": [citation_handle(ANN.unit)],
        "overruled": [citation_handle(BOB.unit)],
    }
    assert whole["manifest"]["packing"]["authority_rules"]["version"] == "3"


def test_a_conflict_that_is_left_out_for_space_is_left_out_whole_and_still_makes_the_state() -> None:
    """R19: where there is room for one of the two units and not for both, neither is packed."""
    roles = [requires("rule", family("policy"))]
    room = size(answer([ANN, RULE], request(requirements=roles), others=[BOB])) - 1

    asked = request(requirements=roles, budget=Budget(max_bytes=room), on_overflow=Overflow.OMIT_OPTIONAL)
    whole = wire(answer([ANN, RULE], asked, others=[BOB]))
    assert [item["source_id"] for item in whole["packet"]["evidence"]] == ["B"]
    assert whole["state"] == "conflicting"
    (group,) = whole["packet"]["conflict_groups"]
    assert (group["handles"], group["left_out"], group["owners"]) == ([], True, ["ann", "bob"])
    assert [one["unit_id"] for one in whole["manifest"]["omissions"]["items"]] == ["blue/A@1#0", "blue/C@1#0"]


def test_a_duplicate_is_named_with_what_says_the_same_and_by_which_rule() -> None:
    """R17."""
    twice = passages(facts_of("A"), "The same. ", "The  same.")

    whole = wire(answer(twice))
    assert [item["span"] for item in whole["packet"]["evidence"]] == [[0, 10]]
    assert whole["manifest"]["omissions"]["items"] == [
        {
            "reason": "omitted-duplicate",
            "unit_id": "blue/A@1#1",
            "duplicate_of": "blue/A@1#0",
            "rule": "same-revision-normalized-text/1",
        }
    ]
    assert whole["packet"]["cut"] is False


def test_a_document_that_was_taken_whole_is_named_with_its_reason() -> None:
    """R36."""
    manual = passages(facts_of("MANUAL", claims=[("max", "25", "25")]), "Seals. ", "At most 25.")
    asked = request(strategy=Strategy.AUTO, requirements=[requires("limit", claim("max"))])

    whole = wire(answer(PLAIN, asked, others=manual))
    assert whole["manifest"]["strategy"]["widened"] == [
        {"namespace": "blue", "source_id": "MANUAL", "revision": "1", "because": "missing-role", "role": "limit"}
    ]
    assert (whole["state"], whole["packet"]["strategy"]) == ("supported", "auto")


def test_a_turn_that_cites_what_may_not_be_used_is_left_out_and_reported() -> None:
    """R24."""
    gone, held = "EV-0123456789ABCDEF", citation_handle(PLAIN[0].unit)
    turns = number_turns([("assistant", f"see {gone}"), ("assistant", f"see {held}"), ("user", "and now?")])
    asked = request(adapter=Adapter.OPENAI, conversation=turns)

    assert asked.handles() == {gone, held}
    whole = wire(
        assemble(
            asked,
            snapshot=holding(PLAIN),
            retrieval=retrieval(PLAIN),
            means=means(),
            units_of=units_of(PLAIN),
            unusable_handles=frozenset({gone}),
        )
    )
    assert gone not in whole["rendered"]["body"]
    assert held in whole["rendered"]["body"]
    (notice,) = [slot["notice"] for slot in whole["rendered"]["slots"] if slot["slot"] == "conversation"]
    assert notice == "1 of 3 turns are left out: they cite evidence that may not be used now"


def test_an_adapter_with_a_prompt_lists_every_slot_in_order() -> None:
    """R24: the conversation and the tools only where there are any."""
    whole = wire(answer(PLAIN, request(adapter=Adapter.ANTHROPIC)))

    assert [(slot["slot"], slot["trust"]) for slot in whole["rendered"]["slots"]] == [
        ("system-policy", "trusted"),
        ("task", "trusted"),
        ("retrieved-evidence", "untrusted"),
        ("caller-turn", "trusted-as-intent"),
    ]
    assert whole["manifest"]["prompt"]["composer"] == "prompt/1"
