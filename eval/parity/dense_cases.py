"""Which codes, queries and scopes could bring out a difference between two ways to multiply? (pure)

Each comes with its scores by numpy in int64, which is the definition.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval.parity.sizes import Sizes
from index.ranges import RowRanges

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

_LARGEST = 127
_FAISS_DIMENSIONS = 1040  # the most at which float32 sums of products of codes are exact: there is no room to spare


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DenseCase:
    """codes: (n, d). order: (n,) int32. queries: (q, d). scores: (n, q) int64, every one by definition. ks: how many
    are asked for."""

    name: str
    codes: Codes
    order: npt.NDArray[np.int32]
    queries: Codes
    scores: Ints
    scopes: Mapping[str, RowRanges]
    ks: tuple[int, ...]

    def expected(self, query: int, ranges: RowRanges, k: int) -> tuple[Ints, Ints]:
        """Rows and scores of the first `k` in `ranges` for a query: score descending, then `order`."""
        rows = ranges.rows()
        scores = self.scores[rows, query]
        best = np.lexsort((self.order[rows], -scores))[:k]
        return rows[best], scores[best]


def cases(sizes: Sizes) -> Iterator[DenseCase]:
    """Random codes; many ties; codes that make int8 and float32 products overflow; more rows than fit into a tile."""
    chance = np.random.default_rng(31)
    rows, queries = sizes.rows, sizes.queries

    def drawn(count: int, dimension: int, largest: int) -> Codes:
        return chance.integers(-largest, largest + 1, (count, dimension), dtype=np.int8)

    random = drawn(rows, 384, _LARGEST)
    yield _case("random", random, drawn(queries, 384, _LARGEST), scopes(rows), (1, 10, 200, rows + 5))
    tied = drawn(rows, 24, 1)
    tied[rows // 3 :] = tied[chance.integers(0, rows // 3, rows - rows // 3)]
    yield _case("tied", tied, drawn(queries, 24, 1), scopes(rows), (1, 10, 200, rows + 5))
    signs = chance.integers(0, 2, (rows // 8 + queries, _FAISS_DIMENSIONS), dtype=np.int8)
    signs[::5], signs[1::5] = 0, 1
    extreme = (signs * 2 - 1) * np.int8(_LARGEST)
    few = rows // 8
    yield _case("extreme", extreme[:few], extreme[few:], scopes(few), (1, 10, few))
    many = sizes.tiled_rows
    rising = drawn(many, 16, 9)
    rising[:, 0] = np.linspace(-_LARGEST, _LARGEST, many).astype(np.int8)  # every tile has new best rows
    asked = drawn(2, 16, 3)
    asked[:, 0] = 40
    yield _case("tiled", rising, asked, {"all": _all(many), "long and short": scopes(many)["long and short"]}, (100,))


def scopes(rows: int) -> dict[str, RowRanges]:
    """What callers may see of `rows` rows, 400 or more: all, nothing, one, some, many single ones, long stretches and
    short ones."""
    chance = np.random.default_rng(rows)
    cuts = np.sort(chance.choice(rows, size=200, replace=False))
    return {
        "all": _all(rows),
        "none": RowRanges.from_pairs([]),
        "one": RowRanges.from_pairs([(rows // 2, rows // 2 + 1)]),
        "few": RowRanges.from_pairs([(3, 5), (rows // 2, rows // 2 + 3), (rows - 1, rows)]),
        "ranges": RowRanges.from_pairs(zip(cuts[::2].tolist(), cuts[1::2].tolist(), strict=True)),
        "single rows": RowRanges.from_rows(np.arange(0, rows, 3, dtype=np.int64)),
        "long and short": RowRanges.from_pairs([(1, 3), (5, rows - 300), (rows - 250, rows - 249), (rows - 9, rows)]),
    }


def _all(rows: int) -> RowRanges:
    return RowRanges.from_pairs([(0, rows)])


def _case(name: str, codes: Codes, queries: Codes, seen: Mapping[str, RowRanges], ks: tuple[int, ...]) -> DenseCase:
    return DenseCase(
        name=name,
        codes=codes,
        order=np.random.default_rng(len(codes)).permutation(len(codes)).astype(np.int32),
        queries=queries,
        scores=codes.astype(np.int64) @ queries.astype(np.int64).T,
        scopes=seen,
        ks=ks,
    )
