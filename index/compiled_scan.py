"""Which rows score best by one compiled loop, on a CPU?

Products of int8 summed in int32 by plain vector instructions: exact on every CPU, with nothing to prove first. A row
is read once for all queries that see it, and only the best k of each query are kept: no array of scores is made. For
few queries the loop waits for memory and nothing else, so that it is as fast as the rows can be read; for many, a
matrix product does more with each byte.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.best_k import BestK, offer
from index.compiled import compiled, read_only
from index.ranges import Edges, RowRanges
from index.selection import Shortlist
from index.sharing import Shared

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
SmallInts = npt.NDArray[np.int32]

_PRODUCTS_PER_JOB = 2**16  # of a row and a query: half a millisecond or more, so that handing it over costs little


class CompiledScan:
    """The codes of one generation on the CPU, and their identity order. Safe for threads.

    codes: (n, d) int8. order: (n,) int32, none twice. workers: who shares the work of large calls, so many
    `threads`; None for nobody.
    """

    is_placed = True

    def __init__(self, codes: Codes, order: SmallInts, workers: ThreadPoolExecutor | None, *, threads: int) -> None:
        self._codes, self._order = read_only(codes), read_only(order)
        self._workers, self._threads = workers, threads

    def place(self) -> Codes:
        """The codes, where they are."""
        return self._codes

    def offer(self, queries: Codes, parts: Sequence[Shared], shortlist: Shortlist, k: int, *, divisor: int) -> None:  # noqa: ARG002 - nothing here runs out of a device's memory
        """Offer the best `k` rows that each thread found for each query. divisor: without effect."""
        wide = read_only(queries.astype(np.int16))  # once, instead of beside each row
        room = min(k, sum(part.ranges.count for part in parts))
        jobs = [job for part in parts for job in _jobs(part)]
        waiting = iter(jobs)  # whoever is free takes the next one

        def work() -> _Best:
            best = _room_for(len(queries), room)
            for job in waiting:
                _keep_best(self._codes, self._order, wide, job, best)
            return best

        if self._workers is None or len(jobs) == 1:
            found = [work()]
        else:
            working = [self._workers.submit(work) for _ in jobs[: self._threads]]
            found = [future.result() for future in working]
        for best in found:
            held = np.arange(room) < best.held[:, None]
            shortlist.add(held.nonzero()[0], best.rows[held], best.scores[held])


def prepare() -> None:
    """Compile the loop now, about a second, so that the first query does not wait for it."""
    scan = CompiledScan(np.zeros((1, 1), dtype=np.int8), np.zeros(1, dtype=np.int32), None, threads=1)
    part = Shared(members=np.zeros(1, dtype=np.int64), ranges=RowRanges.from_pairs([(0, 1)]))
    shortlist = Shortlist(queries=1, k=1, order=np.zeros(1, dtype=np.int32))
    scan.offer(np.zeros((1, 1), dtype=np.int8), [part], shortlist, 1, divisor=1)


class _Job(NamedTuple):
    """Of the rows in these ranges, those at positions `[first, last)`. members: (m,) int64, the queries that see it."""

    members: Ints
    edges: Edges
    first: int
    last: int


def _jobs(part: Shared) -> list[_Job]:
    """The part in jobs of about equal work, as many as it is worth."""
    count = part.ranges.count
    jobs = max(count * len(part.members) // _PRODUCTS_PER_JOB, 1)
    cuts = [at * count // jobs for at in range(jobs + 1)]
    return [_Job(part.members, part.ranges.edges, first, last) for first, last in pairwise(cuts)]


class _Best(NamedTuple):
    """Room for the best k rows of each query, as `BestK` of each: (q, k) each. held: (q,) int64, how many there are."""

    scores: Ints
    rows: Ints
    ranks: SmallInts
    held: Ints


def _room_for(queries: int, k: int) -> _Best:
    return _Best(
        scores=np.empty((queries, k), dtype=np.int64),
        rows=np.empty((queries, k), dtype=np.int64),
        ranks=np.empty((queries, k), dtype=np.int32),
        held=np.zeros(queries, dtype=np.int64),
    )


@compiled
def _keep_best(codes: Codes, order: SmallInts, queries: npt.NDArray[np.int16], job: _Job, best: _Best) -> None:
    members, (starts, ends, bases), position, last = job  # out of the tuples once: in there, loops are not turned into
    scores, rows, ranks, held = best  # vector instructions
    room = scores.shape[1]
    index = np.searchsorted(bases, position, side="right") - 1
    while position < last:
        start = starts[index] + position - bases[index]
        end = min(ends[index], start + last - position)
        for row in range(start, end):
            for place in range(members.size):
                at = members[place]
                score = _product(codes[row], queries[at])
                if held[at] < room or score >= scores[at, 0]:
                    kept = BestK(scores[at], rows[at], ranks[at])
                    held[at] = offer(kept, held[at], score, row, order[row])
        position += end - start
        index += 1


@compiled
def _product(code: Codes, query: npt.NDArray[np.int16]) -> int:
    """Of two (d,) codes, in int32."""
    score = np.int32(0)
    for place in range(query.size):
        score += np.int32(code[place]) * np.int32(query[place])
    return np.int32(score)  # type: ignore[return-value]  # cut to 32 bits, which hold it, so that 32 bits are summed
