"""What if a channel cut its ranking first, and filtered then? (R2)

Vector indexes that filter afterwards search everything for the nearest rows and leave out what the caller may not see;
asking for ten times as many only makes it rarer that foreign rows push visible ones out.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from index.channels import Dense
from index.ranges import RowRanges
from index.selection import Ranking
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.relations import Relation

_topk = Dense.topk


def _filtered_afterwards(*, overfetch: int) -> Callable[..., Ranking]:
    def topk(self: Dense, query: npt.NDArray[np.int8], *, ranges: RowRanges, k: int) -> Ranking:
        everything = RowRanges.from_pairs([(0, self.segments.rows)])
        found = _topk(self, query, ranges=everything, k=overfetch * k)
        usable = ranges.contains(found.rows)
        return Ranking(rows=found.rows[usable][:k], scores=found.scores[usable][:k])

    return topk


CUTS = (
    Mutant(
        number=5,
        name="filter after top-k",
        what="the dense channel takes the first k of all rows, then those that may be used",
        killer=Relation.M1,
        switched_on=replacing(Dense, "topk", _filtered_afterwards(overfetch=1)),
    ),
    Mutant(
        number=6,
        name="filter after top-(10k)",
        what="the dense channel takes the first 10k of all rows, then k of those that may be used",
        killer=Relation.M1,
        switched_on=replacing(Dense, "topk", _filtered_afterwards(overfetch=10)),
    ),
)
