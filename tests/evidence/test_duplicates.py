"""Which units are left out because another one says the same (R17, R21)."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.duplicates import Duplicate, find_duplicates
from evidence.envelope import Candidate
from evidence.identity import UnitKey
from tests.builders import RED, candidate, revision
from tests.evidence.disputes import facts_of, passages

FACTS = facts_of("A")


def left_out(
    *selection: Candidate, roles: Sequence[Collection[str]] | None = None, in_conflict: Collection[UnitKey] = ()
) -> list[tuple[int, int]]:
    """Each duplicate as (left out, kept)."""
    found = find_duplicates(selection, roles=roles or [()] * len(selection), in_conflict=in_conflict)
    return [(duplicate.position, duplicate.kept) for duplicate in found]


def test_equal_units_of_one_revision_are_duplicates_of_the_first() -> None:
    assert left_out(*passages(FACTS, "Wear gloves.", "Else.", "Wear gloves.", "Wear gloves.")) == [(2, 0), (3, 0)]


@pytest.mark.parametrize("other", ["Wear  gloves.\n", "\tWear\u00a0gloves. "])
def test_white_space_makes_no_difference(other: str) -> None:
    assert left_out(*passages(FACTS, "Wear gloves.", other)) == [(1, 0)]


def test_equal_text_after_nfc_is_equal() -> None:
    assert left_out(*passages(FACTS, "caf\u00e9", "cafe\u0301")) == [(1, 0)]


@pytest.mark.parametrize("other", ["Wear gloves", "wear gloves.", "Wear no gloves.", "Wear gloves. Always."])
def test_any_other_difference_keeps_both(other: str) -> None:
    assert left_out(*passages(FACTS, "Wear gloves.", other)) == []


def test_equal_text_of_another_source_revision_or_namespace_keeps_its_identity() -> None:
    """R17."""
    same = "Wear gloves."
    others = [revision("A"), revision("B"), revision("A", "2"), revision("A", namespace=RED)]

    assert left_out(*(candidate(facts, same) for facts in others)) == []


def test_equal_text_under_another_heading_says_something_else() -> None:
    first, second = passages(FACTS, "Fee: 25.", "Fee: 25.")
    under = [
        replace(found, unit=replace(found.unit, heading=(country,)))
        for found, country in ((first, "DE"), (second, "FR"))
    ]

    assert left_out(*under) == []


def test_of_equal_units_the_one_that_fills_more_roles_stays() -> None:
    pair = passages(FACTS, "Wear gloves.", "Wear gloves.")

    assert left_out(*pair, roles=[(), ("safety",)]) == [(0, 1)]


def test_a_unit_that_fills_a_role_of_its_own_is_never_left_out() -> None:
    pair = passages(FACTS, "Wear gloves.", "Wear gloves.")

    assert left_out(*pair, roles=[("this one",), ("that one",)]) == []
    assert left_out(*pair, roles=[("safety",), ("safety",)]) == [(1, 0)]


def test_a_unit_in_a_conflict_is_never_left_out() -> None:
    """R19: a group is packed all or none, and a duplicate is dropped whole."""
    pair = passages(FACTS, "Wear gloves.", "Wear gloves.")

    assert left_out(*pair, in_conflict=[pair[1].unit.key]) == [(0, 1)]
    assert left_out(*pair, in_conflict=[found.unit.key for found in pair]) == []
    assert left_out(*pair, in_conflict=[pair[1].unit.key], roles=[("safety",), ()]) == []


units = st.tuples(st.sampled_from(["a", "b"]), st.frozensets(st.sampled_from("xyz")), st.booleans())


@given(of=st.lists(units, max_size=8))
def test_leaving_duplicates_out_loses_no_text_no_role_and_no_conflict(
    of: list[tuple[str, frozenset[str], bool]],
) -> None:
    selection = passages(FACTS, *(text for text, _, _ in of))
    in_conflict = {found.unit.key for found, (_, _, conflicting) in zip(selection, of, strict=True) if conflicting}

    found = find_duplicates(selection, roles=[roles for _, roles, _ in of], in_conflict=in_conflict)
    out = {duplicate.position for duplicate in found}
    staying = [position for position in range(len(of)) if position not in out]
    assert found == tuple(sorted(found, key=lambda duplicate: duplicate.position))
    assert all(duplicate.kept in staying for duplicate in found)
    for position, (text, roles, conflicting) in enumerate(of):
        says_as_much = [p for p in staying if of[p][0] == text and roles <= of[p][1]]
        assert says_as_much
        assert position in staying or not conflicting
    for position in staying:  # and nothing stays that could go
        text, roles, conflicting = of[position]
        others = [p for p in staying if p != position and of[p][0] == text]
        assert conflicting or not any(roles <= of[p][1] for p in others)


def test_duplicates_are_positions() -> None:
    assert find_duplicates(passages(FACTS, "a", "a"), roles=[(), ()], in_conflict=[]) == (
        Duplicate(position=1, kept=0),
    )
