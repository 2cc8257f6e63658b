"""Which usable units lie closest to each query's embedding?

Exact inner products of int8 codes, summed in integers: the same scores and order on every device, alone or in a
batch, over any visible subset, whatever other callers of the same call see (R10). Who multiplies is `product`'s to
choose; that no row outside a query's ranges is read for it is `sharing`'s to see to.

Where a device has no memory left, the answer is the same and comes later: from smaller tiles, else from the CPU.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from index.compiled_scan import CompiledScan
from index.device_scan import DeviceScan
from index.faiss_scan import FaissScan
from index.gathering import Gathering
from index.product import DIMENSIONS, LARGEST_CODE, Product, choose_product
from index.ranges import RowRanges
from index.selection import Ranking, Shortlist
from index.sharing import Shared, shared_rows
from index.torch_scan import TorchScan

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

MANY_QUERIES = 16  # over the same rows: from here on a matrix product beats the compiled loop on a CPU
MANY_ROWS = 512  # of them: below, a call of the matrix product costs more than it saves

GATHERED_ROWS = 65_536  # a search of so many rows takes a millisecond or more: worth a pass with others who wait
MOST_GATHERED = 64

_CPU = torch.device("cpu")
_DIVISORS = (1, 2, 4)  # of the tile: out of memory, it is halved, twice at most
_ROWS_PER_SUM = 4096  # rows widened at once when single rows are scored


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    """One query of one caller. on_fallback: as of `DenseIndex.telling`."""

    query: Codes
    ranges: RowRanges
    k: int
    on_fallback: Callable[[], None] | None


class _Scan(Protocol):
    """The codes of one generation, and who multiplies them."""

    @property
    def is_placed(self) -> bool:
        """Whether the codes lie where they are multiplied."""

    def place(self) -> object:
        """Bring them there. Raises torch.OutOfMemoryError."""

    def offer(self, queries: Codes, parts: Sequence[Shared], shortlist: Shortlist, k: int, *, divisor: int) -> None:
        """Offer each query every row of its parts that may belong to its first k. divisor: of the size of the pieces
        that it works in. Raises torch.OutOfMemoryError; the shortlist is then of no use."""


class DenseIndex:
    """The codes of one generation, ready to be searched. Safe for threads.

    codes: (n, d) int8 in [-127, 127], C-contiguous, may be a read-only memory map. On CUDA they are copied there, as
    soon as there is room. order: (n,) int32, the identity rank of every row, none twice; ties are broken by it (R11).
    gathers: whether large searches that wait at the same time share a pass.
    Raises ValueError for arrays of another kind and for dimensions where sums could round, RuntimeError when the
    product asked for (with `auto`: any) does not compute exactly on this machine.
    """

    def __init__(
        self,
        codes: Codes,
        order: npt.NDArray[np.int32],
        device: torch.device,
        product: Product | str = Product.AUTO,
        *,
        gathers: bool = True,
    ) -> None:
        _check_arrays(codes, order)
        asked = Product(product)
        try:
            self._product = choose_product(device, asked)
        except torch.OutOfMemoryError:  # no room for a proof: left to the CPU, until the next generation is opened
            device = _CPU
            self._product = choose_product(device, asked)
        self._device = device if self._product is Product.TORCH else _CPU
        self._few = Product.COMPILED if asked is Product.AUTO and self._device == _CPU else self._product
        self._threads = torch.get_num_threads()
        several = self._threads > 1
        self._workers = ThreadPoolExecutor(self._threads, thread_name_prefix="dense") if several else None
        self._gathers = gathers
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
        self._gathering = Gathering(self._answer, most=MOST_GATHERED)
        self._scans: tuple[_Scan, _Scan] | DeviceScan
        self._placing: _Scan | DeviceScan
        if self._device.type == "cuda":
            self._check_dimension(self._product)
            self._scans = self._placing = DeviceScan(codes, order, self._device)
        else:
            many = self._scan(self._product, self._device)
            few = self._scan(self._few, self._device) if self._few is not self._product else many
            self._scans, self._placing = (few, many), many
        with suppress(torch.OutOfMemoryError):  # each call tries again
            self._placing.place()

    @property
    def product(self) -> Product:
        """Who multiplies here, for many queries at once: TORCH, FAISS or COMPILED."""
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
        if self._gathers and len(queries) == 1 and ranges.count >= GATHERED_ROWS:
            self._check_asked(queries, [ranges], k)
            asked = _Asked(query=queries[0], ranges=ranges, k=k, on_fallback=self._on_fallback)
            return [self._gathering.ask(asked)]
        return self.topk_each(queries, scopes=[ranges] * len(queries), k=k)

    def topk_each(self, queries: Codes, *, scopes: Sequence[RowRanges], k: int) -> list[Ranking]:
        """As `topk`, each query over ranges of its own, (q,): what it gets alone. Rows that several queries see are
        read once for all of them."""
        self._check_asked(queries, scopes, k)
        return self._found(queries, scopes, k, on_fallback=self._on_fallback)

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

    def _answer(self, asked: Sequence[_Asked]) -> list[Ranking]:
        """What each of those who were gathered gets: the first of as many as any of them wants."""

        def on_fallback() -> None:
            for one in asked:
                if one.on_fallback is not None:
                    one.on_fallback()

        queries, scopes = np.stack([one.query for one in asked]), [one.ranges for one in asked]
        found = self._found(queries, scopes, max(one.k for one in asked), on_fallback=on_fallback)
        return [
            Ranking(rows=ranking.rows[: one.k], scores=ranking.scores[: one.k])
            for one, ranking in zip(asked, found, strict=True)
        ]

    def _found(
        self, queries: Codes, scopes: Sequence[RowRanges], k: int, *, on_fallback: Callable[[], None] | None
    ) -> list[Ranking]:
        """The rankings, each within its own scope."""
        found = self._on_some_device(queries, shared_rows(scopes), k, on_fallback=on_fallback)
        assert all(ranges.contains(ranking.rows).all() for ranges, ranking in zip(scopes, found, strict=True))
        return found

    def _on_some_device(
        self, queries: Codes, parts: Sequence[Shared], k: int, *, on_fallback: Callable[[], None] | None
    ) -> list[Ranking]:
        """The rankings by the device, or where it has no memory left, for this call, by the CPU. The next tries the
        device again."""
        for divisor in _DIVISORS:
            try:
                return self._ranked(self._scans, queries, parts, k, divisor)
            except torch.OutOfMemoryError:
                pass
            # Outside the except: its traceback would hold the tensors that must go before less is tried.
            torch.cuda.empty_cache()
            if not self._placing.is_placed:
                break
        if on_fallback is not None:
            on_fallback()
        on_cpu = (self._scan(Product.COMPILED, _CPU), self._scan(choose_product(_CPU, Product.AUTO), _CPU))
        return self._ranked(on_cpu, queries, parts, k, 1)

    def _ranked(
        self, scans: tuple[_Scan, _Scan] | DeviceScan, queries: Codes, parts: Sequence[Shared], k: int, divisor: int
    ) -> list[Ranking]:
        """scans: for rows that few of the queries see, and for those that many do; or one for all."""
        if isinstance(scans, DeviceScan):
            return scans.rankings(queries, parts, k, divisor=divisor)
        shortlist = Shortlist(queries=len(queries), k=k, order=self._order)
        few: list[Shared] = []
        many: list[Shared] = []
        for part in parts:
            is_much = len(part.members) >= MANY_QUERIES and part.ranges.count >= MANY_ROWS
            (many if is_much else few).append(part)
        for scan, seen in zip(scans, (few, many), strict=True):
            if seen:
                scan.offer(queries, seen, shortlist, k, divisor=divisor)
        return shortlist.rankings()

    def _scan(self, product: Product, device: torch.device) -> _Scan:
        self._check_dimension(product)
        match product:
            case Product.TORCH:
                return TorchScan(self._codes, device)
            case Product.FAISS:
                return FaissScan(self._codes)
            case _:
                return CompiledScan(self._codes, self._order, self._workers, threads=self._threads)

    def _check_dimension(self, product: Product) -> None:
        if not 1 <= self._codes.shape[1] <= DIMENSIONS[product]:
            raise ValueError(
                f"{product} is exact for 1 to {DIMENSIONS[product]} dimensions, got {self._codes.shape[1]}"
            )

    def _check_asked(self, queries: Codes, scopes: Sequence[RowRanges], k: int) -> None:
        self._check(queries)
        if queries.ndim != 2 or k < 1 or len(scopes) != len(queries):
            raise ValueError(f"need (q, d) queries, a scope for each and k of at least 1, got {queries.shape} and {k}")
        for ranges in scopes:
            if ranges.count and ranges.ends[-1] > len(self._codes):
                raise ValueError(f"the ranges end at row {ranges.ends[-1]}, the codes at {len(self._codes)}")

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
