"""Does a catalog that lived answer as one that was just made? (M2; R4, R6, R9, R29)

And would it be noticed if it did not?
"""

from dataclasses import replace
from typing import Any

import pytest

from index import catalog_write, snapshot
from index.channels import count
from index.compartments import Eligible, Visible, resolve
from index.ranges import RowRanges
from index.segments import Segments
from index.statistics import ScopeStatistics
from server.searchable import SearchableRows
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.corner_histories import lived_by_hand
from tests.noninterference.histories_suite import REBUILT
from tests.noninterference.relations import Relation
from tests.noninterference.suite import IN_EVERY_RUN, SUITE

BY_HAND = sum(1 for _ in lived_by_hand())


def test_what_lived_answers_as_what_is_built_from_what_is_left(bench: Bench) -> None:
    SUITE[Relation.M2](bench, IN_EVERY_RUN[Relation.M2])


def _kept_for_equal_ranges(self: SearchableRows, segments: Segments, ranges: RowRanges) -> ScopeStatistics:
    return self._statistics.get_or_make(("", ranges.digest()), lambda: count(segments, ranges, formula=self._formula))


def test_statistics_kept_of_rows_that_are_others_by_now_are_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SearchableRows, "statistics", _kept_for_equal_ranges)

    with pytest.raises(Difference):
        REBUILT(bench, BY_HAND)


def _whatever_has_rows(visible: Visible, eligibility: Any, *, holdings: Any, segments: Segments) -> Eligible:
    return resolve(visible, eligibility, holdings=replace(holdings, coded=frozenset(holdings.facts)), segments=segments)


def test_rows_that_were_published_for_others_and_count_again_are_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "resolve", _whatever_has_rows)

    with pytest.raises(Difference):
        REBUILT(bench, BY_HAND)


def test_a_revocation_that_is_forgotten_with_its_revision_is_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_write, "read_revoked", lambda _: {})

    with pytest.raises(Difference):
        REBUILT(bench, BY_HAND)
