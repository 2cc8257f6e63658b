"""What a kind of question gets (R24, R28)."""

import pytest

from evidence.slots import Slot
from evidence.state import Behaviour, Disposition, State
from tests.builders import EXPLANATORY, shipped_query_class


def test_the_default_class_has_the_budgets_of_the_six_slots() -> None:
    """R24."""
    assert EXPLANATORY.k == 8
    assert EXPLANATORY.conversation_turns == 6
    assert [EXPLANATORY.budgets[slot] for slot in Slot] == [700, 400, 800, 6000, 1200, 300]
    assert EXPLANATORY.evidence_tokens == 6000


@pytest.mark.parametrize(
    ("state", "behaviour"),
    [
        (State.SUPPORTED, Behaviour.ANSWER),
        (State.PARTIAL, Behaviour.PARTIAL),
        (State.ABSENT, Behaviour.ABSTAIN),
        (State.STALE, Behaviour.ABSTAIN),
        (State.CONFLICTING, Behaviour.ESCALATE),
        (State.UNASSESSED, Behaviour.ANSWER),
    ],
)
def test_the_class_decides_the_behaviour_from_the_state(state: State, behaviour: Behaviour) -> None:
    assert EXPLANATORY.behaviour(state, Disposition.ACCEPTED) is behaviour


@pytest.mark.parametrize("disposition", [found for found in Disposition if found is not Disposition.ACCEPTED])
@pytest.mark.parametrize("state", list(State))
def test_without_an_accepted_packet_every_state_fails_closed(state: State, disposition: Disposition) -> None:
    assert EXPLANATORY.behaviour(state, disposition) is Behaviour.FAIL_CLOSED


def test_another_class_may_fail_closed_where_the_default_one_abstains() -> None:
    """What absence means is the class's own."""
    decision = shipped_query_class("decision")

    assert decision.behaviour(State.ABSENT, Disposition.ACCEPTED) is Behaviour.FAIL_CLOSED


def test_the_record_says_what_the_class_does_in_every_state() -> None:
    behaviours = EXPLANATORY.record()["behaviours"]

    assert isinstance(behaviours, dict)
    assert set(behaviours) == {state.value for state in State}


def test_the_record_holds_the_texts_so_that_a_manifest_tells_what_was_instructed() -> None:
    """R30."""
    record = EXPLANATORY.record()

    assert record["task"] == EXPLANATORY.task
    assert record["policy"] == {"name": "evidence-only", "version": "1", "text": EXPLANATORY.policy.text}
    assert record["output_schema"] == EXPLANATORY.output_schema
