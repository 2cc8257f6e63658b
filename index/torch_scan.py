"""Which rows score best by torch's int8 product, where scores stay in a CPU's cache?

Tiles of rows by `torch._int_mm`, whose sums are int32 and exact (R10) where the self-test of `dense` holds. It runs on
CUDA too, but there `device_scan` serves: this one waits for the device after every tile. Useful for `dense` alone,
which decides what happens when the device has no memory left: here that is an error, and nothing that was made for the
call outlives it.
"""

from collections.abc import Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import pad
from torch.utils.dlpack import from_dlpack

from index.selection import Members, Shortlist
from index.sharing import Shared
from index.tiles import Tile, tiles

Codes = npt.NDArray[np.int8]

FEWEST_QUERIES = 24  # cuBLAS needs more than 16 rows on the left side, and multiples of 8 elsewhere
BLOCK = 32  # columns that share a maximum in the search for scores above the floor; a multiple of 8
_SCORES_PER_TILE = 2**21  # int32 scores in flight: 8 MiB, so that they stay in a CPU's cache


class TorchScan:
    """The codes of one generation for one device. Safe for threads.

    codes: (n, d) int8. They are copied to CUDA once, by the first call that finds room for them.
    """

    def __init__(self, codes: Codes, device: torch.device) -> None:
        self._codes = codes
        self._device = device
        self._placing = Lock()
        self._placed: torch.Tensor | None = None

    @property
    def is_placed(self) -> bool:
        """Whether the codes lie on the device."""
        return self._placed is not None

    def place(self) -> torch.Tensor:
        """The codes on the device. Raises torch.OutOfMemoryError where it has no room for them."""
        with self._placing:
            if self._placed is None:
                self._placed = on(self._codes, self._device)
            return self._placed

    def offer(self, queries: Codes, parts: Sequence[Shared], shortlist: Shortlist, k: int, *, divisor: int) -> None:
        """Offer every row of each part that may belong to the first k of its queries. divisor: of the tile's size.

        Raises torch.OutOfMemoryError; the shortlist is then of no use.
        """
        codes, asked = self.place(), on(queries, self._device)
        for part in parts:
            members = on(part.members, self._device)
            count = len(members)
            lines = max(count + -count % 8, FEWEST_QUERIES)
            left = _padded(asked.index_select(0, members), lines)
            rows_per_tile = max(_SCORES_PER_TILE // divisor // lines // BLOCK, 1) * BLOCK
            for tile in tiles(part.ranges, rows_per_tile=rows_per_tile, align=BLOCK):
                right = (
                    codes[tile.rows]
                    if isinstance(tile.rows, slice)
                    else codes.index_select(0, on(tile.rows, self._device))
                )
                size = len(right)
                scores = int8_product(left, _padded(right, size + -size % BLOCK))[:count]
                _offer_best(scores, size, tile, shortlist.of(part.members), k)


def int8_product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """(a, b) int32, the exact inner products of (a, d) and (b, d) int8. The shapes CUDA refuses are refused on every
    device: a must be above 16; b and d multiples of 8."""
    (a, d), b = left.shape, len(right)
    if a <= 16 or b % 8 or d % 8:
        raise ValueError(f"the int8 product needs more than 16 rows and multiples of 8, got {a} x {d} and {b} x {d}")
    return torch._int_mm(left, right.T)


def on(array: npt.NDArray[np.generic], device: torch.device) -> torch.Tensor:
    """The array on the device; without a copy where it lies there already, read-only memory maps included."""
    return from_dlpack(array).to(device)


def _offer_best(scores: torch.Tensor, size: int, tile: Tile, shortlist: Members, k: int) -> None:
    """Offer what reaches the floor. scores: (members, columns) int32, of which the first `size` columns are rows."""
    blocks = scores.view(len(scores), -1, BLOCK)
    maxima = blocks.amax(dim=2)
    full = size // BLOCK  # the k-th of any of this tile's scores is a floor too, and the maxima are fewer
    pool = maxima[:, :full] if full >= k else scores[:, :size]
    floors = torch.maximum(on(shortlist.floors, scores.device), pool.topk(min(k, size), dim=1).values[:, -1])
    query, block = (maxima >= floors[:, None]).nonzero(as_tuple=True)
    candidates = blocks[query, block]
    at, place = (candidates >= floors[query, None]).nonzero(as_tuple=True)
    column = block[at] * BLOCK + place
    real = column < size
    found = torch.stack([query[at], column, candidates[at, place].to(torch.int64)])[:, real].cpu().numpy()
    shortlist.add(found[0], tile.rows_at(found[1]), found[2])


def _padded(codes: torch.Tensor, lines: int) -> torch.Tensor:
    """(lines, d rounded up to a multiple of 8): `codes`, then zeros, which change no product; itself where it fits."""
    fill = (0, -codes.shape[1] % 8, 0, lines - len(codes))
    return pad(codes, fill) if any(fill) else codes
