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

    Cost: of scopes apart from each other, their edges; of others, distinct scopes times their edges.

    >>> one, two = RowRanges.from_pairs([(0, 5)]), RowRanges.from_pairs([(3, 9)])
    >>> [(part.members.tolist(), part.ranges.rows().tolist()) for part in shared_rows([one, two])]
    [([1], [5, 6, 7, 8]), ([0], [0, 1, 2]), ([0, 1], [3, 4])]
    """
    asking = _asking(scopes)
    distinct = list(asking)
    if len(distinct) < 2:
        return [Shared(members=members, ranges=scope) for scope, members in asking.items()]
    starts = np.concatenate([scope.starts for scope in distinct])
    ends = np.concatenate([scope.ends for scope in distinct])
    ascending = np.argsort(starts)
    if (starts[ascending[1:]] >= ends[ascending[:-1]]).all():  # nothing is shared
        return [Shared(members=members, ranges=scope) for scope, members in asking.items()]
    edges = np.unique(np.concatenate([starts, ends]))
    holders = np.repeat(np.arange(len(distinct)), [len(scope.starts) for scope in distinct])
    changes = np.zeros((len(distinct), len(edges)), dtype=np.int8)
    changes[holders, np.searchsorted(edges, starts)] = 1
    changes[holders, np.searchsorted(edges, ends)] = -1
    held = np.cumsum(changes, axis=1, dtype=np.int8)[:, :-1].astype(np.bool_)  # by whom, from each edge to the next
    parts = []
    for stretches in _alike(held):
        holding = np.flatnonzero(held[:, stretches[0]])
        if holding.size:
            members = np.sort(np.concatenate([asking[distinct[number]] for number in holding.tolist()]))
            # Two that touch are never alike: somebody's range begins or ends between them.
            ranges = RowRanges(starts=edges[stretches], ends=edges[stretches + 1])
            parts.append(Shared(members=members, ranges=ranges))
    return parts


def _asking(scopes: Sequence[RowRanges]) -> dict[RowRanges, Ints]:
    """Where each scope with rows stands in the sequence: ascending places, (m,) int64. A scope that is the same object
    is hashed once: it may have many ranges."""
    same: dict[int, list[int]] = {}
    for place, scope in enumerate(scopes):
        same.setdefault(id(scope), []).append(place)
    equal: dict[RowRanges, list[int]] = {}
    for places in same.values():
        scope = scopes[places[0]]
        if scope.count:
            equal.setdefault(scope, []).extend(places)
    return {scope: np.array(sorted(places), dtype=np.int64) for scope, places in equal.items()}


def _alike(held: npt.NDArray[np.bool_]) -> list[Ints]:
    """The columns that hold the same, together: ascending places each. held: (scopes, columns)."""
    packed = np.ascontiguousarray(np.packbits(held, axis=0).T)
    _, kinds = np.unique(packed.view(np.dtype((np.void, packed.shape[1])))[:, 0], return_inverse=True)
    by_kind = np.argsort(kinds, kind="stable")
    return np.split(by_kind, np.flatnonzero(np.diff(kinds[by_kind])) + 1)
