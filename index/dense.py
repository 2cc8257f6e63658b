"""Which usable units lie closest to the query's embedding?

Exact inner products of int8 codes, summed in integers: the same scores and order on every device, alone or in a
batch, over any visible subset (R10). Two products give them. `torch` multiplies int8 tiles (`torch._int_mm`), with
the same code on CPU and CUDA; on CPUs without VNNI it saturates, so it serves only after a self-test with codes that
provoke it. `faiss` searches an 8-bit direct-signed index made of the visible rows; its float32 sums are exact while
they stay below 2^24. Neither is ever given a selector: faiss on CUDA ignores one, and on the CPU it reads every row.

Where a device has no memory left, the answer is the same and comes later: from smaller tiles, else from the CPU.

The only module that imports faiss.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from enum import StrEnum
from functools import cache
from typing import Protocol

import faiss
import numpy as np
import numpy.typing as npt
import torch

from index.ranges import RowRanges
from index.selection import Ranking, Shortlist
from index.tiles import Tile, tiles
from index.torch_scan import FEWEST_QUERIES, TorchScan, int8_product, on

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

LARGEST_CODE = 127  # -128 is not a code: the quantizer is symmetric
FAISS_DIMENSIONS = 2**24 // LARGEST_CODE**2  # 1040: every partial sum is an integer that float32 holds exactly
TORCH_DIMENSIONS = (2**31 - 1) // LARGEST_CODE**2  # 133,144: int32 holds every sum

_CPU = torch.device("cpu")
_DIVISORS = (1, 2, 4)  # of the tile: out of memory, it is halved, twice at most (threat C4)
_FAISS_TILE = 8192  # rows converted at once: 3 MiB at 384 dimensions
_ROWS_PER_SUM = 4096  # rows widened at once when single rows are scored


class Product(StrEnum):
    """Who multiplies. `AUTO` is torch where its self-test holds, else faiss."""

    AUTO = "auto"
    TORCH = "torch"
    FAISS = "faiss"


class _Scan(Protocol):
    """The codes of one generation, and who multiplies them."""

    @property
    def is_placed(self) -> bool:
        """Whether the codes lie where they are multiplied."""

    def place(self) -> object:
        """Bring them there. Raises torch.OutOfMemoryError."""

    def offer(self, queries: Codes, ranges: RowRanges, shortlist: Shortlist, k: int, *, divisor: int) -> None:
        """Offer every row of `ranges` that may belong to the shortlist. divisor: of the size of the pieces that it
        works in. Raises torch.OutOfMemoryError; the shortlist is then of no use."""


class DenseIndex:
    """The codes of one generation, ready to be searched. Safe for threads.

    codes: (n, d) int8 in [-127, 127], C-contiguous, may be a read-only memory map. On CUDA they are copied there, as
    soon as there is room. order: (n,) int32, the identity rank of every row, none twice; ties are broken by it (R11).
    Raises ValueError for arrays of another kind and for dimensions where sums could round, RuntimeError when the
    product asked for (with `auto`: any) does not compute exactly on this machine.
    """

    def __init__(
        self, codes: Codes, order: npt.NDArray[np.int32], device: torch.device, product: Product | str = Product.AUTO
    ) -> None:
        _check_arrays(codes, order)
        try:
            self._product = choose_product(device, Product(product))
        except torch.OutOfMemoryError:  # no room for a proof: left to the CPU, until the next generation is opened
            device = _CPU
            self._product = choose_product(device, Product(product))
        self._device = device if self._product is Product.TORCH else _CPU
        self._on_fallback: Callable[[], None] | None = None
        self._hold(codes, order)

    def beside(self, codes: Codes, order: npt.NDArray[np.int32]) -> "DenseIndex":
        """An index of other rows, on the same device and by the same product, which is not proven once more."""
        _check_arrays(codes, order)
        other = copy(self)
        other._hold(codes, order)
        return other

    def telling(self, on_fallback: Callable[[], None]) -> "DenseIndex":
        """This index, for one request: `on_fallback` hears of each call that the CPU answered for the device (R15)."""
        other = copy(self)
        other._on_fallback = on_fallback
        return other

    def _hold(self, codes: Codes, order: npt.NDArray[np.int32]) -> None:
        self._codes, self._order = codes, order
        self._scan = _scan(codes, self._device, self._product)
        with suppress(torch.OutOfMemoryError):  # each call tries again
            self._scan.place()

    @property
    def product(self) -> Product:
        """Who multiplies here: TORCH or FAISS."""
        return self._product

    @property
    def device(self) -> torch.device:
        """Where it happens."""
        return self._device

    def topk(self, queries: Codes, *, ranges: RowRanges, k: int) -> list[Ranking]:
        """For each query its first `k` rows of `ranges`: score descending, then `order` ascending.

        queries: (q, d) int8 in [-127, 127]. Fewer than k rows is an ordinary answer. Raises ValueError for queries of
        another kind, k < 1, or ranges beyond the codes.
        """
        self._check(queries)
        if queries.ndim != 2 or k < 1:
            raise ValueError(f"need (q, d) queries and k of at least 1, got {queries.shape} and {k}")
        if ranges.count and ranges.ends[-1] > len(self._codes):
            raise ValueError(f"the ranges end at row {ranges.ends[-1]}, the codes at {len(self._codes)}")
        found = self._found(queries, ranges, k) if len(queries) else []
        assert all(ranges.contains(ranking.rows).all() for ranking in found)
        return found

    def score_rows(self, query: Codes, rows: Ints, *, ranges: RowRanges) -> Ints:
        """(len(rows),) int64: the scores of `rows`, in their order, as `topk` gives them.

        query: (d,) int8. Raises ValueError for a row outside `ranges`.
        """
        self._check(query)
        if query.ndim != 1 or not ranges.contains(rows).all():
            raise ValueError("only usable rows are scored: need a (d,) query and rows inside the ranges")
        scores = np.empty(len(rows), dtype=np.int64)
        for first in range(0, len(rows), _ROWS_PER_SUM):
            part = slice(first, first + _ROWS_PER_SUM)
            scores[part] = self._codes[rows[part]].astype(np.int32) @ query.astype(np.int32)
        return scores

    def _found(self, queries: Codes, ranges: RowRanges, k: int) -> list[Ranking]:
        """The rankings by the device, or where it has no memory left, for this call, by the CPU. The next tries the
        device again."""
        for divisor in _DIVISORS:
            try:
                return self._ranked(self._scan, queries, ranges, k, divisor)
            except torch.OutOfMemoryError:
                pass
            # Outside the except: its traceback would hold the tensors that must go before less is tried.
            torch.cuda.empty_cache()
            if not self._scan.is_placed:
                break
        if self._on_fallback is not None:
            self._on_fallback()
        return self._ranked(_scan(self._codes, _CPU, choose_product(_CPU, Product.AUTO)), queries, ranges, k, 1)

    def _ranked(self, scan: _Scan, queries: Codes, ranges: RowRanges, k: int, divisor: int) -> list[Ranking]:
        shortlist = Shortlist(queries=len(queries), k=k, order=self._order)
        scan.offer(queries, ranges, shortlist, k, divisor=divisor)
        return shortlist.rankings()

    def _check(self, queries: Codes) -> None:
        if queries.dtype != np.int8 or queries.shape[-1:] != self._codes.shape[1:]:
            raise ValueError(f"need int8 queries of {self._codes.shape[1]} dimensions, got {queries.shape}")
        if (queries < -LARGEST_CODE).any():
            raise ValueError(f"codes lie between {-LARGEST_CODE} and {LARGEST_CODE}")


def _check_arrays(codes: Codes, order: npt.NDArray[np.int32]) -> None:
    if codes.dtype != np.int8 or codes.ndim != 2 or not codes.flags.c_contiguous:
        raise ValueError(f"need (n, d) int8 codes, C-contiguous, got {codes.shape} {codes.dtype}")
    if order.dtype != np.int32 or order.shape != codes.shape[:1]:
        raise ValueError(f"need the int32 order of {len(codes)} rows, got {order.shape} {order.dtype}")


@cache
def choose_product(device: torch.device, asked: Product = Product.AUTO) -> Product:
    """TORCH or FAISS, proven exact on this machine, once in a process (30 ms). Raises RuntimeError when what was asked
    for is not."""
    if asked is not Product.FAISS and product_self_test(device):
        return Product.TORCH
    if asked is not Product.TORCH and faiss_self_test():
        return Product.FAISS
    raise RuntimeError(f"the int8 product `{asked}` does not compute exactly on {device}")


def product_self_test(device: torch.device) -> bool:
    """Whether the int8 product on `device` equals integer arithmetic where instructions without VNNI saturate."""
    try:
        return all(
            np.array_equal(int8_product(on(queries, device), on(rows, device)).cpu().numpy(), expected)
            for queries, rows, expected in _provoking_codes()
        )
    except torch.OutOfMemoryError:  # says nothing about the product
        raise
    except RuntimeError:  # the device has no int8 product
        return False


def faiss_self_test() -> bool:
    """Whether this build of faiss returns exact inner products of 8-bit codes, best first."""
    for queries, rows, expected in _provoking_codes():
        scores, places = _faiss_index(rows).search(queries.astype(np.float32), len(rows))
        if not np.array_equal(scores, -np.sort(-expected)) or not np.array_equal(
            np.take_along_axis(expected, places, axis=1), scores
        ):
            return False
    return True


def _scan(codes: Codes, device: torch.device, product: Product) -> _Scan:
    limit = TORCH_DIMENSIONS if product is Product.TORCH else FAISS_DIMENSIONS
    if not 1 <= codes.shape[1] <= limit:
        raise ValueError(f"{product} is exact for 1 to {limit} dimensions, got {codes.shape[1]}")
    return TorchScan(codes, device) if product is Product.TORCH else _FaissScan(codes)


class _FaissScan:
    is_placed = True

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    def place(self) -> Codes:
        return self._codes

    def offer(self, queries: Codes, ranges: RowRanges, shortlist: Shortlist, k: int, *, divisor: int) -> None:
        wide = queries.astype(np.float32)
        for tile in tiles(ranges, rows_per_tile=_FAISS_TILE // divisor):
            _offer_found(_faiss_index(self._codes[tile.rows]), wide, tile, shortlist, k)


def _offer_found(
    index: faiss.IndexScalarQuantizer, queries: npt.NDArray[np.float32], tile: Tile, shortlist: Shortlist, k: int
) -> None:
    """Offer what reaches the floor. Of equal scores faiss drops any: it is asked again, for more, while the last
    score it gave still ties with the k-th. (Its `range_search` decodes row by row: 130 ms where a search takes 4.)"""
    floors = shortlist.floors
    waiting = np.arange(len(queries))
    wanted = min(k + 1, index.ntotal)
    while waiting.size:
        scores, columns = index.search(queries[waiting], wanted)
        least = floors[waiting].astype(np.float64)
        if wanted > k:
            least = np.maximum(least, scores[:, k - 1])
        complete = (scores[:, -1] < least) | (wanted == index.ntotal)
        good = (scores >= least[:, None]) & (columns >= 0) & complete[:, None]
        shortlist.add(waiting[good.nonzero()[0]], tile.rows_at(columns[good]), scores[good].astype(np.int64))
        waiting = waiting[~complete]
        wanted = min(4 * wanted, index.ntotal)


def _faiss_index(codes: Codes) -> faiss.IndexScalarQuantizer:
    """An index of (m, d) codes by inner product. faiss stores the code c as c + 128."""
    index = faiss.IndexScalarQuantizer(
        codes.shape[1], faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    )
    index.add_sa_codes(codes.view(np.uint8) ^ np.uint8(128))
    return index


def _provoking_codes() -> Sequence[tuple[Codes, Codes, Ints]]:
    """Queries, rows and their inner products: codes of +-127 at random, and rows and queries of one sign throughout."""
    cases = []
    for dimension, size in ((64, 64), (384, 512), (1040, 256)):
        signs = np.random.default_rng(dimension).integers(0, 2, (FEWEST_QUERIES + size, dimension), dtype=np.int8)
        signs[::5], signs[1::5] = 0, 1
        codes = (signs * 2 - 1) * np.int8(LARGEST_CODE)
        queries, rows = codes[:FEWEST_QUERIES], codes[FEWEST_QUERIES:]
        cases.append((queries, rows, queries.astype(np.int64) @ rows.astype(np.int64).T))
    return cases
