"""The state of a packet and what the class does in it (R28)."""

import itertools

import pytest

from evidence.state import RoleState, State, judge_state

FILLED, STALE, ABSENT = RoleState.FILLED, RoleState.STALE, RoleState.ABSENT
NOT_SELECTED, CONFLICTING = RoleState.NOT_SELECTED, RoleState.CONFLICTING


@pytest.mark.parametrize(
    ("roles", "state"),
    [
        ([FILLED], State.SUPPORTED),
        ([FILLED, FILLED], State.SUPPORTED),
        ([FILLED, ABSENT], State.PARTIAL),
        ([FILLED, NOT_SELECTED], State.PARTIAL),
        ([ABSENT], State.ABSENT),
        ([NOT_SELECTED], State.ABSENT),
        ([ABSENT, NOT_SELECTED], State.ABSENT),
        ([STALE], State.STALE),
        ([FILLED, STALE], State.STALE),
        ([ABSENT, STALE], State.STALE),
        ([CONFLICTING, STALE, FILLED, ABSENT], State.CONFLICTING),
    ],
)
def test_the_state_follows_the_mandatory_roles_by_precedence(roles: list[RoleState], state: State) -> None:
    assert judge_state(roles, includes_evidence=True) is state


def test_without_a_mandatory_role_it_is_unassessed_if_anything_is_included_and_else_absent() -> None:
    assert judge_state([], includes_evidence=True) is State.UNASSESSED
    assert judge_state([], includes_evidence=False) is State.ABSENT


def test_the_order_of_the_roles_does_not_matter() -> None:
    for roles in itertools.product(RoleState, repeat=3):
        states = {judge_state(order, includes_evidence=True) for order in itertools.permutations(roles)}

        assert len(states) == 1
