"""Which k rows are best so far, while scores arrive one by one? (pure)

A heap with the worst of them on top, for compiled loops. The order is total (R11): the higher score, then the smaller
identity rank.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.compiled import compiled


class BestK(NamedTuple):
    """Room for k rows; the first `held` places are filled, which whoever fills it counts. (k,) each."""

    scores: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    ranks: npt.NDArray[np.int32]  # the identity rank of each row, none twice


def room_for(k: int) -> BestK:
    """Nothing yet."""
    return BestK(
        scores=np.empty(k, dtype=np.int64), rows=np.empty(k, dtype=np.int64), ranks=np.empty(k, dtype=np.int32)
    )


@compiled
def offer(best: BestK, held: int, score: int, row: int, rank: int) -> int:
    """Take the row in where it belongs to the best; returns how many are held then. There is room for at least one.

    Cost: nothing but a comparison where it does not belong to them, else the logarithm of k.
    """
    if held == best.scores.size:
        if not _is_worse(best.scores[0], best.ranks[0], score, rank):
            return held
        _sink(best, held, score, row, rank)
        return held
    place = held
    while place > 0:
        above = (place - 1) >> 1
        if not _is_worse(score, rank, best.scores[above], best.ranks[above]):
            break
        _move(best, above, place)
        place = above
    best.scores[place], best.rows[place], best.ranks[place] = score, row, rank
    return held + 1


@compiled
def put_in_order(best: BestK, held: int) -> None:
    """Best first. Nothing can be offered afterwards."""
    for last in range(held - 1, 0, -1):
        score, row, rank = best.scores[last], best.rows[last], best.ranks[last]
        _move(best, 0, last)
        _sink(best, last, score, row, rank)


@compiled
def _sink(best: BestK, held: int, score: int, row: int, rank: int) -> None:
    """In place of what was on top."""
    place = 0
    while True:
        below = 2 * place + 1
        if below >= held:
            break
        other = below + 1
        if other < held and _is_worse(best.scores[other], best.ranks[other], best.scores[below], best.ranks[below]):
            below = other
        if not _is_worse(best.scores[below], best.ranks[below], score, rank):
            break
        _move(best, below, place)
        place = below
    best.scores[place], best.rows[place], best.ranks[place] = score, row, rank


@compiled
def _move(best: BestK, source: int, target: int) -> None:
    best.scores[target], best.rows[target], best.ranks[target] = (
        best.scores[source],
        best.rows[source],
        best.ranks[source],
    )


@compiled
def _is_worse(score: int, rank: int, other_score: int, other_rank: int) -> bool:
    return score < other_score or (score == other_score and rank > other_rank)
