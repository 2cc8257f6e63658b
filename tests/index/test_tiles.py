"""Tests of index/tiles.py: every visible row is read once, and no other."""

import numpy as np
import pytest

from index.ranges import RowRanges
from index.tiles import LONG_RANGE, tiles

MIXED = RowRanges.from_pairs(
    [(3, 4), (10, 10 + LONG_RANGE + 37), (20_000, 20_000 + LONG_RANGE - 1), (30_000, 30_000 + 3 * LONG_RANGE)]
)


@pytest.mark.parametrize(("rows_per_tile", "align"), [(1024, 64), (64, 64), (100_000, 1), (4096, 32)])
def test_tiles_hold_exactly_the_visible_rows_each_once(rows_per_tile: int, align: int) -> None:
    """R2: no invisible row is in a tile."""
    pieces = [
        tile.rows_at(np.arange(len(np.r_[tile.rows])))
        for tile in tiles(MIXED, rows_per_tile=rows_per_tile, align=align)
    ]

    assert all(0 < len(piece) <= rows_per_tile for piece in pieces)
    assert np.array_equal(np.sort(np.concatenate(pieces)), MIXED.rows())


def test_a_tile_read_in_place_holds_a_multiple_of_align_rows() -> None:
    in_place = [tile.rows for tile in tiles(MIXED, rows_per_tile=1024, align=64) if isinstance(tile.rows, slice)]

    assert len(in_place) == 16  # 4 of the second range, 12 of the last
    assert all((rows.stop - rows.start) % 64 == 0 for rows in in_place)


def test_thousands_of_tiny_ranges_are_gathered_into_few_tiles() -> None:
    tiny = RowRanges.from_pairs([(row, row + 1) for row in range(0, 10_000, 2)])

    assert len(list(tiles(tiny, rows_per_tile=4096))) == 2


def test_no_rows_give_no_tile() -> None:
    assert list(tiles(RowRanges.from_pairs([]), rows_per_tile=64, align=64)) == []


@pytest.mark.parametrize(("rows_per_tile", "align"), [(0, 1), (100, 64), (32, 64), (64, 0)])
def test_a_tile_that_cannot_be_aligned_is_refused(rows_per_tile: int, align: int) -> None:
    with pytest.raises(ValueError, match="multiple of align"):
        list(tiles(MIXED, rows_per_tile=rows_per_tile, align=align))
