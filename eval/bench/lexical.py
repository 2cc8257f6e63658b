"""How fast is BM25, against rank-bm25 with equal scores?"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval.bench.errors import AnswersDiffer
from eval.bench.rounds import Comparison, Effort, in_turn
from index import lexical
from index.bm25 import SCORE_BITS, formula
from index.postings import build_postings
from index.ranges import RowRanges
from index.selection import Ranking
from index.statistics import gather
from server.reference_bm25 import ReferenceBm25

Floats = npt.NDArray[np.float64]

K = 100
WORK = "BM25, top 100 of all units"
_SEED = 11
_TOLERANCE = 1e-9  # 2^-32 for each of six terms, and float64 in another order


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    units: int
    terms: int  # of a unit, on average
    vocabulary: int
    queries: int
    query_terms: int


_SIZES = {
    Effort.FULL: _Sizes(units=20_000, terms=80, vocabulary=50_000, queries=20, query_terms=6),
    Effort.QUICK: _Sizes(units=400, terms=40, vocabulary=2_000, queries=4, query_terms=6),
}


def run(effort: Effort) -> list[Comparison]:
    """One comparison, on the CPU: terms drawn by Zipf's law, statistics counted beforehand by
    both sides. Raises AnswersDiffer."""
    sizes = _SIZES[effort]
    texts, queries = _drawn(sizes)
    chosen = formula("lucene")
    postings, lengths = build_postings(texts)
    ranges = RowRanges.from_pairs([(0, sizes.units)])
    order = np.arange(sizes.units, dtype=np.int32)
    statistics = gather(postings, lengths, ranges=ranges, formula=chosen)
    reference = ReferenceBm25(texts, chosen)

    def ours() -> list[Ranking]:
        return [
            lexical.topk(postings, lengths, statistics, query, ranges=ranges, order=order, k=K) for query in queries
        ]

    def theirs() -> list[Floats]:
        return [_best(reference.scores(query)) for query in queries]

    for found, best in zip(ours(), theirs(), strict=True):
        _require_equal(found, best)
    timed = in_turn(ours, theirs)
    return [
        Comparison(
            work=WORK,
            us="muniment (numba)",
            peer="rank-bm25 and argpartition",
            equal=f"the {K} best scores of every query, within {_TOLERANCE}",
            amount=sizes.queries,
            unit="queries",
            sizes={"units": sizes.units, "postings": len(postings.posting_rows), "query_terms": sizes.query_terms},
            ours=timed[0],
            theirs=timed[1],
        )
    ]


def _drawn(sizes: _Sizes) -> tuple[list[list[str]], list[list[str]]]:
    """The terms of texts and of queries; a query's are neither among the ten commonest nor among the rare ones."""
    rng = np.random.default_rng(_SEED)
    odds = 1 / np.arange(1, sizes.vocabulary + 1)
    lengths = rng.poisson(sizes.terms, sizes.units)
    drawn = rng.choice(sizes.vocabulary, size=int(lengths.sum()), p=odds / odds.sum())
    words = [f"w{number}" for number in range(sizes.vocabulary)]
    texts = [[words[at] for at in part] for part in np.split(drawn, np.cumsum(lengths)[:-1])]
    asked = rng.integers(10, sizes.vocabulary // 10, (sizes.queries, sizes.query_terms))
    return texts, [[words[at] for at in query] for query in asked]


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
