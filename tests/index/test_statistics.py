"""Tests of index/statistics.py: counts over the usable units alone (R9)."""

import math

import numpy as np
import pytest

from index.bm25 import formula
from index.postings import build_postings
from index.ranges import RowRanges
from index.statistics import ScopeStatistics, gather

TEXTS = [list("aab"), list("ac"), [], list("b"), list("abcd")]


def over(*pairs: tuple[int, int], variant: str = "lucene", lengths: list[int] | None = None) -> ScopeStatistics:
    postings, counted = build_postings(TEXTS)
    used = counted if lengths is None else np.array(lengths, dtype=np.int32)
    return gather(postings, used, ranges=RowRanges.from_pairs(pairs), formula=formula(variant))


def test_units_and_lengths_are_counted_over_the_ranges_and_empty_units_count() -> None:
    statistics = over((0, 3), (4, 5))

    assert (statistics.units, statistics.total_length, statistics.longest) == (4, 9, 4)
    assert statistics.average_length == 2.25


def test_lengths_outside_the_ranges_change_nothing() -> None:
    assert over((0, 2), lengths=[3, 2, 2**31 - 1, -5, 10**9]) == over((0, 2))


def test_the_mean_idf_of_okapi_is_over_the_terms_of_the_scope() -> None:
    """In rows 0 and 1: a twice, b and c once; d is not there."""
    statistics = over((0, 2), variant="okapi")

    once, twice = math.log(1.5) - math.log(1.5), math.log(0.5) - math.log(2.5)
    assert statistics.mean_idf == pytest.approx((2 * once + twice) / 3)


def test_a_negative_idf_of_okapi_becomes_a_quarter_of_the_mean() -> None:
    statistics = over((0, 2), variant="okapi")

    assert statistics.idf(2) == 0.25 * statistics.mean_idf
    assert statistics.idf(1) == 0.0


@pytest.mark.parametrize("variant", ["lucene", "okapi", "plus", "l"])
def test_an_empty_scope_has_statistics_of_nothing(variant: str) -> None:
    statistics = over(variant=variant)

    assert (statistics.units, statistics.total_length, statistics.longest, statistics.mean_idf) == (0, 0, 0, 0.0)


@pytest.mark.parametrize("variant", ["lucene", "okapi", "plus", "l"])
def test_units_and_lengths_of_scopes_that_share_no_row_add_up(variant: str) -> None:
    one, other, both = (
        over((0, 2), variant=variant),
        over((3, 5), variant=variant),
        over((0, 2), (3, 5), variant=variant),
    )

    assert both.units == one.units + other.units
    assert both.total_length == one.total_length + other.total_length
