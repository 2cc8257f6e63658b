"""In which blocks do queries see the rows of a generation? (pure)

A device does its work in a few large calls when all that the queries see is numbered alike. The rows of each part are
cut into blocks, one after the other; only the last block of a part holds fewer rows than the others. The blocks that a
query sees are its columns, counted from 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from index.sharing import Shared

BLOCK = 32  # rows; a multiple of 8
LONG_RUN = 65_536  # rows, a multiple of BLOCK; below this a call of its own takes longer than gathering them

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The blocks `[first, last)` of one part. rows: the stretch that they lie in, None where they must be gathered."""

    first: int
    last: int
    rows: slice | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """Rows in blocks, and who sees them. Arrays are int64.

    queries: (q,), those that see a row, ascending; all below counts them from 0.
    widths: (q,), how many columns each has.
    bounds: (parts + 1,); the blocks of part p are `[bounds[p], bounds[p + 1])`.
    run_places, run_rows, run_sizes: (runs,) of consecutive rows, by place, which is 32 times the block and what comes
    in it before: the place and the row of the first, and how many. Places behind the last row of a part are empty.
    seen_by, seen_part, seen_column: (sights,) by query, then by column: a part that a query sees, from that column on.
    """

    queries: Ints
    widths: Ints
    bounds: Ints
    run_places: Ints
    run_rows: Ints
    run_sizes: Ints
    seen_by: Ints
    seen_part: Ints
    seen_column: Ints

    @property
    def widest(self) -> int:
        """The most columns that a query has."""
        return int(self.widths.max(initial=0))

    def pieces(self, part: int, *, most: int) -> Iterator[Piece]:
        """The blocks of a part, in order, in pieces of at most `most` blocks."""
        first, last = self.bounds[part : part + 2].tolist()
        runs = slice(*np.searchsorted(self.run_places, [first * BLOCK, last * BLOCK]))
        for row, size in zip(self.run_rows[runs].tolist(), self.run_sizes[runs].tolist(), strict=True):
            if size < LONG_RUN:
                break  # long runs come first
            for begun in range(0, size, most * BLOCK):
                held = min(most, (size - begun) // BLOCK)
                yield Piece(first=first, last=first + held, rows=slice(row + begun, row + begun + held * BLOCK))
                first += held
        for block in range(first, last, most):
            yield Piece(first=block, last=min(block + most, last), rows=None)


def blocks_of(parts: Sequence[Shared]) -> Blocks:
    """The rows of `parts`, none of them empty, in blocks. Cost: ranges and members, whatever rows there are."""
    nothing = np.empty(0, dtype=np.int64)
    starts = np.concatenate([nothing, *(part.ranges.starts for part in parts)])
    ends = np.concatenate([nothing, *(part.ranges.ends for part in parts)])
    owners = np.repeat(np.arange(len(parts)), [len(part.ranges.starts) for part in parts])
    in_place = np.where(ends - starts >= LONG_RUN, (ends - starts) // BLOCK * BLOCK, 0)
    long, loose = in_place > 0, starts + in_place < ends
    part_of = np.concatenate([owners[long], owners[loose]])
    by_part = np.argsort(part_of, kind="stable")  # within a part the long runs stay in front
    part_of = part_of[by_part]
    rows = np.concatenate([starts[long], (starts + in_place)[loose]])[by_part]
    sizes = np.concatenate([in_place[long], (ends - starts - in_place)[loose]])[by_part]
    counts = np.array([part.ranges.count for part in parts], dtype=np.int64)
    blocks = -(-counts // BLOCK)
    bounds = np.concatenate([[0], np.cumsum(blocks)])
    before = np.cumsum(sizes) - sizes - (np.cumsum(counts) - counts)[part_of]  # rows of the same part
    members = np.concatenate([nothing, *(part.members for part in parts)])
    queries, asking = np.unique(members, return_inverse=True)
    by_query = np.argsort(asking, kind="stable")
    seen_by = asking[by_query]
    seen_part = np.repeat(np.arange(len(parts)), [len(part.members) for part in parts])[by_query]
    wide = blocks[seen_part]
    reach = np.cumsum(wide) - wide
    return Blocks(
        queries=queries,
        widths=np.bincount(seen_by, weights=wide, minlength=len(queries)).astype(np.int64),
        bounds=bounds,
        run_places=bounds[part_of] * BLOCK + before,
        run_rows=rows,
        run_sizes=sizes,
        seen_by=seen_by,
        seen_part=seen_part,
        seen_column=reach - reach[np.searchsorted(seen_by, seen_by)],
    )
