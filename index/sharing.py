"""Which rows do several scopes share? (pure)

Queries of different callers are answered in one pass: rows that the same callers see are read once for all of them,
and nobody's query meets a row that its caller may not see.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from index.ranges import RowRanges

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shared:
    """Rows that exactly these scopes hold. members: (m,) int64, ascending places in the sequence of scopes."""

    members: Ints
    ranges: RowRanges


def shared_rows(scopes: Sequence[RowRanges]) -> list[Shared]:
    """Every row that any scope holds, once, beside the scopes that hold it; in no order, none without rows.

    Cost: distinct scopes times their edges.

    >>> one, two = RowRanges.from_pairs([(0, 5)]), RowRanges.from_pairs([(3, 9)])
    >>> [(part.members.tolist(), part.ranges.rows().tolist()) for part in shared_rows([one, two])]
    [([1], [5, 6, 7, 8]), ([0], [0, 1, 2]), ([0, 1], [3, 4])]
    """
    filled = [scope for scope in {id(scope): scope for scope in scopes}.values() if scope.count]
    distinct = list(dict.fromkeys(filled))
    if not distinct:
        return []
    numbers = {scope: number for number, scope in enumerate(distinct)}
    places = {id(scope): numbers.get(scope, len(distinct)) for scope in scopes}  # the last one holds no row
    asking = np.array([places[id(scope)] for scope in scopes], dtype=np.int64)
    if len(distinct) == 1:
        return [Shared(members=np.flatnonzero(asking == 0), ranges=distinct[0])]
    edges = np.unique(np.concatenate([edge for scope in distinct for edge in (scope.starts, scope.ends)]))
    firsts, lasts = edges[:-1], edges[1:]
    held = np.stack([*(scope.contains(firsts) for scope in distinct), np.zeros(len(firsts), dtype=np.bool_)])
    patterns, kinds = np.unique(held, axis=1, return_inverse=True)
    parts = []
    for kind, pattern in enumerate(patterns.T):
        if pattern.any():
            chosen = kinds == kind
            pairs = zip(firsts[chosen].tolist(), lasts[chosen].tolist(), strict=True)
            parts.append(Shared(members=np.flatnonzero(pattern[asking]), ranges=RowRanges.from_pairs(pairs)))
    return parts
