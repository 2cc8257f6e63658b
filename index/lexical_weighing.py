"""What decides what a posting adds to the score of its row? (pure)

As compiled loops take it. A row that holds a term of the query starts from what all terms add to a hit that holds none
of them, and each posting adds the difference to what it adds when it is absent: the sum over the postings met is the
score, in any order.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.bm25 import Curve

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SmallInts = npt.NDArray[np.int32]

UNMATCHED = np.iinfo(np.int64).min  # the sum of a row that holds no term of the query


class Lists(NamedTuple):
    """`Postings`, and the lengths of all rows of their generation."""

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
    """nothing_held: what all terms of the query add to a hit without them, also those that the generation lacks."""

    lists: Lists
    terms: QueryTerms
    bend: Curve
    nothing_held: int
