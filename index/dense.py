"""Which usable units lie closest to the query's embedding?

Exact inner products of int8 codes, summed in integers: the same scores and order on every device, alone or in a
batch, over any visible subset (R10). Two products give them. `torch` multiplies int8 tiles (`torch._int_mm`), with
the same code on CPU and CUDA; on CPUs without VNNI it saturates, so it serves only after a self-test with codes that
provoke it. `faiss` searches an 8-bit direct-signed index made of the visible rows; its float32 sums are exact while
they stay below 2^24. Neither is ever given a selector: faiss on CUDA ignores one, and on the CPU it reads every row.

The only module that imports faiss, and the only one of this package that imports torch.
"""

from collections.abc import Sequence
from copy import copy
from enum import StrEnum
from typing import Protocol

import faiss
import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import pad
from torch.utils.dlpack import from_dlpack

from index.ranges import RowRanges
from index.selection import Ranking, Shortlist
from index.tiles import Tile, tiles

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

LARGEST_CODE = 127  # -128 is not a code: the quantizer is symmetric
FAISS_DIMENSIONS = 2**24 // LARGEST_CODE**2  # 1040: every partial sum is an integer that float32 holds exactly
TORCH_DIMENSIONS = (2**31 - 1) // LARGEST_CODE**2  # 133,144: int32 holds every sum

_FEWEST_QUERIES = 24  # cuBLAS needs more than 16 rows on the left side, and multiples of 8 elsewhere
_BLOCK = 32  # columns that share a maximum in the search for scores above the floor; a multiple of 8
_SCORES_PER_TILE = 2**21  # int32 scores in flight: 8 MiB, so that they stay in a CPU's cache
_FAISS_TILE = 8192  # rows converted at once: 3 MiB at 384 dimensions
_ROWS_PER_SUM = 4096  # rows widened at once when single rows are scored


class Product(StrEnum):
    """Who multiplies. `AUTO` is torch where its self-test holds, else faiss."""

    AUTO = "auto"
    TORCH = "torch"
    FAISS = "faiss"


class DenseIndex:
    """The codes of one generation, ready to be searched. Safe for threads: it holds nothing that changes.

    codes: (n, d) int8 in [-127, 127], C-contiguous, may be a read-only memory map. On CUDA they are copied there.
    order: (n,) int32, the identity rank of every row, none twice; ties are broken by it (R11).
    Raises ValueError for arrays of another kind and for dimensions where sums could round, RuntimeError when the
    product asked for (with `auto`: any) does not compute exactly on this machine.
    """

    def __init__(
        self, codes: Codes, order: npt.NDArray[np.int32], device: torch.device, product: Product | str = Product.AUTO
    ) -> None:
        _check_arrays(codes, order)
        self._product = choose_product(device, Product(product))
        self._device = device if self._product is Product.TORCH else torch.device("cpu")
        self._hold(codes, order)

    def beside(self, codes: Codes, order: npt.NDArray[np.int32]) -> "DenseIndex":
        """An index of other rows, on the same device and by the same product, which is not proven once more."""
        _check_arrays(codes, order)
        other = copy(self)
        other._hold(codes, order)
        return other

    def _hold(self, codes: Codes, order: npt.NDArray[np.int32]) -> None:
        limit = TORCH_DIMENSIONS if self._product is Product.TORCH else FAISS_DIMENSIONS
        if not 1 <= codes.shape[1] <= limit:
            raise ValueError(f"{self._product} is exact for 1 to {limit} dimensions, got {codes.shape[1]}")
        self._codes, self._order = codes, order
        is_torch = self._product is Product.TORCH
        self._scan: _Scan = _TorchScan(codes, self._device) if is_torch else _FaissScan(codes)

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
        shortlist = Shortlist(queries=len(queries), k=k, order=self._order)
        if len(queries):
            self._scan.offer(queries, ranges, shortlist, k)
        found = shortlist.rankings()
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


def choose_product(device: torch.device, asked: Product = Product.AUTO) -> Product:
    """TORCH or FAISS, proven exact on this machine just now. Raises RuntimeError when what was asked for is not."""
    if asked is not Product.FAISS and product_self_test(device):
        return Product.TORCH
    if asked is not Product.TORCH and faiss_self_test():
        return Product.FAISS
    raise RuntimeError(f"the int8 product `{asked}` does not compute exactly on {device}")


def product_self_test(device: torch.device) -> bool:
    """Whether the int8 product on `device` equals integer arithmetic where instructions without VNNI saturate."""
    try:
        return all(
            np.array_equal(_product(_on(queries, device), _on(rows, device)).cpu().numpy(), expected)
            for queries, rows, expected in _provoking_codes()
        )
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


class _Scan(Protocol):
    """Offers a shortlist every row that may belong to it."""

    def offer(self, queries: Codes, ranges: RowRanges, shortlist: Shortlist, k: int) -> None: ...


class _TorchScan:
    def __init__(self, codes: Codes, device: torch.device) -> None:
        self._codes = _on(codes, device)

    def offer(self, queries: Codes, ranges: RowRanges, shortlist: Shortlist, k: int) -> None:
        count = len(queries)
        lines = max(count + -count % 8, _FEWEST_QUERIES)
        left = _padded(_on(queries, self._codes.device), lines)
        rows_per_tile = max(_SCORES_PER_TILE // lines // _BLOCK, 1) * _BLOCK
        for tile in tiles(ranges, rows_per_tile=rows_per_tile, align=_BLOCK):
            right = self._rows(tile)
            size = len(right)
            scores = _product(left, _padded(right, size + -size % _BLOCK))[:count]
            _offer_best(scores, size, tile, shortlist, k)

    def _rows(self, tile: Tile) -> torch.Tensor:
        if isinstance(tile.rows, slice):
            return self._codes[tile.rows]
        return self._codes.index_select(0, _on(tile.rows, self._codes.device))


def _offer_best(scores: torch.Tensor, size: int, tile: Tile, shortlist: Shortlist, k: int) -> None:
    """Offer what reaches the floor. scores: (queries, columns) int32, of which the first `size` columns are rows."""
    blocks = scores.view(len(scores), -1, _BLOCK)
    maxima = blocks.amax(dim=2)
    full = size // _BLOCK  # the k-th of any of this tile's scores is a floor too, and the maxima are fewer
    pool = maxima[:, :full] if full >= k else scores[:, :size]
    floors = torch.maximum(_on(shortlist.floors, scores.device), pool.topk(min(k, size), dim=1).values[:, -1])
    query, block = (maxima >= floors[:, None]).nonzero(as_tuple=True)
    candidates = blocks[query, block]
    at, place = (candidates >= floors[query, None]).nonzero(as_tuple=True)
    column = block[at] * _BLOCK + place
    real = column < size
    found = torch.stack([query[at], column, candidates[at, place].to(torch.int64)])[:, real].cpu().numpy()
    shortlist.add(found[0], tile.rows_at(found[1]), found[2])


class _FaissScan:
    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    def offer(self, queries: Codes, ranges: RowRanges, shortlist: Shortlist, k: int) -> None:
        wide = queries.astype(np.float32)
        for tile in tiles(ranges, rows_per_tile=_FAISS_TILE):
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


def _padded(codes: torch.Tensor, lines: int) -> torch.Tensor:
    """(lines, d rounded up to a multiple of 8): `codes`, then zeros, which change no product; itself where it fits."""
    fill = (0, -codes.shape[1] % 8, 0, lines - len(codes))
    return pad(codes, fill) if any(fill) else codes


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """(a, b) int32, the exact inner products of (a, d) and (b, d) int8. The shapes CUDA refuses are refused on every
    device: a must be above 16; b and d multiples of 8."""
    (a, d), b = left.shape, len(right)
    if a <= 16 or b % 8 or d % 8:
        raise ValueError(f"the int8 product needs more than 16 rows and multiples of 8, got {a} x {d} and {b} x {d}")
    return torch._int_mm(left, right.T)


def _faiss_index(codes: Codes) -> faiss.IndexScalarQuantizer:
    """An index of (m, d) codes by inner product. faiss stores the code c as c + 128."""
    index = faiss.IndexScalarQuantizer(
        codes.shape[1], faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    )
    index.add_sa_codes(codes.view(np.uint8) ^ np.uint8(128))
    return index


def _on(array: npt.NDArray[np.generic], device: torch.device) -> torch.Tensor:
    """The array on the device; without a copy where it lies there already, read-only memory maps included."""
    return from_dlpack(array).to(device)


def _provoking_codes() -> Sequence[tuple[Codes, Codes, Ints]]:
    """Queries, rows and their inner products: codes of +-127 at random, and rows and queries of one sign throughout."""
    cases = []
    for dimension, size in ((64, 64), (384, 512), (1040, 256)):
        signs = np.random.default_rng(dimension).integers(0, 2, (_FEWEST_QUERIES + size, dimension), dtype=np.int8)
        signs[::5], signs[1::5] = 0, 1
        codes = (signs * 2 - 1) * np.int8(LARGEST_CODE)
        queries, rows = codes[:_FEWEST_QUERIES], codes[_FEWEST_QUERIES:]
        cases.append((queries, rows, queries.astype(np.int64) @ rows.astype(np.int64).T))
    return cases
