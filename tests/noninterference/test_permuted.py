"""Is a world the same one in whatever order, pieces and numbers it came in? (M5; R9, R11)

And would it be noticed if it were not?
"""

from collections.abc import Sequence

import pytest

from index.segments import Segments
from index.selection import Ranking
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.histories_suite import PERMUTED
from tests.noninterference.relations import Relation
from tests.noninterference.suite import IN_EVERY_RUN, SUITE

BY_HAND = 3


def test_a_world_answers_alike_in_whatever_way_it_came_in(bench: Bench) -> None:
    SUITE[Relation.M5](bench, IN_EVERY_RUN[Relation.M5])


def test_a_cut_in_each_generation_before_they_meet_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    best = Segments.best

    def half_of_each(self: Segments, rankings: Sequence[Ranking], k: int) -> Ranking:
        most = -(-k // len(rankings))
        return best(self, [Ranking(rows=one.rows[:most], scores=one.scores[:most]) for one in rankings], k)

    monkeypatch.setattr(Segments, "best", half_of_each)
    with pytest.raises(Difference):
        PERMUTED(bench, BY_HAND)


def test_ties_broken_by_where_a_row_lies_are_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Segments, "ranks", lambda _, rows: rows)

    with pytest.raises(Difference):
        PERMUTED(bench, BY_HAND)
