"""Tests of index/dense.py in company: a query's rows and scores are its own, whoever is asked about with it, and over
which catalog (R6, R10)."""

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from index.dense import DenseIndex
from index.product import Product
from index.ranges import RowRanges
from index.selection import Ranking
from tests.index.dense_corpus import CPU, PRODUCTS, Codes, brute_force, corpus, everything, lists, subset

Ints = npt.NDArray[np.int64]

SIZES = (1, 2, 3, 7, 8, 16, 31, 32, 64)
ROWS, DIMENSION, K = 2_500, 96, 20
SCOPES = (everything(ROWS), subset(ROWS, 40, seed=51), subset(ROWS, 3, seed=52), RowRanges.from_pairs([(9, 10)]))


class Company:
    """Many queries over one catalog, each with its rankings alone in every scope."""

    def __init__(self, product: Product, queries: int) -> None:
        self.codes, self.order = corpus(ROWS, DIMENSION, seed=53, largest=6)
        drawn = np.random.default_rng(54)
        self.queries = drawn.integers(-127, 128, (queries, DIMENSION), dtype=np.int8)
        self.queries[::3] = self.codes[drawn.integers(0, ROWS, len(self.queries[::3]))]  # some are a row's own code
        self.index = DenseIndex(self.codes, self.order, CPU, product)
        self.product = product
        self.alone = {scope: list(self._one_by_one(scope)) for scope in SCOPES}

    def _one_by_one(self, scope: RowRanges) -> Iterator[Ranking]:
        for query in self.queries:
            yield from self.index.topk(query[None], ranges=scope, k=K)

    def differing_in_batches(self, size: int) -> int:
        """Rankings that differ from those alone, when all queries are asked in random company."""
        found = 0
        for number, scope in enumerate(SCOPES):
            places = np.random.default_rng([size, number]).permutation(len(self.queries))
            for batch in batches(places, size):
                rankings = self.index.topk(self.queries[batch], ranges=scope, k=K)
                found += sum(
                    not same(ranking, self.alone[scope][place])
                    for place, ranking in zip(batch.tolist(), rankings, strict=True)
                )
        return found

    def differing_without_the_rest(self, size: int) -> int:
        """Rankings that differ where the catalog holds nothing but the scope's rows."""
        found = 0
        for scope in SCOPES:
            rows = scope.rows()
            order = np.argsort(np.argsort(self.order[rows])).astype(np.int32)
            visible = DenseIndex(self.codes[rows], order, CPU, self.product)
            for batch in batches(np.arange(len(self.queries)), size):
                rankings = visible.topk(self.queries[batch], ranges=everything(len(rows)), k=K)
                found += sum(
                    not same(Ranking(rows=rows[ranking.rows], scores=ranking.scores), self.alone[scope][place])
                    for place, ranking in zip(batch.tolist(), rankings, strict=True)
                )
        return found


def batches(places: Ints, size: int) -> list[Ints]:
    return [places[first : first + size] for first in range(0, len(places), size)]


def same(one: Ranking, other: Ranking) -> bool:
    return bool(np.array_equal(one.rows, other.rows) and np.array_equal(one.scores, other.scores))


def require_no_difference(company: Company) -> None:
    """In any company, and over the visible rows alone."""
    assert {size: company.differing_in_batches(size) for size in SIZES} == dict.fromkeys(SIZES, 0)
    assert {size: company.differing_without_the_rest(size) for size in (1, 31)} == {1: 0, 31: 0}


@pytest.mark.parametrize("product", PRODUCTS)
def test_no_ranking_changes_in_any_company_or_without_what_is_invisible(product: Product) -> None:
    company = Company(product, queries=70)

    require_no_difference(company)
    for place, scope in itertools.product(range(0, 70, 23), SCOPES):
        expected = brute_force(company.codes, company.order, company.queries[place], scope, K)
        assert lists(company.alone[scope][place]) == expected


@pytest.mark.soak
@pytest.mark.parametrize("product", PRODUCTS)
def test_no_ranking_of_10_000_queries_changes_in_any_company_or_without_what_is_invisible(product: Product) -> None:
    require_no_difference(Company(product, queries=10_000))


def test_a_product_whose_sums_depend_on_the_batch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What float32 does: the comparison above is not blind."""
    company = Company(Product.FAISS, queries=20)
    topk = DenseIndex.topk

    def rounded(self: DenseIndex, queries: Codes, *, ranges: RowRanges, k: int) -> list[Ranking]:
        found = topk(self, queries, ranges=ranges, k=k)
        return [one._replace(scores=one.scores + (len(queries) > 16)) for one in found]

    monkeypatch.setattr(DenseIndex, "topk", rounded)
    assert company.differing_in_batches(16) == 0
    assert company.differing_in_batches(31) > 0
