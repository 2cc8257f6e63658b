"""In which pieces are the visible rows read? (pure)

Long ranges are read where they lie. Short ones, and the ends of long ones that do not fill an aligned piece, are
gathered, so that thousands of tiny ranges cost as many copies and not as many calls. No invisible row is in a piece.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from index.ranges import RowRanges

LONG_RANGE = 4096  # rows; below this one more call costs more than copying the rows (384 bytes each)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Rows to be scored in one call: a slice of consecutive ones, or (m,) int64 row numbers."""

    rows: slice | Ints

    def rows_at(self, columns: Ints) -> Ints:
        """The row numbers at these places of the tile, counted from 0."""
        return columns + self.rows.start if isinstance(self.rows, slice) else self.rows[columns]


def tiles(ranges: RowRanges, *, rows_per_tile: int, align: int = 1) -> Iterator[Tile]:
    """Every row of `ranges` in exactly one tile of at most `rows_per_tile` rows; never an empty tile.

    A consecutive tile holds a multiple of `align` rows; `align` divides `rows_per_tile`. Only the last, gathered,
    tiles may hold any number.
    """
    if align < 1 or rows_per_tile < align or rows_per_tile % align:
        raise ValueError(f"rows_per_tile must be a multiple of align {align}, got {rows_per_tile}")
    sizes = ranges.ends - ranges.starts
    in_place = ranges.starts + np.where(sizes >= LONG_RANGE, sizes // align * align, 0)
    long = in_place > ranges.starts
    for start, end in zip(ranges.starts[long].tolist(), in_place[long].tolist(), strict=True):
        for first in range(start, end, rows_per_tile):
            yield Tile(rows=slice(first, min(first + rows_per_tile, end)))
    left = in_place < ranges.ends
    loose = RowRanges(starts=in_place[left], ends=ranges.ends[left]).rows()
    for first in range(0, len(loose), rows_per_tile):
        yield Tile(rows=loose[first : first + rows_per_tile])
