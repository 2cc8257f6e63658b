"""Codes for tests of the dense channel, and the definition they are held against."""

import numpy as np
import numpy.typing as npt
import pytest
import torch

from index.product import Product, product_self_test
from index.ranges import RowRanges
from index.selection import Ranking

CPU = torch.device("cpu")
PRODUCTS = [
    pytest.param(
        Product.TORCH,
        marks=pytest.mark.skipif(not product_self_test(CPU), reason="this CPU's int8 product saturates"),
    ),
    Product.FAISS,
    Product.COMPILED,
]

Codes = npt.NDArray[np.int8]


def brute_force(
    codes: Codes, order: npt.NDArray[np.int32], query: Codes, ranges: RowRanges, k: int
) -> tuple[list[int], list[int]]:
    """The definition: int64 products of the visible rows, sorted whole."""
    rows = ranges.rows()
    scores = codes[rows].astype(np.int64) @ query.astype(np.int64)
    best = np.lexsort((order[rows], -scores))[:k]
    return rows[best].tolist(), scores[best].tolist()


def lists(ranking: Ranking) -> tuple[list[int], list[int]]:
    return ranking.rows.tolist(), ranking.scores.tolist()


def corpus(
    count: int, dimension: int, *, seed: int, largest: int = 127, repeated: float = 0.4
) -> tuple[Codes, npt.NDArray[np.int32]]:
    """Random codes, of which a share repeats earlier rows, and a random identity order."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-largest, largest + 1, (count, dimension), dtype=np.int8)
    copies = np.flatnonzero(rng.random(count) < repeated)
    codes[copies] = codes[rng.integers(0, max(count // 20, 1), len(copies))]
    return codes, rng.permutation(count).astype(np.int32)


def subset(count: int, pieces: int, *, seed: int) -> RowRanges:
    """Every other of `2 * pieces` stretches between random cuts."""
    cuts = np.sort(np.random.default_rng(seed).choice(count + 1, size=min(2 * pieces, count), replace=False))
    return RowRanges.from_pairs(zip(cuts[::2].tolist(), cuts[1::2].tolist(), strict=False))


def everything(count: int) -> RowRanges:
    return RowRanges.from_pairs([(0, count)])
