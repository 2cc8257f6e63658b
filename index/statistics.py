"""What does BM25 need to know about the usable units? (pure)

N, lengths and document frequencies over the usable rows and over nothing else (R9): a caller's scores tell nothing
about what the caller may not see. Sums of integers: scopes that share no row add up.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.bm25 import Curve, Formula, Variant, curve, floored, rarity
from index.compiled import compiled, read_only
from index.postings import Postings
from index.ranges import Edges, RowRanges


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeStatistics:
    """The statistics of one set of row ranges of one row space under one formula; may be cached under these three.

    ranges: the rows counted.
    units: N, the usable units, those without terms included.
    total_length: terms in them, repeats counted. longest: terms in the longest.
    mean_idf: over the terms that occur in the scope; 0.0 where the formula does not ask for it.
    bend: how repeats and length count; follows from the others. None where no unit has a term.
    """

    ranges: RowRanges
    formula: Formula
    units: int
    total_length: int
    longest: int
    mean_idf: float
    bend: Curve | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bend = None
        if self.total_length:
            bend = curve(self.formula, longest=self.longest, average_length=self.average_length)
        object.__setattr__(self, "bend", bend)

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
    return gather_all([Counted(postings=postings, lengths=lengths, ranges=ranges)], ranges=ranges, formula=formula)


class Counted(NamedTuple):
    """Those rows of one generation that are counted, in its own numbers."""

    postings: Postings
    lengths: npt.NDArray[np.int32]
    ranges: RowRanges


def gather_all(parts: Sequence[Counted], *, ranges: RowRanges, formula: Formula) -> ScopeStatistics:
    """Count over `ranges` of several generations' row space; `parts` are the same rows where they lie.

    The numbers are those that one generation of the same rows would give. Raises ValueError as `gather`.
    """
    total, longest = 0, 0
    for part in parts:
        if part.ranges.count and part.ranges.ends[-1] > len(part.lengths):
            raise ValueError(f"the ranges end at row {part.ranges.ends[-1]}, the generation at {len(part.lengths)}")
        length, longest_here = _add_lengths(read_only(part.lengths), part.ranges.edges)
        total, longest = total + length, max(longest, longest_here)
    return ScopeStatistics(
        ranges=ranges,
        formula=formula,
        units=ranges.count,
        total_length=total,
        longest=longest,
        mean_idf=_mean_idf(_frequencies(parts), ranges.count, formula) if formula.variant is Variant.OKAPI else 0.0,
    )


def _frequencies(parts: Sequence[Counted]) -> npt.NDArray[np.int64]:
    """In how many of the rows each term occurs that any of the generations holds, in no order."""
    first, *others = parts
    found = first.postings.document_frequencies(_vocabulary(first.postings), ranges=first.ranges)
    elsewhere: Counter[str] = Counter()
    for part in others:
        counted = part.postings.document_frequencies(_vocabulary(part.postings), ranges=part.ranges)
        for term, frequency in zip(part.postings.terms, counted.tolist(), strict=True):
            number = first.postings.terms.get(term) if frequency else None
            if number is None:
                elsewhere[term] += frequency
            else:
                found[number] += frequency
    return np.concatenate([found, np.array(list(elsewhere.values()), dtype=np.int64)])


def _vocabulary(postings: Postings) -> npt.NDArray[np.int64]:
    return np.arange(len(postings.terms), dtype=np.int64)


def _mean_idf(found: npt.NDArray[np.int64], units: int, formula: Formula) -> float:
    """Before the floor, over terms with a document frequency above 0; the same whatever the order of the terms."""
    frequencies, terms = np.unique(found[found > 0], return_counts=True)
    if not terms.size:
        return 0.0
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
