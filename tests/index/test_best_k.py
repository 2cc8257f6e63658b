"""Tests of index/best_k.py: a total order, whatever order rows come in (R11)."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from index.best_k import offer, put_in_order, room_for

scored = st.lists(st.integers(-3, 3), min_size=1, max_size=60)


@settings(deadline=None)  # the first call compiles
@given(scored, st.integers(1, 70), st.integers(0, 2**32))
def test_the_best_k_are_the_head_of_the_whole_order(scores: list[int], k: int, seed: int) -> None:
    ranks = np.random.default_rng(seed).permutation(len(scores)).astype(np.int32)
    best = room_for(k)
    held = 0

    for row, score in enumerate(scores):
        held = offer(best, held, score, row, ranks[row])
    put_in_order(best, held)
    by_hand = sorted(range(len(scores)), key=lambda row: (-scores[row], ranks[row]))[:k]
    assert best.rows[:held].tolist() == by_hand
    assert best.scores[:held].tolist() == [scores[row] for row in by_hand]
    assert best.ranks[:held].tolist() == ranks[by_hand].tolist()


def test_of_equal_scores_a_later_row_with_a_smaller_rank_takes_the_place_of_the_last() -> None:
    best = room_for(2)

    held = offer(best, 0, 7, 0, 5)
    held = offer(best, held, 7, 1, 3)
    assert offer(best, held, 7, 2, 4) == 2
    assert offer(best, held, 7, 3, 9) == 2
    put_in_order(best, held)
    assert best.rows.tolist() == [1, 2]
