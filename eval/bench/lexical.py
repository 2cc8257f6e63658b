"""How fast is BM25 over what is visible, against rank-bm25 and bm25s?"""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eval.bench.bm25s_beside import Bm25s, Task, beside
from eval.bench.errors import AnswersDiffer
from eval.bench.goals import GOALS, Goal
from eval.bench.rounds import ROUNDS, Comparison, Effort, in_turn
from index import lexical
from index.bm25 import SCORE_BITS, formula
from index.postings import Postings, build_postings
from index.ranges import RowRanges
from index.selection import Ranking
from index.statistics import ScopeStatistics, gather
from server.reference_bm25 import ReferenceBm25

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SmallInts = npt.NDArray[np.int32]

K = 100
WORK = "BM25, top 100 of all units"
VISIBLE_PERCENT = (100, 10, 1)
_RUNS = 16  # of rows, that the visible ones lie in
_SEED = 11
_TOLERANCE = 1e-9  # 2^-32 for each of six terms, and float64 in another order
_FLOAT32_TOLERANCE = 1e-5  # of a score: six terms, each rounded to float32
_ROUND_S = 0.02
_FORMULA = formula("lucene")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    units: int
    terms: int  # of a unit, on average
    vocabulary: int
    queries: int
    query_terms: int


_BESIDE_RANK_BM25 = {
    Effort.FULL: _Sizes(units=50_000, terms=80, vocabulary=50_000, queries=20, query_terms=6),
    Effort.QUICK: _Sizes(units=400, terms=40, vocabulary=2_000, queries=4, query_terms=6),
}
_BESIDE_BM25S = {
    Effort.FULL: (
        _Sizes(units=200_000, terms=80, vocabulary=50_000, queries=20, query_terms=6),
        _Sizes(units=1_000_000, terms=40, vocabulary=50_000, queries=20, query_terms=6),
    ),
    Effort.QUICK: (_Sizes(units=2_000, terms=20, vocabulary=1_000, queries=4, query_terms=6),),
}


def run(effort: Effort, *, bm25s: Path | None = None) -> list[Comparison]:
    """Comparisons on the CPU, one thread a side: terms drawn by Zipf's law, statistics counted beforehand by all.

    bm25s: an interpreter that has it; None leaves it out. Raises AnswersDiffer.
    """
    found = [_beside_rank_bm25(_BESIDE_RANK_BM25[effort])]
    for sizes in () if bm25s is None else _BESIDE_BM25S[effort]:
        found += _beside_bm25s(sizes, bm25s)
    return found


def _beside_rank_bm25(sizes: _Sizes) -> Comparison:
    corpus = _Corpus.drawn(sizes)
    scope = _Scope.of(corpus, 100)
    reference = ReferenceBm25([*corpus.texts()], _FORMULA)

    def theirs() -> list[Floats]:
        return [_best(reference.scores(query)) for query in corpus.asked]

    for found, best in zip(scope.topk(), theirs(), strict=True):
        _require_equal(found, best)
    ours, peer = in_turn(scope.topk, theirs)
    return Comparison(
        work=WORK,
        us="muniment (numba)",
        peer="rank-bm25 and argpartition",
        equal=f"the {K} best scores of every query, within {_TOLERANCE}",
        amount=sizes.queries,
        unit="queries",
        sizes=scope.sizes,
        ours=ours,
        theirs=peer,
        goal=GOALS["C4a"],
    )


def _beside_bm25s(sizes: _Sizes, python: Path | None) -> Iterator[Comparison]:
    """Everything visible, then less. bm25s has a mask for what is not visible; its statistics are of all units."""
    assert python is not None
    corpus = _Corpus.drawn(sizes)
    scopes = {percent: _Scope.of(corpus, percent) for percent in VISIBLE_PERCENT}
    whole = scopes[100]
    task = Task(
        terms=corpus.terms,
        lengths=corpus.lengths,
        vocabulary=sizes.vocabulary,
        queries=corpus.queries,
        visible={str(percent): scopes[percent].mask for percent in VISIBLE_PERCENT if percent < 100},
        formula=_FORMULA,
        k=K,
    )
    with tempfile.TemporaryDirectory() as folder, beside(task, python, Path(folder)) as peer:
        for percent, scope in scopes.items():
            mask = None if percent == 100 else str(percent)
            work = f"BM25 top {K} of {sizes.units:,}, {percent}% visible"
            peer.seconds(mask, 1)
            for query, rows, scores in zip(corpus.asked, *peer.answers(), strict=True):
                _require_alike(work, _seen(whole, query, scope), rows, scores)
            ours, theirs = _in_turn(scope, peer, mask)
            yield Comparison(
                work=work,
                us="muniment (numba)",
                peer="bm25s (numba)" if percent == 100 else "bm25s (numba) with weight_mask",
                equal=_SAME if percent == 100 else _SAME_BY_ALL,
                amount=sizes.queries,
                unit="queries",
                sizes=scope.sizes,
                ours=ours,
                theirs=theirs,
                goal=_goal(sizes.units, percent),
            )


_SAME = f"the rows and scores of every query, to {_FLOAT32_TOLERANCE} of a score"
_SAME_BY_ALL = (
    f"{_SAME}, both by the statistics of all units, which bm25s keeps; those that are timed on our side are exact for"
    " what is visible"
)


def _goal(units: int, percent: int) -> Goal | None:
    if percent < 100:
        return GOALS[f"C4c {percent}%"]
    return GOALS["C4b 1M" if units >= 1_000_000 else "C4b 200k"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Corpus:
    """Documents by the numbers of their terms, one after the other, and queries, (queries, terms)."""

    terms: SmallInts
    lengths: SmallInts
    words: Sequence[str]
    queries: SmallInts
    postings: Postings

    @classmethod
    def drawn(cls, sizes: _Sizes) -> "_Corpus":
        """A query's terms are neither among the ten commonest nor among the rare ones."""
        rng = np.random.default_rng(_SEED)
        odds = 1 / np.arange(1, sizes.vocabulary + 1)
        lengths = rng.poisson(sizes.terms, sizes.units).astype(np.int32)
        terms = rng.choice(sizes.vocabulary, size=int(lengths.sum()), p=odds / odds.sum()).astype(np.int32)
        words = [f"w{number}" for number in range(sizes.vocabulary)]
        queries = rng.integers(10, sizes.vocabulary // 10, (sizes.queries, sizes.query_terms), dtype=np.int32)
        postings, _ = build_postings(_texts(terms, lengths, words))
        return cls(terms=terms, lengths=lengths, words=words, queries=queries, postings=postings)

    def texts(self) -> Iterator[list[str]]:
        """The terms of each document."""
        return _texts(self.terms, self.lengths, self.words)

    @property
    def asked(self) -> list[list[str]]:
        """The queries, by their words."""
        return [[self.words[term] for term in query] for query in self.queries.tolist()]


def _texts(terms: SmallInts, lengths: SmallInts, words: Sequence[str]) -> Iterator[list[str]]:
    end = 0
    for length in lengths.tolist():
        end += length
        yield [words[term] for term in terms[end - length : end].tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """What one caller sees of a corpus."""

    corpus: _Corpus
    queries: list[list[str]]
    order: SmallInts
    ranges: RowRanges
    statistics: ScopeStatistics

    @classmethod
    def of(cls, corpus: _Corpus, percent: int) -> "_Scope":
        """That share of the rows, in runs spread evenly, as the labels of one caller would lie."""
        rows = len(corpus.lengths)
        runs = 1 if percent == 100 else _RUNS
        starts = [at * rows // runs for at in range(runs)]
        ranges = RowRanges.from_pairs((start, start + rows * percent // 100 // runs) for start in starts)
        return cls(
            corpus=corpus,
            queries=corpus.asked,
            order=np.arange(rows, dtype=np.int32),
            ranges=ranges,
            statistics=gather(corpus.postings, corpus.lengths, ranges=ranges, formula=_FORMULA),
        )

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """(rows,) bool: which are visible."""
        return self.ranges.contains(np.arange(len(self.corpus.lengths)))

    @property
    def sizes(self) -> dict[str, int]:
        return {
            "units": len(self.corpus.lengths),
            "visible": self.ranges.count,
            "runs": len(self.ranges.starts),
            "postings": len(self.corpus.postings.posting_rows),
            "query_terms": self.corpus.queries.shape[1],
        }

    def topk(self) -> list[Ranking]:
        """The first of every query."""
        corpus = self.corpus
        return [
            lexical.topk(
                corpus.postings, corpus.lengths, self.statistics, query, ranges=self.ranges, order=self.order, k=K
            )
            for query in self.queries
        ]


def _seen(whole: _Scope, query: Sequence[str], scope: _Scope) -> Ranking:
    """All hits of a query in the scope by the statistics of all rows, best first."""
    corpus = whole.corpus
    hits = lexical.score(corpus.postings, corpus.lengths, whole.statistics, query, ranges=whole.ranges)
    visible = scope.ranges.contains(hits.rows)
    rows, scores = hits.rows[visible], hits.scores[visible]
    best = np.lexsort((rows, -scores))
    return Ranking(rows=rows[best], scores=scores[best])


def _in_turn(scope: _Scope, peer: Bm25s, mask: str | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Seconds for all queries in each round; the peer holds its own watch."""

    def once() -> float:
        return in_turn(scope.topk, lambda: None, rounds=1)[0][0]

    once()
    calls = max(1, math.ceil(_ROUND_S / peer.seconds(mask, 1)))
    times = [(once(), peer.seconds(mask, calls)) for _ in range(ROUNDS)]
    return tuple(pair[0] for pair in times), tuple(pair[1] for pair in times)


def _best(scores: Floats) -> Floats:
    """The K best scores, as users of rank-bm25 take them."""
    rows = np.argpartition(scores, len(scores) - K)[-K:]
    best: Floats = scores[rows[np.argsort(-scores[rows])]]
    return best


def _require_equal(found: Ranking, best: Floats) -> None:
    """rank-bm25 scores a unit without a match with 0: there we have fewer hits."""
    padded = np.zeros(len(best))
    padded[: len(found.scores)] = found.scores * 2.0**-SCORE_BITS
    apart = float(np.abs(padded - best).max())
    if apart > _TOLERANCE:
        raise AnswersDiffer(WORK, f"scores are up to {apart:.3g} apart")


def _require_alike(work: str, hits: Ranking, rows: Ints, scores: Floats) -> None:
    """hits: all of ours, best first. Rows of equal scores may come in any order in float32, and where there are fewer
    hits than asked for, the peer fills up with rows of score 0."""
    matched = scores > 0
    rows, scores = rows[matched], scores[matched]
    if len(rows) != min(K, len(hits.rows)):
        raise AnswersDiffer(work, "other numbers of hits")
    ours = hits.scores * 2.0**-SCORE_BITS
    if not np.allclose(ours[: len(scores)], scores, rtol=_FLOAT32_TOLERANCE, atol=0):
        raise AnswersDiffer(work, "other scores")
    by_row = dict(zip(hits.rows.tolist(), ours.tolist(), strict=True))
    if not np.allclose([by_row.get(row, 0) for row in rows.tolist()], scores, rtol=_FLOAT32_TOLERANCE, atol=0):
        raise AnswersDiffer(work, "other rows")
