"""What does BM25 need to know about the usable units? (pure)

N, lengths and document frequencies over the usable rows and over nothing else (R9): a caller's scores tell nothing
about what the caller may not see. Sums of integers: scopes that share no row add up.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from index.bm25 import Formula, Variant, floored, rarity
from index.compiled import compiled, read_only
from index.postings import Postings
from index.ranges import Edges, RowRanges


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeStatistics:
    """The statistics of one set of row ranges of one generation under one formula; may be cached under these three.

    ranges: the rows counted.
    units: N, the usable units, those without terms included.
    total_length: terms in them, repeats counted. longest: terms in the longest.
    mean_idf: over the terms that occur in the scope; 0.0 where the formula does not ask for it.
    """

    ranges: RowRanges
    formula: Formula
    units: int
    total_length: int
    longest: int
    mean_idf: float

    @property
    def average_length(self) -> float:
        """Terms per unit. Raises ZeroDivisionError for an empty scope, which has no lengths to compare."""
        return self.total_length / self.units

    def idf(self, frequency: int) -> float:
        """The weight of a term that `frequency` >= 1 units of the scope hold."""
        idf = rarity(self.formula, units=self.units, frequency=frequency)
        return floored(self.formula, idf, mean_idf=self.mean_idf)


def gather(
    postings: Postings, lengths: npt.NDArray[np.int32], *, ranges: RowRanges, formula: Formula
) -> ScopeStatistics:
    """Count over `ranges` alone. `lengths`: (rows,) int32, terms per row of the generation.

    Cost: the visible rows; for `okapi` also a search per term of the generation's vocabulary.
    Raises ValueError for ranges that end beyond the generation.
    """
    if ranges.count and ranges.ends[-1] > len(lengths):
        raise ValueError(f"the ranges end at row {ranges.ends[-1]}, the generation at {len(lengths)}")
    total, longest = _add_lengths(read_only(lengths), ranges.edges)
    return ScopeStatistics(
        ranges=ranges,
        formula=formula,
        units=ranges.count,
        total_length=total,
        longest=longest,
        mean_idf=_mean_idf(postings, ranges, formula) if formula.variant is Variant.OKAPI else 0.0,
    )


def _mean_idf(postings: Postings, ranges: RowRanges, formula: Formula) -> float:
    """Before the floor, over terms with a document frequency above 0; the same whatever the order of the terms."""
    vocabulary = np.arange(len(postings.terms), dtype=np.int64)
    found = postings.document_frequencies(vocabulary, ranges=ranges)
    frequencies, terms = np.unique(found[found > 0], return_counts=True)
    if not terms.size:
        return 0.0
    units = ranges.count
    weighted = (
        count * rarity(formula, units=units, frequency=frequency)
        for frequency, count in zip(frequencies.tolist(), terms.tolist(), strict=True)
    )
    return math.fsum(weighted) / int(terms.sum())


@compiled
def _add_lengths(lengths: npt.NDArray[np.int32], visible: Edges) -> tuple[int, int]:
    total, longest = 0, 0
    for index in range(visible.starts.size):
        for row in range(visible.starts[index], visible.ends[index]):
            total += lengths[row]
            longest = max(longest, lengths[row])
    return total, longest
