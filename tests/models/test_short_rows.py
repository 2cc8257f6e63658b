"""Tests of models/short_rows.py: which rows share a pass."""

import numpy as np
import pytest
from numpy.typing import NDArray

from models.runtime import TokenBatch
from models.short_rows import passes, together


def batch(length: int, *, rows: int = 1, token: int = 0) -> TokenBatch:
    ids: NDArray[np.int64] = np.full((rows, length), token, np.int64)
    return TokenBatch(ids=ids, mask=np.ones_like(ids), types=np.zeros_like(ids))


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], []),
        ([16], [(0,)]),
        ([16] * 8, [tuple(range(8))]),
        ([16] * 9, [(0, 1, 2, 3), (4, 5, 6, 7, 8)]),
        ([32] * 5, [(0, 1), (2, 3, 4)]),
        ([48, 48], [(0,), (1,)]),
        ([64, 16, 32, 16, 32], [(0,), (1, 3), (2, 4)]),
    ],
)
def test_short_rows_of_one_length_share_passes_as_evenly_as_they_can(
    lengths: list[int], expected: list[tuple[int, ...]]
) -> None:
    assert passes([batch(length) for length in lengths]) == expected


def test_a_batch_of_several_rows_stays_as_it_is() -> None:
    assert passes([batch(16), batch(16, rows=2), batch(16)]) == [(0, 2), (1,)]


def test_rows_lie_together_in_the_order_given() -> None:
    joined = together([batch(2, token=5), batch(2, token=7)])

    assert joined.ids.tolist() == [[5, 5], [7, 7]]
    assert joined.mask.shape == joined.types.shape == (2, 2)
