"""Which rows score best by faiss, on the CPU?

An 8-bit direct-signed index made of the visible rows: float32 sums, exact while they stay below 2^24. It is never given
a selector: faiss on CUDA ignores one, and on the CPU it reads every row.

The only module that imports faiss.
"""

from collections.abc import Sequence

import faiss
import numpy as np
import numpy.typing as npt

from index.selection import Members, Shortlist
from index.sharing import Shared
from index.tiles import Tile, tiles

Codes = npt.NDArray[np.int8]

_TILE = 8192  # rows converted at once: 3 MiB at 384 dimensions


class FaissScan:
    """The codes of one generation: (n, d) int8. Safe for threads."""

    is_placed = True

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    def place(self) -> Codes:
        """The codes, where they are."""
        return self._codes

    def offer(self, queries: Codes, parts: Sequence[Shared], shortlist: Shortlist, k: int, *, divisor: int) -> None:
        """Offer every row of each part that may belong to the first k of its queries. divisor: of the tile's size."""
        for part in parts:
            wide = queries[part.members].astype(np.float32)
            for tile in tiles(part.ranges, rows_per_tile=_TILE // divisor):
                offer_found(faiss_index(self._codes[tile.rows]), wide, tile, shortlist.of(part.members), k)


def offer_found(
    index: faiss.IndexScalarQuantizer, queries: npt.NDArray[np.float32], tile: Tile, shortlist: Members, k: int
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


def faiss_index(codes: Codes) -> faiss.IndexScalarQuantizer:
    """An index of (m, d) codes by inner product. faiss stores the code c as c + 128."""
    index = faiss.IndexScalarQuantizer(
        codes.shape[1], faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    )
    index.add_sa_codes(codes.view(np.uint8) ^ np.uint8(128))
    return index
