"""Which rows score best, where the codes lie on a GPU?

What a GPU is slow at is what a CPU does without thinking: small calls, and waiting for them. So all queries go through
the same few large calls, whatever each of them sees, and the CPU waits once, for the first k rows of all. First the
best score of every visible block of rows; then, of the blocks whose best scores are highest, every row, ordered by one
integer that holds score and identity. The first k rows lie in the k blocks that come first in that order, and since
blocks are told apart by scores alone, some more are looked at: where even those all tie, more again.

The same code runs on a CPU, for tests. Useful for `dense` alone, as `torch_scan` is.
"""

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import pad

from index.device_blocks import SeenBlocks, pinned, sent
from index.selection import Ranking
from index.sharing import Shared
from index.torch_scan import FEWEST_QUERIES, int8_product, on
from index.visible_blocks import BLOCK, Blocks, Piece, blocks_of

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

SPARE_BLOCKS = 32  # more than k; so many blocks may tie with the k-th before all is asked again
FEW_PAIRS = 2**15  # of a row and a query: a part of fewer is multiplied with others, pair by pair, and not by itself

# By the rates of an H200, 4.3 TB/s and some 6 us a launch, and not yet measured on one:
_SCORES_PER_TILE = 2**25  # int32, 128 MiB: the device is busy with a tile for longer than it takes to launch it
_PRODUCTS_AT_ONCE = 2**27  # int32, 512 MiB, of pairs
_KEYS_AT_ONCE = 2**26  # int64, 512 MiB
_MAXIMA = 2**29  # int32, 2 GiB, of blocks that all queries of one pass see

_ALIGNED = 16  # bytes: the product may begin at any row
_NO_ROW = torch.iinfo(torch.int64).min  # a key below that of any row
_LOWEST = torch.iinfo(torch.int32).min


class Placed(NamedTuple):
    """On the device. codes: (n, d) int8, d rounded up to a multiple of 16 by zeros. order: (n,) int32."""

    codes: torch.Tensor
    order: torch.Tensor


class DeviceScan:
    """The codes of one generation and their identity order, for one device. Safe for threads.

    codes: (n, d) int8. order: (n,) int32, none twice. They are copied to the device once, by the first call that finds
    room for them.
    """

    def __init__(self, codes: Codes, order: npt.NDArray[np.int32], device: torch.device) -> None:
        self._codes, self._order = codes, order
        self._device = device
        self._placing = Lock()
        self._placed: Placed | None = None

    @property
    def is_placed(self) -> bool:
        """Whether codes and order lie on the device."""
        return self._placed is not None

    def place(self) -> Placed:
        """Codes and order on the device. Raises torch.OutOfMemoryError where it has no room for them."""
        with self._placing:
            if self._placed is None:
                codes = pad(on(self._codes, self._device), (0, -self._codes.shape[1] % _ALIGNED))
                self._placed = Placed(codes, on(self._order, self._device))
            return self._placed

    def rankings(self, queries: Codes, parts: Sequence[Shared], k: int, *, divisor: int) -> list[Ranking]:
        """The first k rows of each query over the parts that it is a member of: score descending, then order.

        queries: (q, d) int8. divisor: of how much is worked on at once. Raises torch.OutOfMemoryError.
        """
        found = [Ranking(rows=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.int64))] * len(queries)
        for blocks in _passes(parts, most=_MAXIMA // divisor):
            one = _Pass(self.place(), queries, blocks, divisor)
            for query, ranking in zip(blocks.queries.tolist(), one.rankings(k), strict=True):
                found[query] = ranking
        return found


def pair_products(codes: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    """(u, b) int32, exact: of each of (u, b, d) int8 and its own of (u, d) int8."""
    return torch.sum(codes * queries.to(torch.int32)[:, None], dim=2, dtype=torch.int32)


def _passes(parts: Sequence[Shared], *, most: int) -> Iterator[Blocks]:
    """The blocks of all queries, or of as many at a time as have `most` columns together."""
    blocks = blocks_of(parts)
    at_once = max(most // max(blocks.widest, 1), 1)
    if len(blocks.queries) <= at_once:
        yield from [blocks] if len(blocks.queries) else []
        return
    for first in range(0, len(blocks.queries), at_once):
        wanted = blocks.queries[first : first + at_once]
        few = [Shared(members=np.intersect1d(part.members, wanted), ranges=part.ranges) for part in parts]
        yield blocks_of([part for part in few if len(part.members)])


class _Pass:
    """One pass for the queries of `blocks`, which count from 0 here. What it makes on the device goes with it."""

    def __init__(self, placed: Placed, queries: Codes, blocks: Blocks, divisor: int) -> None:
        self._codes, self._order = placed
        self._device = self._codes.device
        self._blocks, self._seen = blocks, SeenBlocks.of(blocks, self._device)
        dimension = self._codes.shape[1]
        asked = np.pad(queries[blocks.queries], ((0, 0), (0, dimension - queries.shape[1])))
        self._queries = pinned(asked, self._device).to(self._device, non_blocking=True)
        self._lanes = torch.arange(BLOCK, device=self._device)
        self._tile = _SCORES_PER_TILE // divisor
        self._pairs = max(_PRODUCTS_AT_ONCE // divisor // (BLOCK * dimension), 1)
        self._keys = _KEYS_AT_ONCE // divisor

    def rankings(self, k: int) -> list[Ranking]:
        """The first k rows of each query."""
        widest = self._seen.widest
        k, chosen = min(k, widest * BLOCK), min(k + SPARE_BLOCKS, widest)
        maxima = self._maxima() if chosen < widest else None
        waiting = np.arange(len(self._blocks.queries))
        found = np.empty((len(waiting), 2 * k), dtype=np.int64)
        while waiting.size:
            (asked,) = sent([waiting], self._device)
            best = self._best(asked, maxima, chosen=chosen, k=k).cpu().numpy()  # the one wait, but for long ties
            found[waiting] = best[:, : 2 * k]
            waiting, chosen = waiting[best[:, 2 * k] == 0], min(4 * chosen, widest)
        keys, rows = found[:, :k], found[:, k:]
        scores = -(-keys >> 32)  # rounds up: the order was taken off
        counts = (keys != _NO_ROW).sum(axis=1).tolist()
        return [Ranking(rows=rows[at, :count], scores=scores[at, :count]) for at, count in enumerate(counts)]

    def _maxima(self) -> torch.Tensor:
        """(q, widest) int32: the best score in each column, _LOWEST behind a query's last."""
        blocks = self._blocks
        maxima = torch.full((len(blocks.queries), self._seen.widest), _LOWEST, dtype=torch.int32, device=self._device)
        sizes = np.diff(blocks.bounds)
        members = np.bincount(blocks.seen_part, minlength=len(sizes))
        is_small = sizes * BLOCK * members < FEW_PAIRS
        for part in np.flatnonzero(~is_small).tolist():
            self._add_part(part, maxima)
        sights = np.flatnonzero(is_small[blocks.seen_part])
        if sights.size:
            self._add_pairs(sights, maxima)
        return maxima

    def _add_part(self, part: int, maxima: torch.Tensor) -> None:
        """By matrix products of its rows with the queries that see it."""
        blocks = self._blocks
        sights = np.flatnonzero(blocks.seen_part == part)
        members, columns = sent([blocks.seen_by[sights], blocks.seen_column[sights]], self._device)
        count = len(members)
        lines = max(count + -count % 8, FEWEST_QUERIES)
        left = pad(self._queries.index_select(0, members), (0, 0, 0, lines - count))
        first = int(blocks.bounds[part])
        for piece in blocks.pieces(part, most=max(self._tile // (lines * BLOCK), 1)):
            scores = int8_product(left, self._codes_of(piece))[:count].view(count, -1, BLOCK)
            into = torch.arange(piece.first - first, piece.last - first, device=self._device)
            maxima[members[:, None], columns[:, None] + into] = scores.amax(dim=2)

    def _codes_of(self, piece: Piece) -> torch.Tensor:
        """(32 times its blocks, d) int8. Where there is no row, one of the same block again: no maximum changes."""
        if piece.rows is not None:
            return self._codes[piece.rows]
        places = torch.arange(piece.first * BLOCK, piece.last * BLOCK, device=self._device)
        return self._codes.index_select(0, self._seen.rows(places)[0])

    def _add_pairs(self, sights: Ints, maxima: torch.Tensor) -> None:
        """By products of single queries and single blocks: all blocks of these sights, whatever parts they are of."""
        blocks = self._blocks
        parts = blocks.seen_part[sights]
        sizes = np.diff(blocks.bounds)[parts]
        before = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        whose, first_column, first_block, first, size = sent(
            [blocks.seen_by[sights], blocks.seen_column[sights], blocks.bounds[parts], before, sizes], self._device
        )
        sight = torch.repeat_interleave(size, output_size=total)
        into = torch.arange(total, device=self._device) - first[sight]
        pairs = (whose[sight], first_column[sight] + into, first_block[sight] + into)
        for asked, columns, chosen in zip(*(torch.split(array, self._pairs) for array in pairs), strict=True):
            maxima[asked, columns] = self._scored(asked, chosen).scores.amax(dim=1)

    def _best(self, asked: torch.Tensor, maxima: torch.Tensor | None, *, chosen: int, k: int) -> torch.Tensor:
        """(asked, 2k + 1) int64: the keys of the first k rows by the `chosen` best columns, best first, _NO_ROW where
        there are fewer; these rows; and whether no other column can hold one of the first k."""
        at_once = max(self._keys // (chosen * BLOCK), 1)
        return torch.cat([self._best_of(some, maxima, chosen=chosen, k=k) for some in torch.split(asked, at_once)])

    def _best_of(self, asked: torch.Tensor, maxima: torch.Tensor | None, *, chosen: int, k: int) -> torch.Tensor:
        """As `_best`, at once."""
        widths = self._seen.widths[asked]
        if maxima is None or chosen == self._seen.widest:
            columns = torch.arange(chosen, device=self._device).expand(len(asked), chosen)
            floors = torch.full_like(widths, _LOWEST)
        else:
            known = maxima if len(asked) == len(maxima) else maxima.index_select(0, asked)
            top = known.topk(chosen, dim=1, sorted=False)
            columns, floors = top.indices, top.values.amin(dim=1)
        is_column = columns < widths[:, None]
        held = self._seen.blocks(asked[:, None], torch.where(is_column, columns, 0))
        keys = torch.cat(
            [
                self._keys_of(*some)
                for some in zip(
                    torch.split(asked[:, None].expand_as(held).reshape(-1), self._pairs),
                    torch.split(held.view(-1), self._pairs),
                    torch.split(is_column.view(-1), self._pairs),
                    strict=True,
                )
            ]
        )
        first = keys.view(len(asked), chosen * BLOCK).topk(k, dim=1)
        places = held.gather(1, first.indices // BLOCK) * BLOCK + first.indices % BLOCK
        rows, _ = self._seen.rows(places)
        last = -(-first.values[:, -1] >> 32)
        is_sure = (last > floors) | (widths <= chosen)
        return torch.cat([first.values, rows, is_sure[:, None]], dim=1)

    def _keys_of(self, asked: torch.Tensor, blocks: torch.Tensor, is_wanted: torch.Tensor) -> torch.Tensor:
        """(u, 32) int64: one integer for each row of block u, which orders as (score descending, order ascending) does
        for query u; _NO_ROW where there is none or it is not wanted."""
        scored = self._scored(asked, blocks)
        keys = (scored.scores.to(torch.int64) << 32) - self._order[scored.rows]
        return torch.where(scored.is_row & is_wanted[:, None], keys, _NO_ROW)

    def _scored(self, asked: torch.Tensor, blocks: torch.Tensor) -> "_Scored":
        """The rows of block u, scored for query u."""
        rows, is_row = self._seen.rows(blocks[:, None] * BLOCK + self._lanes)
        codes = self._codes.index_select(0, rows.view(-1)).view(len(blocks), BLOCK, -1)
        return _Scored(rows, is_row, pair_products(codes, self._queries.index_select(0, asked)))


class _Scored(NamedTuple):
    """(u, 32) each: a row, whether there is one at this place, and its int32 score."""

    rows: torch.Tensor
    is_row: torch.Tensor
    scores: torch.Tensor
