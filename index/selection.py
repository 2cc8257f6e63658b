"""Which rows come first, and where is the cut? (pure)

Every ordering is total (R11): the higher score, then the smaller identity rank. Two rows never compare equal, so a
cut at k is one set, whatever order the rows came in.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Ranking(NamedTuple):
    """Rows of one channel, best first. Both (m,) int64; `m` may be less than the k asked for."""

    rows: Ints
    scores: Ints


def first_of(rows: Ints, scores: Ints, *, ranks: npt.NDArray[np.integer[Any]], k: int) -> Ranking:
    """The first `k` of `rows` (distinct, any order) by score descending, then rank ascending.

    scores: (len(rows),) int64. ranks: (len(rows),) integers, the identity rank of each of `rows`, none twice.
    """
    best = np.lexsort((ranks, -scores))[: max(k, 0)]
    return Ranking(rows=rows[best], scores=scores[best])


class Shortlist:
    """The best `k` rows of each of `queries` queries so far, while scores arrive tile by tile.

    Scores lie in int32, none below -(2^31 - 1). Not for use by two threads at once.
    """

    def __init__(self, *, queries: int, k: int, order: npt.NDArray[np.int32]) -> None:
        self._queries, self._k, self._order = queries, k, order
        self._query = np.empty(0, dtype=np.int64)
        self._rows = np.empty(0, dtype=np.int64)
        self._keys = np.empty(0, dtype=np.int64)
        self._settled = 0
        self._floors = np.full(queries, np.iinfo(np.int32).min, dtype=np.int32)

    @property
    def floors(self) -> npt.NDArray[np.int32]:
        """(queries,) int32: a row that scores less than its query's floor cannot be among its first k any more."""
        return self._floors

    def add(self, query: Ints, rows: Ints, scores: Ints) -> None:
        """Offer rows: all (m,) int64. No row is offered twice to one query."""
        keys = (scores << 32) - self._order[rows]  # one int64 that orders as (score descending, order ascending) does
        self._query = np.concatenate([self._query, query])
        self._rows = np.concatenate([self._rows, rows])
        self._keys = np.concatenate([self._keys, keys])
        if len(self._keys) >= 2 * max(self._settled, 1):  # settling costs a sort: do it when the list has doubled
            self._settle()

    def of(self, members: Ints) -> "Members":
        """This list as some of its queries see it. members: (m,) int64, ascending, none twice."""
        return Members(self, members)

    def rankings(self) -> list[Ranking]:
        """The first k of each query, best first."""
        if len(self._keys) > self._settled:
            self._settle()
        scores = -(-self._keys >> 32)  # rounds up: the order was taken off
        bounds = np.searchsorted(self._query, np.arange(self._queries + 1))
        return [
            Ranking(rows=self._rows[begin:end], scores=scores[begin:end])
            for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ]

    def _settle(self) -> None:
        by_key = np.argsort(-self._keys)
        narrow = self._query[by_key].astype(np.min_scalar_type(self._queries))  # small types sort by radix
        best = by_key[np.argsort(narrow, kind="stable")]
        query = self._query[best]
        firsts = np.searchsorted(query, np.arange(self._queries))
        places = np.arange(len(query)) - firsts[query]
        best = best[places < self._k]
        self._query, self._rows, self._keys = self._query[best], self._rows[best], self._keys[best]
        self._settled = len(best)
        lasts = np.flatnonzero(places[places < self._k] == self._k - 1)
        self._floors[self._query[lasts]] = (-(-self._keys[lasts] >> 32)).astype(np.int32)


class Members:
    """A shortlist for some of its queries, which count from 0 here. Made by `Shortlist.of`."""

    def __init__(self, shortlist: Shortlist, members: Ints) -> None:
        self._shortlist, self._members = shortlist, members

    @property
    def floors(self) -> npt.NDArray[np.int32]:
        """(members,) int32, as of the shortlist."""
        return self._shortlist.floors[self._members]

    def add(self, query: Ints, rows: Ints, scores: Ints) -> None:
        """Offer rows, as to the shortlist."""
        self._shortlist.add(self._members[query], rows, scores)
