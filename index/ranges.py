"""Which rows of a generation may be touched? (pure)

The eligible set of one request as ascending, disjoint, merged row ranges. Rows of a revision are contiguous, so there
is no mask per row. Row numbers mean nothing outside their generation: a digest of ranges is a cache key, and never
part of an answer (R6).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from evidence.canonical import digest_bytes
from index.compiled import read_only


class Edges(NamedTuple):
    """Ranges as a compiled loop takes them: (m,) int64 each. bases: how many rows lie in the ranges before each."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    bases: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowRanges:
    """Half-open ranges `[starts[i], ends[i])`.

    starts, ends: (m,) int64, read-only; ascending, never empty, with at least one row between two ranges.
    Raises ValueError otherwise. Two are equal when they hold the same rows.
    count: how many rows. edges: the ranges for a compiled loop.
    """

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    count: int = field(init=False, repr=False)
    edges: Edges = field(init=False, repr=False)

    def __post_init__(self) -> None:
        starts, ends = read_only(self.starts), read_only(self.ends)
        if starts.dtype != np.int64 or ends.dtype != np.int64 or starts.ndim != 1 or starts.shape != ends.shape:
            raise ValueError(f"ranges need two (m,) int64 arrays, got {starts.shape} and {ends.shape}")
        if starts.size and (starts[0] < 0 or (ends <= starts).any() or (starts[1:] <= ends[:-1]).any()):
            raise ValueError("ranges must be ascending, disjoint, merged, not empty and not negative")
        sizes = ends - starts
        reach = np.cumsum(sizes)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "ends", ends)
        object.__setattr__(self, "count", int(reach[-1]) if reach.size else 0)
        object.__setattr__(self, "edges", Edges(starts=starts, ends=ends, bases=read_only(reach - sizes)))

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]]) -> Self:
        """The union of `(start, end)` pairs in any order; touching and overlapping ones become one, empty ones vanish.

        Raises ValueError for a pair that starts below 0 or ends before it starts.

        >>> ranges = RowRanges.from_pairs([(8, 9), (2, 5), (5, 7), (3, 3)])
        >>> ranges.starts.tolist(), ranges.ends.tolist()
        ([2, 8], [7, 9])
        """
        given = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        if (given[:, 0] < 0).any() or (given[:, 1] < given[:, 0]).any():
            raise ValueError("a range starts at 0 or later and does not end before it starts")
        filled = given[given[:, 1] > given[:, 0]]
        ascending = filled[np.argsort(filled[:, 0], kind="stable")]
        reach = np.maximum.accumulate(ascending[:, 1]) if len(ascending) else ascending[:, 1]
        opens = np.ones(len(ascending), dtype=np.bool_)
        opens[1:] = ascending[1:, 0] > reach[:-1]
        first = np.flatnonzero(opens)
        last = np.append(first[1:], len(ascending)) - 1 if len(first) else first
        return cls(starts=ascending[first, 0], ends=reach[last])

    @classmethod
    def from_rows(cls, rows: npt.NDArray[np.int64]) -> Self:
        """The ranges that hold exactly `rows`: (m,) int64, strictly ascending."""
        if rows.size and (rows[0] < 0 or (np.diff(rows) <= 0).any()):
            raise ValueError("rows must be strictly ascending and not negative")
        gaps = np.flatnonzero(np.diff(rows) > 1)
        edges = rows[:0] if not rows.size else rows
        return cls(
            starts=np.concatenate([edges[:1], edges[gaps + 1]]),
            ends=np.concatenate([edges[gaps], edges[-1:]]) + 1,
        )

    def rows(self) -> npt.NDArray[np.int64]:
        """(count,) int64: every row, ascending."""
        starts, ends, bases = self.edges
        return np.arange(self.count, dtype=np.int64) + np.repeat(starts - bases, ends - starts)

    def rows_at(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What `rows()[positions]` holds, without making all rows. Positions count from 0 and lie below `count`."""
        starts, _, bases = self.edges
        shifts: npt.NDArray[np.int64] = (starts - bases)[np.searchsorted(bases, positions, side="right") - 1]
        return positions + shifts

    def cut(self, pieces: int) -> "list[RowRanges]":
        """The same rows in at most so many pieces of about as many rows, in order, none empty.

        >>> [piece.rows().tolist() for piece in RowRanges.from_pairs([(0, 3), (5, 9)]).cut(2)]
        [[0, 1, 2], [5, 6, 7, 8]]
        """
        starts, ends, bases = self.edges
        edges = np.unique(np.arange(pieces + 1) * self.count // pieces)
        found = []
        for first, last in pairwise(edges.tolist()):
            begin, end = np.searchsorted(bases, [first, last - 1], side="right") - 1
            cut_starts, cut_ends = starts[begin : end + 1].copy(), ends[begin : end + 1].copy()
            cut_starts[0] += first - bases[begin]
            cut_ends[-1] = starts[end] + last - bases[end]
            found.append(RowRanges(starts=cut_starts, ends=cut_ends))
        return found

    def contains(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """(len(rows),) bool: which of `rows`, in any order, lie in the ranges."""
        if not self.starts.size:
            return np.zeros(rows.shape, dtype=np.bool_)
        ranges = np.searchsorted(self.starts, rows, side="right") - 1
        return (ranges >= 0) & (rows < self.ends[ranges])

    def digest(self) -> str:
        """`sha256:` and the hex SHA-256 of the edges as little-endian int64. A cache key, nothing else."""
        return digest_bytes(np.stack([self.starts, self.ends], axis=1).astype("<i8").tobytes())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowRanges):
            return NotImplemented
        return self is other or (np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends))

    def __hash__(self) -> int:
        return hash((self.starts.tobytes(), self.ends.tobytes()))
