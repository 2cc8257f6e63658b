"""Tests of index/dense.py and index/lexical.py over very many pairs of a query and a filter: no row that is not usable
ever comes back (R2, R7). Usable rows are held in masks made without the product's own ranges."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from index.bm25 import formula
from index.dense import DenseIndex
from index.lexical import topk_weighed, weigh
from index.product import Product
from index.ranges import RowRanges
from index.selection import Ranking
from index.statistics import Counted, gather
from tests.index.dense_corpus import CPU, PRODUCTS
from tests.index.dense_corpus import corpus as drawn_codes
from tests.index.lexical_corpus import corpus

Mask = npt.NDArray[np.bool_]

ROWS, DIMENSION, TOGETHER, FILTERS = 600, 32, 64, 4
KS = (1, 10, 100, ROWS, 2 * ROWS)
QUICK, MANY = TOGETHER * 8, 1_000_000  # pairs of a query and a filter


def masks(seed: int) -> Iterator[Mask]:
    """Of every size: none, all, one row, and stretches between random cuts."""
    rng = np.random.default_rng(seed)
    while True:
        kind = rng.integers(0, 10)
        mask = np.full(ROWS, kind == 0)
        if kind == 2:
            mask[rng.integers(0, ROWS)] = True
        elif kind > 2:
            cuts = np.sort(rng.integers(0, ROWS + 1, 2 * rng.integers(1, 12)))
            for first, last in zip(cuts[::2].tolist(), cuts[1::2].tolist(), strict=True):
                mask[first:last] = True
        yield mask


def ranges_of(mask: Mask) -> RowRanges:
    return RowRanges.from_rows(np.flatnonzero(mask))


def ineligible(found: Ranking, mask: Mask) -> int:
    return int((~mask[found.rows]).sum())


def found_by_dense(index: DenseIndex, pairs: int) -> Iterator[tuple[Ranking, Mask, int]]:
    """By turns queries with one of several filters each, and with one filter for all of them."""
    rng = np.random.default_rng(61)
    drawn = masks(62)
    for number in range(pairs // TOGETHER):
        queries = rng.integers(-127, 128, (TOGETHER, DIMENSION), dtype=np.int8)
        k = KS[number // 2 % len(KS)]
        if number % 2:
            mask = next(drawn)
            filters, found = [mask] * TOGETHER, index.topk(queries, ranges=ranges_of(mask), k=k)
        else:
            filters = [next(drawn) for _ in range(FILTERS)] * (TOGETHER // FILTERS)
            found = index.topk_each(queries, scopes=[ranges_of(mask) for mask in filters], k=k)
        yield from ((ranking, mask, k) for ranking, mask in zip(found, filters, strict=True))


def found_by_lexical(pairs: int) -> Iterator[tuple[Ranking, Mask, int]]:
    """Queries of one to four words, the commonest in half of the rows."""
    rng = np.random.default_rng(63)
    words = [f"w{at}" for at in range(40)]
    odds = 1 / np.arange(1, len(words) + 1)
    units = corpus([list(rng.choice(words, rng.integers(0, 12), p=odds / odds.sum())) for _ in range(ROWS)])
    drawn = masks(64)
    for number in range(pairs // TOGETHER):
        mask, k = next(drawn), KS[number % len(KS)]
        ranges = ranges_of(mask)
        part = Counted(units.postings, units.lengths, ranges)
        statistics = gather(units.postings, units.lengths, ranges=ranges, formula=formula("lucene"))
        for _ in range(TOGETHER):
            weights = weigh([part], statistics, list(rng.choice(words, rng.integers(1, 5))), ranges=ranges)
            yield topk_weighed(part, weights, order=units.order, k=k), mask, k


def require_only_usable_rows(asked: Iterator[tuple[Ranking, Mask, int]], pairs: int, *, fills: bool) -> None:
    """fills: whether there are always as many rows as are wanted and usable."""
    outside = short = seen = returned = 0
    for ranking, mask, k in asked:
        seen += 1
        returned += len(ranking.rows)
        outside += ineligible(ranking, mask)
        due = min(k, int(mask.sum()))
        short += len(np.unique(ranking.rows)) != len(ranking.rows) or (
            len(ranking.rows) != due if fills else len(ranking.rows) > due
        )
    assert (seen, outside, short) == (pairs, 0, 0)
    assert returned > pairs  # otherwise little was looked at


def dense_index(product: Product) -> DenseIndex:
    codes, order = drawn_codes(ROWS, DIMENSION, seed=65, largest=6)
    return DenseIndex(codes, order, CPU, product)


@pytest.mark.parametrize("product", PRODUCTS)
def test_no_dense_search_returns_a_row_that_is_not_usable(product: Product) -> None:
    require_only_usable_rows(found_by_dense(dense_index(product), QUICK), QUICK, fills=True)


def test_no_lexical_search_returns_a_row_that_is_not_usable() -> None:
    require_only_usable_rows(found_by_lexical(QUICK), QUICK, fills=False)


@pytest.mark.soak
@pytest.mark.parametrize("product", PRODUCTS)
def test_no_dense_search_of_a_million_returns_a_row_that_is_not_usable(product: Product) -> None:
    require_only_usable_rows(found_by_dense(dense_index(product), MANY), MANY, fills=True)


@pytest.mark.soak
def test_no_lexical_search_of_a_million_returns_a_row_that_is_not_usable() -> None:
    require_only_usable_rows(found_by_lexical(MANY), MANY, fills=False)


def test_one_row_beside_the_filter_is_seen() -> None:
    """The comparison above is not blind."""

    def moved() -> Iterator[tuple[Ranking, Mask, int]]:
        for number, (ranking, mask, k) in enumerate(found_by_dense(dense_index(Product.COMPILED), TOGETHER * 4)):
            rows = ranking.rows.copy()
            if number == 0 and not mask.all() and len(rows):
                rows[-1] = np.flatnonzero(~mask)[0]
            yield ranking._replace(rows=rows), mask, k

    with pytest.raises(AssertionError):
        require_only_usable_rows(moved(), TOGETHER * 4, fills=True)
