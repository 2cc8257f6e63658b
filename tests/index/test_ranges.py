"""Tests of index/ranges.py: sets of rows as merged ranges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.ranges import RowRanges

pairs = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))), max_size=12)


def in_any(pairs: list[tuple[int, int]]) -> list[int]:
    return sorted({row for start, end in pairs for row in range(start, end)})


@given(pairs)
def test_pairs_in_any_order_become_the_rows_they_cover_each_once(given_pairs: list[tuple[int, int]]) -> None:
    ranges = RowRanges.from_pairs(given_pairs)

    assert ranges.rows().tolist() == in_any(given_pairs)
    assert ranges.count == len(in_any(given_pairs))


@given(pairs)
def test_the_same_rows_are_equal_and_have_one_digest_however_they_were_given(
    given_pairs: list[tuple[int, int]],
) -> None:
    rows = np.array(in_any(given_pairs), dtype=np.int64)
    ranges = RowRanges.from_pairs(given_pairs)
    again = RowRanges.from_rows(rows)

    assert ranges == again
    assert hash(ranges) == hash(again)
    assert ranges.digest() == again.digest()


@given(pairs, st.lists(st.integers(0, 80), max_size=20))
def test_contains_agrees_with_the_rows(given_pairs: list[tuple[int, int]], asked: list[int]) -> None:
    ranges = RowRanges.from_pairs(given_pairs)

    assert ranges.contains(np.array(asked, dtype=np.int64)).tolist() == [row in in_any(given_pairs) for row in asked]


@given(pairs)
def test_rows_at_a_place_are_those_of_the_whole_list(given_pairs: list[tuple[int, int]]) -> None:
    ranges = RowRanges.from_pairs(given_pairs)
    places = np.arange(ranges.count, dtype=np.int64)[::-1]

    assert ranges.rows_at(places).tolist() == in_any(given_pairs)[::-1]


def test_other_rows_are_not_equal_and_have_another_digest() -> None:
    one, other = RowRanges.from_pairs([(0, 5)]), RowRanges.from_pairs([(0, 4)])

    assert one != other
    assert one.digest() != other.digest()


def test_ranges_that_touch_become_one_and_a_gap_of_one_row_keeps_two() -> None:
    assert RowRanges.from_pairs([(0, 3), (3, 5)]).starts.tolist() == [0]
    assert RowRanges.from_pairs([(0, 3), (4, 5)]).starts.tolist() == [0, 4]


@pytest.mark.parametrize("pair", [(-1, 3), (5, 4)])
def test_a_pair_that_is_no_range_is_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a range starts at 0 or later"):
        RowRanges.from_pairs([pair])


@pytest.mark.parametrize(
    ("starts", "ends"),
    [([3, 0], [5, 1]), ([0, 2], [2, 4]), ([0, 1], [3, 4]), ([0], [0]), ([-1], [2])],
    ids=["descending", "touching", "overlapping", "empty", "negative"],
)
def test_arrays_that_are_not_merged_ranges_are_refused(starts: list[int], ends: list[int]) -> None:
    with pytest.raises(ValueError, match="ascending, disjoint, merged"):
        RowRanges(starts=np.array(starts, dtype=np.int64), ends=np.array(ends, dtype=np.int64))


@pytest.mark.parametrize("rows", [[2, 2], [3, 1], [-1, 0]])
def test_rows_that_are_not_strictly_ascending_are_refused(rows: list[int]) -> None:
    with pytest.raises(ValueError, match="strictly ascending"):
        RowRanges.from_rows(np.array(rows, dtype=np.int64))


def test_the_edges_cannot_be_changed() -> None:
    ranges = RowRanges.from_pairs([(0, 5)])

    with pytest.raises(ValueError, match="read-only"):
        ranges.starts[0] = 2


@given(pairs, st.integers(1, 30))
def test_pieces_hold_the_same_rows_in_order_and_differ_by_one_row_at_most(
    given_pairs: list[tuple[int, int]], pieces: int
) -> None:
    ranges = RowRanges.from_pairs(given_pairs)

    found = ranges.cut(pieces)
    assert [row for piece in found for row in piece.rows().tolist()] == ranges.rows().tolist()
    assert len(found) == min(pieces, ranges.count)
    if found:
        assert max(piece.count for piece in found) - min(piece.count for piece in found) <= 1
