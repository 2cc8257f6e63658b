"""Which lexical scores does rank-bm25 give these texts? (pure)

Ours must agree with them (R9). The one place that touches rank-bm25, which has no type stubs. Useful for checking and
for comparing speed. Not useful for serving: it scores every text, for every query term, in a Python loop.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

from index.bm25 import Formula, Variant

Floats = npt.NDArray[np.float64]


class ReferenceBm25:
    """rank-bm25 over analyzed texts, and over nothing else."""

    def __init__(self, texts: Sequence[Sequence[str]], formula: Formula) -> None:
        """texts: the terms of each, in order, repeats included. Without a single term nothing is ever a hit."""
        self._size = len(texts)
        self._scorer = _scorer(texts, formula) if any(texts) else None

    def scores(self, query_terms: Sequence[str]) -> Floats:
        """(texts,) float64: the score of each text as rank-bm25 gives it, hit or not; 0 where no text has a term."""
        if self._scorer is None:
            return np.zeros(self._size)
        scores: Floats = self._scorer.get_scores(list(query_terms))
        return scores

    def hits(self, query_terms: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(texts,) bool: which texts hold a query term. The others are no hits, whatever `scores` says of them."""
        if self._scorer is None:
            return np.zeros(self._size, dtype=np.bool_)
        wanted = set(query_terms)
        return np.array([not wanted.isdisjoint(held) for held in self._scorer.doc_freqs], dtype=np.bool_)


class _Lucene(BM25Okapi):  # type: ignore[misc]  # rank_bm25 has no types
    """rank-bm25's Okapi with Lucene's idf, which is never negative: nothing else is changed."""

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        units = self.corpus_size
        self.idf = {term: math.log(1 + (units - count + 0.5) / (count + 0.5)) for term, count in nd.items()}


def _scorer(texts: Sequence[Sequence[str]], formula: Formula) -> BM25Okapi | BM25Plus | BM25L:
    k1, b = formula.k1, formula.b
    match formula.variant:
        case Variant.LUCENE:
            return _Lucene(texts, k1=k1, b=b)
        case Variant.OKAPI:
            return BM25Okapi(texts, k1=k1, b=b, epsilon=formula.epsilon)
        case Variant.PLUS:
            return BM25Plus(texts, k1=k1, b=b, delta=formula.delta)
        case Variant.L:
            return BM25L(texts, k1=k1, b=b, delta=formula.delta)
