"""Which rows score best by one compiled loop, on a CPU?

Products of int8 summed in int32 by plain vector instructions: exact on every CPU, with nothing to prove first. A row
is read once for all queries that see it, and only the best k of each query are kept: no array of scores is made. For
few queries the loop waits for memory and nothing else; for many, a matrix product does more with each byte.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.best_k import BestK, offer
from index.compiled import compiled, read_only
from index.ranges import RowRanges
from index.selection import Shortlist
from index.sharing import Shared

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
SmallInts = npt.NDArray[np.int32]

_PRODUCTS_PER_JOB = 2**16  # of a row and a query: half a millisecond or more, so that handing it over costs little


class CompiledScan:
    """The codes of one generation on the CPU, and their identity order. Safe for threads.

    codes: (n, d) int8. order: (n,) int32, none twice. workers: who shares the work of large calls; None for nobody.
    """

    is_placed = True

    def __init__(self, codes: Codes, order: SmallInts, workers: ThreadPoolExecutor | None) -> None:
        self._codes, self._order = read_only(codes), read_only(order)
        self._workers = workers

    def place(self) -> Codes:
        """The codes, where they are."""
        return self._codes

    def offer(self, queries: Codes, parts: Sequence[Shared], shortlist: Shortlist, k: int, *, divisor: int) -> None:  # noqa: ARG002 - nothing here runs out of a device's memory
        """Offer the best `k` rows that each job found for each of its queries. divisor: without effect."""
        jobs = [job for part in parts for job in _jobs(part)]
        work = partial(self._best, queries, k)
        if self._workers is None or len(jobs) == 1:
            found = list(map(work, jobs))
        else:
            found = list(self._workers.map(work, jobs))
        for job, best in zip(jobs, found, strict=True):
            held = np.arange(best.rows.shape[1]) < best.held[:, None]
            shortlist.of(job.members).add(held.nonzero()[0], best.rows[held], best.scores[held])

    def _best(self, queries: Codes, k: int, job: Shared) -> "_Best":
        asked = len(job.members)
        room = min(k, job.ranges.count)
        best = _Best(
            scores=np.empty((asked, room), dtype=np.int64),
            rows=np.empty((asked, room), dtype=np.int64),
            ranks=np.empty((asked, room), dtype=np.int32),
            held=np.zeros(asked, dtype=np.int64),
        )
        wanted = _Wanted(queries=read_only(queries[job.members]), starts=job.ranges.starts, ends=job.ranges.ends)
        _keep_best(self._codes, self._order, wanted, best)
        return best


def prepare() -> None:
    """Compile the loop now, about a second, so that the first query does not wait for it."""
    scan = CompiledScan(np.zeros((1, 1), dtype=np.int8), np.zeros(1, dtype=np.int32), None)
    part = Shared(members=np.zeros(1, dtype=np.int64), ranges=RowRanges.from_pairs([(0, 1)]))
    shortlist = Shortlist(queries=1, k=1, order=np.zeros(1, dtype=np.int32))
    scan.offer(np.zeros((1, 1), dtype=np.int8), [part], shortlist, 1, divisor=1)


def _jobs(part: Shared) -> list[Shared]:
    """The part in pieces of about equal work, as many as it is worth."""
    pieces = part.ranges.count * len(part.members) // _PRODUCTS_PER_JOB
    if pieces <= 1:
        return [part]
    return [Shared(members=part.members, ranges=ranges) for ranges in part.ranges.cut(pieces)]


class _Wanted(NamedTuple):
    """Queries, (q, d) int8, and the ranges that all of them see."""

    queries: Codes
    starts: Ints
    ends: Ints


class _Best(NamedTuple):
    """Room for the best k rows of each query, as `BestK` of each: (q, k) each. held: (q,) int64, how many there are."""

    scores: Ints
    rows: Ints
    ranks: SmallInts
    held: Ints


@compiled
def _keep_best(codes: Codes, order: SmallInts, wanted: _Wanted, best: _Best) -> None:
    queries, starts, ends = wanted  # out of the tuples once: in there, loops are not turned into vector instructions
    scores, rows, ranks, held = best
    room = scores.shape[1]
    for index in range(starts.size):
        for row in range(starts[index], ends[index]):
            for at in range(len(queries)):
                score = _product(codes[row], queries[at])
                if held[at] < room or score >= scores[at, 0]:
                    kept = BestK(scores[at], rows[at], ranks[at])
                    held[at] = offer(kept, held[at], score, row, order[row])


@compiled
def _product(code: Codes, query: Codes) -> int:
    """Of two (d,) int8, in int32."""
    score = np.int32(0)
    for place in range(query.size):
        score += np.int32(code[place]) * np.int32(query[place])
    return np.int32(score)  # type: ignore[return-value]  # cut to 32 bits, which hold it, so that 32 bits are summed
