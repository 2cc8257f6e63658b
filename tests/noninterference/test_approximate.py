"""Can one tell what else a catalog holds where dense search is approximate? (M1, M2, M4; R6)

And would it be noticed? Every search is made approximate here, however few units there are.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from index.approximate import Approximation, Codes, Narrowing, Signs
from index.ranges import RowRanges
from server import pipeline
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.corner_histories import lived_by_hand
from tests.noninterference.histories_suite import BACKENDS, REBUILT
from tests.noninterference.relations import Relation
from tests.noninterference.suite import SUITE

Suite = Callable[[Bench, int], None]

WORLDS = 12
LIVED_BY_HAND = sum(1 for _ in lived_by_hand())
SERVED_BY_HAND = 3
SCORED = 2  # units of each search, and those that tie with the second

NARROW = Narrowing.narrow
Parts = Sequence[tuple[Signs, RowRanges]]


@pytest.fixture(name="left_out", autouse=True)
def fixture_left_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many usable rows each search left out."""
    left_out: list[int] = []

    def narrow(self: Narrowing, query: Codes, parts: Parts, *, k: int) -> list[RowRanges]:
        found = NARROW(self, query, parts, k=k)
        left_out.append(sum(ranges.count for _, ranges in parts) - sum(ranges.count for ranges in found))
        return found

    monkeypatch.setattr(pipeline, "approximation_of", lambda _: Approximation(above=1, oversampling=1))
    monkeypatch.setattr(Approximation, "wanted", lambda *_: SCORED)
    monkeypatch.setattr(Narrowing, "narrow", narrow)
    return left_out


@pytest.mark.parametrize(
    ("relation", "worlds"),
    [(SUITE[Relation.M1], WORLDS), (REBUILT, LIVED_BY_HAND), (BACKENDS, SERVED_BY_HAND)],
    ids=["nothing that is hidden changes one byte", "what lived answers as rebuilt", "backends answer alike"],
)
def test_approximate_answers_follow_from_what_is_visible_alone(
    relation: Suite, worlds: int, bench: Bench, left_out: list[int]
) -> None:
    relation(bench, worlds)

    assert sum(left_out) > worlds, "searches were approximate"


def _cut_among_all_rows(self: Narrowing, query: Codes, parts: Parts, *, k: int) -> list[RowRanges]:
    """As an index over everything does: the nearest of all rows, and of those the usable ones."""
    everything = [(signs, RowRanges.from_pairs([(0, signs.rows)])) for signs, _ in parts]
    nearest = NARROW(self, query, everything, k=k)
    return [
        RowRanges.from_rows(np.intersect1d(near.rows(), ranges.rows()))
        for near, (_, ranges) in zip(nearest, parts, strict=True)
    ]


def test_rows_that_others_may_use_and_that_move_the_cut_are_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Narrowing, "narrow", _cut_among_all_rows)

    with pytest.raises(Difference):
        REBUILT(bench, LIVED_BY_HAND)
