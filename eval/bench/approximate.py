"""How much faster is dense search where it is approximate, and how much of the exact answer does it still find?

Our own exact search is the peer. Rows are drawn around topics, as embeddings lie, more of each than are wanted; without
any pattern in them nothing could be left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from eval.bench.errors import AnswersDiffer
from eval.bench.rounds import Comparison, Effort, in_turn
from index.approximate import Approximation, Narrowing, Signs
from index.dense import DenseIndex
from index.ranges import RowRanges
from index.selection import Ranking

K = 200  # what a channel offers by default
QUERIES = 20
OVERSAMPLING = 20  # the default
FLOOR = 0.95
_SEED = 41
_ROWS_OF_A_TOPIC = 500
_ROWS_DRAWN = 50_000  # at once

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    rows: tuple[int, ...]
    dimension: int


_SIZES = {
    Effort.FULL: _Sizes(rows=(100_000, 300_000, 1_000_000), dimension=384),
    Effort.QUICK: _Sizes(rows=(10_000,), dimension=64),
}


def run(device: torch.device, effort: Effort) -> list[Comparison]:
    """One comparison for each number of usable rows, one query at a time. Raises AnswersDiffer below the floor."""
    sizes = _SIZES[effort]
    return [_compared(_clustered(rows + QUERIES, sizes.dimension), device) for rows in sizes.rows]


def _compared(drawn: Codes, device: torch.device) -> Comparison:
    """The first rows ask for the others."""
    queries, codes = drawn[:QUERIES], drawn[QUERIES:]
    work = f"dense top {K} of {len(codes):,} rows, one query"
    exact = DenseIndex(codes, np.arange(len(codes), dtype=np.int32), device)
    signs, ranges = Signs(codes), RowRanges.from_pairs([(0, len(codes))])
    narrowing = Narrowing(Approximation(above=0, oversampling=OVERSAMPLING), threads=torch.get_num_threads())

    def ask_approximate() -> list[Ranking]:
        return [
            exact.topk(query[None], ranges=narrowing.narrow(query, [(signs, ranges)], k=K)[0], k=K)[0]
            for query in queries
        ]

    def ask_exact() -> list[Ranking]:
        return [exact.topk(query[None], ranges=ranges, k=K)[0] for query in queries]

    recall = _recall(ask_approximate(), ask_exact())
    if recall < FLOOR:
        raise AnswersDiffer(work, f"a recall of {recall:.3f}, at least {FLOOR} was expected")
    timed = in_turn(ask_approximate, ask_exact)
    return Comparison(
        work=work,
        us=f"approximate ({exact.device})",
        peer="our exact search",
        equal=f"{recall:.4f} of the rows of every query",
        amount=len(queries),
        unit="queries",
        sizes={"rows": len(codes), "dimension": codes.shape[1], "oversampling": OVERSAMPLING},
        ours=timed[0],
        theirs=timed[1],
    )


def _recall(found: Sequence[Ranking], expected: Sequence[Ranking]) -> float:
    pairs = zip(found, expected, strict=True)
    return sum(len(np.intersect1d(one.rows, other.rows)) / len(other.rows) for one, other in pairs) / len(expected)


def _clustered(rows: int, dimension: int) -> Codes:
    """Topics, and as much again of each row's own; the scale of normalized vectors."""
    rng = np.random.default_rng(_SEED)
    topics = rng.standard_normal((max(rows // _ROWS_OF_A_TOPIC, 1), dimension), dtype=np.float32)
    codes = np.empty((rows, dimension), dtype=np.int8)
    for first in range(0, rows, _ROWS_DRAWN):
        part = codes[first : first + _ROWS_DRAWN]
        own = rng.standard_normal(part.shape, dtype=np.float32)
        drawn = (topics[rng.integers(0, len(topics), len(part))] + own) * np.float32(127 / 0.2 / (2 * dimension) ** 0.5)
        part[:] = np.clip(np.rint(drawn), -127, 127).astype(np.int8)
    return codes
