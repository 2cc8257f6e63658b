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
            held = np.arange(best.keys.shape[1]) < best.filled[:, None]
            at = held.nonzero()[0]
            shortlist.of(job.members).add(at, best.rows[held], -(-best.keys[held] >> 32))

    def _best(self, queries: Codes, k: int, job: Shared) -> "_Best":
        asked = len(job.members)
        room = min(k, job.ranges.count)
        best = _Best(
            keys=np.empty((asked, room), dtype=np.int64),
            rows=np.empty((asked, room), dtype=np.int64),
            filled=np.zeros(asked, dtype=np.int64),
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
    """The best rows of each query so far, as a heap with the least on top.

    keys: (q, k) int64, `(score << 32) - order`: one number that orders as score descending, then order ascending does.
    rows: (q, k) int64. filled: (q,) int64, how many there are.
    """

    keys: Ints
    rows: Ints
    filled: Ints


@compiled
def _keep_best(codes: Codes, order: SmallInts, wanted: _Wanted, best: _Best) -> None:
    asked, dimension = wanted.queries.shape
    room = best.keys.shape[1]
    for index in range(wanted.starts.size):
        for row in range(wanted.starts[index], wanted.ends[index]):
            for at in range(asked):
                score = np.int32(0)
                for place in range(dimension):
                    score += np.int32(codes[row, place]) * np.int32(wanted.queries[at, place])
                key = (np.int64(score) << 32) - order[row]
                if best.filled[at] < room:
                    _rise(best.keys[at], best.rows[at], best.filled[at], key, row)
                    best.filled[at] += 1
                elif key > best.keys[at, 0]:
                    _sink(best.keys[at], best.rows[at], key, row)


@compiled
def _rise(keys: Ints, rows: Ints, place: int, key: int, row: int) -> None:
    """Put `key` at the end of the heap, `place`, and let it rise."""
    while place > 0:
        above = (place - 1) // 2
        if keys[above] <= key:
            break
        keys[place], rows[place] = keys[above], rows[above]
        place = above
    keys[place], rows[place] = key, row


@compiled
def _sink(keys: Ints, rows: Ints, key: int, row: int) -> None:
    """Put `key` in the place of the least and let it sink."""
    place, size = 0, keys.size
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[place], rows[place] = keys[below], rows[below]
        place = below
    keys[place], rows[place] = key, row
