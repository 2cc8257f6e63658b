"""Tests of index/selection.py: a total order, and cuts that do not depend on how rows arrive (R11)."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.selection import Shortlist, first_of

scored = st.lists(st.integers(-3, 3), min_size=1, max_size=40)


def ints(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def by_hand(scores: list[int], order: npt.NDArray[np.int32], k: int) -> list[int]:
    return sorted(range(len(scores)), key=lambda row: (-scores[row], order[row]))[:k]


def shuffle(seed: int, count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(count)


@given(scored, st.integers(0, 45), st.integers(0, 2**32))
def test_what_comes_first_is_the_head_of_the_whole_order_whatever_order_rows_come_in(
    scores: list[int], k: int, seed: int
) -> None:
    order = shuffle(seed, len(scores)).astype(np.int32)
    rows = shuffle(seed + 1, len(scores))

    found = first_of(rows, ints(scores)[rows], ranks=order[rows], k=k)

    assert found.rows.tolist() == by_hand(scores, order, k)
    assert found.scores.tolist() == [scores[row] for row in found.rows]


@given(st.lists(scored, min_size=1, max_size=4), st.integers(1, 12), st.integers(1, 9), st.integers(0, 2**32))
def test_a_shortlist_fed_in_pieces_holds_the_head_of_each_querys_order(
    per_query: list[list[int]], k: int, step: int, seed: int
) -> None:
    count = min(map(len, per_query))
    order = shuffle(seed, count).astype(np.int32)
    shortlist = Shortlist(queries=len(per_query), k=k, order=order)

    for first in range(0, count, step):
        rows = np.arange(first, min(first + step, count))
        for query, scores in enumerate(per_query):
            above = ints(scores)[rows] >= shortlist.floors[query]
            shortlist.add(np.full(above.sum(), query), rows[above], ints(scores)[rows][above])

    for scores, found in zip(per_query, shortlist.rankings(), strict=True):
        assert found.rows.tolist() == by_hand(scores[:count], order, k)
        assert found.scores.tolist() == [scores[row] for row in found.rows]


@pytest.mark.parametrize("score", [-(2**31 - 1), -1, 0, 1, 2**31 - 1])
def test_a_shortlist_gives_back_extreme_scores_and_orders_unchanged(score: int) -> None:
    order = np.array([2**31 - 1, 0], dtype=np.int32)
    shortlist = Shortlist(queries=1, k=2, order=order)

    shortlist.add(ints([0, 0]), ints([0, 1]), ints([score, score]))

    [found] = shortlist.rankings()
    assert found.rows.tolist() == [1, 0]
    assert found.scores.tolist() == [score, score]


def test_a_query_that_was_offered_nothing_has_an_empty_ranking() -> None:
    shortlist = Shortlist(queries=2, k=3, order=np.zeros(1, dtype=np.int32))
    shortlist.add(ints([1]), ints([0]), ints([5]))

    nothing, one = shortlist.rankings()

    assert nothing.rows.tolist() == nothing.scores.tolist() == []
    assert one.rows.tolist() == [0]
