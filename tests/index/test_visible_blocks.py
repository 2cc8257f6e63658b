"""Tests of index/visible_blocks.py: every visible row in one block, and every block in a column of those who see it."""

import numpy as np
import pytest

from index import visible_blocks
from index.ranges import RowRanges
from index.sharing import Shared, shared_rows
from index.visible_blocks import BLOCK, Blocks, blocks_of
from tests.index.dense_corpus import everything, subset


def rows_of(blocks: Blocks, block: int) -> list[int]:
    """By definition: the rows of all runs that have a place in the block."""
    places = range(block * BLOCK, (block + 1) * BLOCK)
    runs = zip(blocks.run_places.tolist(), blocks.run_rows.tolist(), blocks.run_sizes.tolist(), strict=True)
    return [row + at for place, row, size in runs for at in range(size) if place + at in places]


def seen_rows(blocks: Blocks, query: int) -> list[int]:
    """By definition: the rows of all columns of a query."""
    found: list[int] = []
    for sight in np.flatnonzero(blocks.seen_by == query).tolist():
        part = int(blocks.seen_part[sight])
        assert int(blocks.seen_column[sight]) * BLOCK >= len(found)
        for block in range(int(blocks.bounds[part]), int(blocks.bounds[part + 1])):
            found += rows_of(blocks, block)
    return found


def test_each_query_sees_in_its_columns_the_rows_of_its_scope_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2. Long runs are few here; the second query sees nothing."""
    monkeypatch.setattr(visible_blocks, "LONG_RUN", 64)
    scopes = [everything(700), RowRanges.from_pairs([]), subset(700, 9, seed=1), subset(700, 40, seed=2)]

    blocks = blocks_of(shared_rows(scopes))

    assert blocks.queries.tolist() == [0, 2, 3]
    for place, query in enumerate(blocks.queries.tolist()):
        assert sorted(seen_rows(blocks, place)) == scopes[query].rows().tolist()


def test_columns_of_a_query_follow_each_other() -> None:
    """One part of 2 blocks that both see, one of 1 block and one of 3."""
    both, first, second = (
        Shared(members=np.array(members), ranges=RowRanges.from_pairs([pair]))
        for members, pair in (([0, 1], (0, 40)), ([0], (40, 50)), ([1], (50, 146)))
    )

    blocks = blocks_of([both, first, second])

    assert blocks.bounds.tolist() == [0, 2, 3, 6]
    assert blocks.seen_by.tolist() == [0, 0, 1, 1]
    assert blocks.seen_column.tolist() == [0, 2, 0, 2]
    assert blocks.widths.tolist() == [3, 5]
    assert blocks.widest == 5


def test_long_runs_are_read_where_they_lie_and_what_is_left_of_them_is_gathered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows 10 to 150 are 4 blocks and 12 rows more; rows 200 to 230 are short."""
    monkeypatch.setattr(visible_blocks, "LONG_RUN", 64)
    part = Shared(members=np.array([0]), ranges=RowRanges.from_pairs([(10, 150), (200, 230)]))

    pieces = list(blocks_of([part]).pieces(0, most=3))

    assert [(piece.first, piece.last, piece.rows) for piece in pieces] == [
        (0, 3, slice(10, 106)),
        (3, 4, slice(106, 138)),
        (4, 6, None),
    ]


def test_without_parts_there_are_no_blocks() -> None:
    blocks = blocks_of([])

    assert (blocks.queries.tolist(), blocks.bounds.tolist(), blocks.widest) == ([], [0], 0)
