"""Which BM25 scores does plain Python give, one float operation after the other? (pure)

Written from the formulas alone, apart from `index/bm25.py`: what a compiler reorders, fuses or rounds otherwise on some
machine would differ here.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.bm25 import Formula, Variant

_UNIT = 2.0**32  # a score is an integer count of 2^-32 (R9)


class Scored(NamedTuple):
    """hits: (m,) int64, the places of the texts that hold a query term, ascending. sums: (m,) int64, their scores."""

    hits: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]


class PlainBm25:
    """BM25 over texts, given as their terms, and over nothing else."""

    def __init__(self, texts: Sequence[Sequence[str]], formula: Formula) -> None:
        self._formula = formula
        self._held = [Counter(text) for text in texts]
        self._lengths = [len(text) for text in texts]
        self._frequencies = Counter(term for held in self._held for term in held)
        self._mean_idf = self._mean() if formula.variant is Variant.OKAPI else 0.0

    def scores(self, query: Sequence[str]) -> Scored:
        """The hits of a query."""
        asked = {term: count for term, count in Counter(query).items() if self._frequencies[term]}
        hits = [place for place, held in enumerate(self._held) if any(term in held for term in asked)]
        sums = [sum(count * self._added(place, term) for term, count in asked.items()) for place in hits]
        return Scored(hits=np.array(hits, dtype=np.int64), sums=np.array(sums, dtype=np.int64))

    def _added(self, place: int, term: str) -> int:
        """What a term adds to a hit, rounded half to even."""
        formula, often = self._formula, self._held[place][term]
        k1, b, delta, idf = formula.k1, formula.b, formula.delta, self._idf(term)
        if not often:
            return round(idf * delta * _UNIT) if formula.variant is Variant.PLUS else 0
        average = sum(self._lengths) / len(self._lengths)
        ratio = (1 - b) + b * self._lengths[place] / average
        if formula.variant is Variant.L:
            lifted = often / ratio
            return round(idf * often * (k1 + 1) * (lifted + delta) / (k1 + lifted + delta) * _UNIT)
        return round(idf * (delta + often * (k1 + 1) / (k1 * ratio + often)) * _UNIT)

    def _idf(self, term: str) -> float:
        idf = self._rarity(self._frequencies[term])
        return self._formula.epsilon * self._mean_idf if self._formula.variant is Variant.OKAPI and idf < 0 else idf

    def _rarity(self, frequency: int) -> float:
        units = len(self._held)
        match self._formula.variant:
            case Variant.LUCENE:
                return math.log(1 + (units - frequency + 0.5) / (frequency + 0.5))
            case Variant.OKAPI:
                return math.log(units - frequency + 0.5) - math.log(frequency + 0.5)
            case Variant.PLUS:
                return math.log((units + 1) / frequency)
            case Variant.L:
                return math.log(units + 1) - math.log(frequency + 0.5)

    def _mean(self) -> float:
        """Over the terms that occur; those of one frequency are added at once."""
        by_frequency = Counter(self._frequencies.values())
        if not by_frequency:
            return 0.0
        return math.fsum(count * self._rarity(each) for each, count in by_frequency.items()) / len(self._frequencies)
