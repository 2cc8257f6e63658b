"""What a kind of question gets (R24, R28)."""

import pytest

from evidence.query_class import EXPLANATORY, find_query_class
from evidence.state import Behaviour, Disposition, State


def test_the_default_class_takes_eight_units_and_six_thousand_tokens_of_evidence() -> None:
    """R24."""
    assert EXPLANATORY.k == 8
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


def test_a_class_is_found_by_its_name_and_no_other() -> None:
    assert find_query_class("explanatory") is EXPLANATORY
    assert find_query_class("Explanatory") is None


def test_the_record_says_what_the_class_does_in_every_state() -> None:
    behaviours = EXPLANATORY.record()["behaviours"]

    assert isinstance(behaviours, dict)
    assert set(behaviours) == {state.value for state in State}
