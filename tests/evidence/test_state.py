"""The state of a packet and what the class does in it (R28)."""

import itertools
from collections.abc import Sequence

import pytest

from evidence.state import RoleState, State, judge_state

FILLED, STALE, ABSENT = RoleState.FILLED, RoleState.STALE, RoleState.ABSENT
NOT_SELECTED, CONFLICTING = RoleState.NOT_SELECTED, RoleState.CONFLICTING


def state_of(
    roles: Sequence[RoleState], *, conflicting: bool = False, exhaustive_asked: bool = False, exhaustive: bool = False
) -> State:
    """The state of a packet with evidence in it."""
    return judge_state(
        roles,
        includes_evidence=True,
        conflicting=conflicting,
        exhaustive_asked=exhaustive_asked,
        exhaustive=exhaustive,
    )


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
    assert state_of(roles) is state


def test_without_a_mandatory_role_it_is_unassessed_if_anything_is_included_and_else_absent() -> None:
    assert state_of([]) is State.UNASSESSED
    empty = judge_state([], includes_evidence=False, conflicting=False, exhaustive_asked=False, exhaustive=True)
    assert empty is State.ABSENT


def test_the_order_of_the_roles_does_not_matter() -> None:
    for roles in itertools.product(RoleState, repeat=3):
        states = {state_of(order) for order in itertools.permutations(roles)}

        assert len(states) == 1


@pytest.mark.parametrize("roles", [[], [FILLED], [STALE], [ABSENT], [NOT_SELECTED, STALE]])
def test_an_open_conflict_makes_the_state_conflicting_whatever_the_roles_say(roles: list[RoleState]) -> None:
    """R18, R19, R28: also where no role is touched, and where the group was left out whole."""
    assert state_of(roles, conflicting=True) is State.CONFLICTING
    nothing = judge_state(roles, includes_evidence=False, conflicting=True, exhaustive_asked=False, exhaustive=False)
    assert nothing is State.CONFLICTING


def test_a_question_about_all_is_never_supported_by_less_than_all() -> None:
    """R36."""
    assert state_of([FILLED], exhaustive_asked=True, exhaustive=False) is State.PARTIAL
    assert state_of([FILLED], exhaustive_asked=True, exhaustive=True) is State.SUPPORTED
    assert state_of([FILLED], exhaustive_asked=False, exhaustive=False) is State.SUPPORTED


def test_asking_for_all_changes_no_other_state() -> None:
    for roles in ([], [ABSENT], [STALE], [CONFLICTING], [FILLED, ABSENT]):
        assert state_of(roles, exhaustive_asked=True, exhaustive=False) is state_of(roles)
