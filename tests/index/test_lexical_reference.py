"""Tests of index/lexical.py against rank-bm25 and published numbers (R9)."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

from index.ranges import RowRanges
from tests.index.lexical_corpus import POLICIES, VARIANTS, WINDY, corpus, mixed_corpus, scopes, whole

STEP = 2.0**-32


class Lucene(BM25Okapi):  # type: ignore[misc]  # rank_bm25 has no types
    """rank-bm25's terms, lengths and numerator with Lucene's idf."""

    def __init__(self, corpus: Sequence[Sequence[str]]) -> None:
        super().__init__(corpus, k1=1.2, b=0.75)

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {term: math.log(1 + (self.corpus_size - count + 0.5) / (count + 0.5)) for term, count in nd.items()}


REFERENCES = {"lucene": Lucene, "okapi": BM25Okapi, "plus": BM25Plus, "l": BM25L}


@pytest.mark.parametrize(
    ("texts", "query", "variant", "hits"),
    [
        (WINDY, "windy london", "okapi", {0: 0.0}),
        (WINDY, "windy london", "l", {0: 1.6541}),
        (WINDY, "windy london", "plus", {0: 4.213}),  # rank-bm25 gives the other unit 2.1972: it is no hit
        (WINDY, "windy london", "lucene", {0: 1.2814}),
        (WINDY[:1], "windy london", "okapi", {0: -0.5493}),
        (WINDY[:1], "windy london", "l", {0: 0.7192}),
        (WINDY[:1], "windy london", "plus", {0: 2.7726}),
        (WINDY[:1], "windy london", "lucene", {0: 0.5754}),
        (POLICIES, "policy", "okapi", dict.fromkeys(range(3), -0.0258)),
        (POLICIES, "policy", "l", dict.fromkeys(range(3), 0.1669)),
        (POLICIES, "policy", "plus", dict.fromkeys(range(3), 0.5754)),
        (POLICIES, "policy", "lucene", dict.fromkeys(range(3), 0.1335)),
    ],
)
def test_scores_on_tiny_sets_are_the_published_ones_and_a_unit_without_a_match_is_no_hit(
    texts: list[str], query: str, variant: str, hits: dict[int, float]
) -> None:
    units, everything = whole(texts)

    found = units.score(query.split(), everything, variant)

    assert found.rows.tolist() == list(hits)
    assert [round(score * STEP, 4) for score in found.scores.tolist()] == list(hits.values())


BLUE = ["upload limit is 25 mb", "crews report each morning", "spare parts list blue", "holiday rota for june"]
RED_WITH = ["upload phoenix plan", "phoenix upload dates", "upload budget phoenix"]
RED_WITHOUT = ["phoenix plan one", "phoenix dates two", "budget phoenix three"]


@pytest.mark.parametrize("red", [[], RED_WITH, RED_WITHOUT], ids=["no Red", "Red holds upload", "Red does not"])
def test_a_blue_score_tells_nothing_of_reds_vocabulary(red: list[str]) -> None:
    """0.785 always; statistics over all rows would give 0.2791 with the first and 1.2687 with the second."""
    units = corpus([text.split() for text in [*red[:1], *BLUE, *red[1:]]])
    blue = RowRanges.from_pairs([(len(red[:1]), len(red[:1]) + 4)])

    found = units.score(["upload", "phoenix"], blue, "okapi")

    assert [round(score * STEP, 3) for score in found.scores.tolist()] == [0.785]
    assert found.rows.tolist() == [len(red[:1])]


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_in_200_scopes_equal_rank_bm25_over_the_usable_units_alone(variant: str) -> None:
    """Each of the terms is rounded once, by half a step at most; both sides' float64 noise is below 1e-12."""
    units, runs = mixed_corpus(seed=5)
    rng = np.random.default_rng(6)
    compared = 0
    for ranges in scopes(runs, count=200, seed=7):
        usable = [units.texts[row] for row in ranges.rows()]
        if not any(usable):
            continue  # rank-bm25 divides by zero there
        reference = REFERENCES[variant](usable)
        for _ in range(3):
            source = units.texts[rng.integers(len(units.texts))]
            query = [*rng.choice(source or ["w0"], size=rng.integers(1, 8)).tolist(), "unheard"]

            found = units.score(query, ranges, variant)

            expected = reference.get_scores(query)
            matching = [at for at, terms in enumerate(usable) if set(terms) & set(query)]
            assert found.rows.tolist() == ranges.rows()[matching].tolist()
            assert np.abs(found.scores * STEP - expected[matching]).max(initial=0) <= STEP * len(query)
            compared += len(matching)
    assert compared > 10_000
