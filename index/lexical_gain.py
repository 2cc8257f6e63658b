"""What does a posting add to the score of its row? (pure)

A row that holds a term of the query starts from what all terms add to a hit that holds none of them, and each posting
adds the difference: so a sum over the postings met is the score, in any order.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.bm25 import Curve, weight
from index.compiled import compiled

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SmallInts = npt.NDArray[np.int32]

UNMATCHED = np.iinfo(np.int64).min  # the sum of a row that holds no term of the query


class Lists(NamedTuple):
    """`Postings` and the lengths of all rows, as a compiled loop takes them."""

    offsets: Ints
    rows: SmallInts
    frequencies: SmallInts
    lengths: SmallInts


class QueryTerms(NamedTuple):
    """The terms of a query that one generation holds. (terms,) each.

    numbers: of the terms in the generation. repeats: in the query. absent: what a term adds to a hit without it.
    """

    numbers: Ints
    repeats: Ints
    idfs: Floats
    absent: Ints


class Weighing(NamedTuple):
    """All that decides what a posting adds.

    nothing_held: what all terms of the query add to a hit without them, also those that the generation lacks.
    """

    lists: Lists
    terms: QueryTerms
    bend: Curve
    nothing_held: int


@compiled
def gain(weighing: Weighing, term: int, posting: int, row: int) -> int:
    """What the posting of a term adds to the sum of its row."""
    lists, terms = weighing.lists, weighing.terms
    held = weight(weighing.bend, terms.idfs[term], lists.frequencies[posting], lists.lengths[row])
    return (held - terms.absent[term]) * terms.repeats[term]


@compiled
def added(weighing: Weighing, sum_so_far: int, more: int) -> int:
    """The sum of a row after one more posting of it."""
    return (weighing.nothing_held if sum_so_far == UNMATCHED else sum_so_far) + more
