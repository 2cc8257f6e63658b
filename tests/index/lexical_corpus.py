"""Corpora for tests of the lexical channel, with short ways to score them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from index import lexical
from index.bm25 import formula
from index.postings import Postings, build_postings
from index.ranges import RowRanges
from index.selection import Ranking
from index.statistics import ScopeStatistics, gather

VARIANTS = ("lucene", "okapi", "plus", "l")

WINDY = ["it is quite windy in london", "hello there good man"]
POLICIES = ["policy a", "policy b", "policy c"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Analyzed texts, one a row, with their postings."""

    texts: list[list[str]]
    postings: Postings
    lengths: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]

    def statistics(self, ranges: RowRanges, variant: str) -> ScopeStatistics:
        return gather(self.postings, self.lengths, ranges=ranges, formula=formula(variant))

    def score(self, query: Sequence[str], ranges: RowRanges, variant: str = "lucene") -> Ranking:
        statistics = self.statistics(ranges, variant)
        return lexical.score(self.postings, self.lengths, statistics, query, ranges=ranges)

    def topk(self, query: Sequence[str], ranges: RowRanges, k: int, variant: str = "lucene") -> Ranking:
        statistics = self.statistics(ranges, variant)
        return lexical.topk(self.postings, self.lengths, statistics, query, ranges=ranges, order=self.order, k=k)

    def score_rows(
        self, query: Sequence[str], ranges: RowRanges, rows: list[int], variant: str = "lucene"
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        statistics = self.statistics(ranges, variant)
        wanted = np.array(rows, dtype=np.int64)
        return lexical.score_rows(self.postings, self.lengths, statistics, query, ranges=ranges, rows=wanted)


def corpus(texts: Sequence[Sequence[str]]) -> Corpus:
    postings, lengths = build_postings(texts)
    return Corpus(
        texts=[list(terms) for terms in texts],
        postings=postings,
        lengths=lengths,
        order=np.arange(len(texts), dtype=np.int32),
    )


def whole(texts: Sequence[str]) -> tuple[Corpus, RowRanges]:
    """A corpus of texts split at spaces, and the ranges of all its rows."""
    return corpus([text.split() for text in texts]), RowRanges.from_pairs([(0, len(texts))])


def mixed_corpus(seed: int) -> tuple[Corpus, list[tuple[int, int]]]:
    """About 400 texts in three scripts, some empty, repeated or very long, and the runs of 1 to 6 they lie in."""
    rng = np.random.default_rng(seed)
    words = [*(f"w{at}" for at in range(300)), *(f"сло{at}" for at in range(60)), *(f"語{at}" for at in range(60))]
    odds = 1 / np.arange(1, len(words) + 1)
    texts: list[list[str]] = []
    runs: list[tuple[int, int]] = []
    while len(texts) < 400:
        start = len(texts)
        for _ in range(rng.integers(1, 7)):
            size = int(rng.choice([0, 1, 3, 12, 40, 90, 900], p=[0.04, 0.1, 0.16, 0.3, 0.25, 0.14, 0.01]))
            again = texts and rng.random() < 0.15
            picked = rng.choice(len(words), size=size, p=odds / odds.sum())
            texts.append(texts[rng.integers(len(texts))] if again else [words[at] for at in picked])
        runs.append((start, len(texts)))
    return corpus(texts), runs


def scopes(runs: list[tuple[int, int]], count: int, seed: int) -> list[RowRanges]:
    """Random subsets of labels (eight; a label is a stretch of runs), in half of them thinned by revision."""
    rng = np.random.default_rng(seed)
    label = np.sort(rng.integers(0, 8, len(runs)))
    found = []
    for at in range(count):
        visible = np.isin(label, rng.choice(8, size=rng.integers(1, 9), replace=False))
        usable = visible & (rng.random(len(runs)) < (1.0 if at % 2 else rng.uniform(0.05, 1)))
        found.append(RowRanges.from_pairs([run for run, use in zip(runs, usable, strict=True) if use]))
    return found


def assert_equal(one: Ranking, other: Ranking) -> None:
    assert one.rows.tolist() == other.rows.tolist()
    assert one.scores.tolist() == other.scores.tolist()
