"""Tests of index/sharing.py: each row once, beside exactly those who see it (R2)."""

from hypothesis import given
from hypothesis import strategies as st

from index.ranges import RowRanges
from index.sharing import shared_rows

EDGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), max_size=6)
SCOPES = st.lists(EDGES.map(lambda pairs: RowRanges.from_pairs((start, end) for start, end in pairs)), max_size=7)


@given(SCOPES)
def test_a_row_is_in_one_part_beside_exactly_the_scopes_that_hold_it(scopes: list[RowRanges]) -> None:
    expected = {
        row: [place for place, scope in enumerate(scopes) if row in scope.rows()]
        for scope in scopes
        for row in scope.rows().tolist()
    }

    parts = shared_rows(scopes)

    found = [(row, part.members.tolist()) for part in parts for row in part.ranges.rows().tolist()]
    assert len(found) == len(expected)
    assert dict(found) == expected


def test_scopes_that_hold_the_same_rows_make_one_part() -> None:
    scope = RowRanges.from_pairs([(1, 3), (5, 9)])

    [part] = shared_rows([scope, scope, RowRanges.from_pairs([(5, 9), (1, 3)])])
    assert part.members.tolist() == [0, 1, 2]
    assert part.ranges == scope


def test_scopes_apart_from_each_other_are_parts_as_they_are_beside_all_who_hold_them() -> None:
    """Between the ranges of one lie those of another."""
    one, other = RowRanges.from_pairs([(0, 3), (7, 9)]), RowRanges.from_pairs([(3, 7), (12, 15)])

    parts = shared_rows([other, one, other])
    assert [(part.members.tolist(), part.ranges is scope) for part, scope in zip(parts, [other, one], strict=True)] == [
        ([0, 2], True),
        ([1], True),
    ]


def test_no_scope_and_empty_ones_have_no_part() -> None:
    nothing = RowRanges.from_pairs([])

    assert shared_rows([]) == []
    assert shared_rows([nothing, nothing]) == []
    assert [part.members.tolist() for part in shared_rows([nothing, RowRanges.from_pairs([(0, 1)]), nothing])] == [[1]]
