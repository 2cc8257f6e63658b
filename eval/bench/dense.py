"""How fast is exact dense search over visible rows, against faiss with a bitmap of them?"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from eval.bench.errors import AnswersDiffer
from eval.bench.faiss_peer import FaissPeer, Floats, Ints, Kind, tuned_for
from eval.bench.rounds import Comparison, Effort, in_turn
from index.dense import DenseIndex
from index.product import LARGEST_CODE
from index.ranges import RowRanges
from index.selection import Ranking

K = 100
QUERIES = (1, 64)
VISIBLE_PERCENT = (1, 10, 100)
_RUNS = 16  # of rows, that the visible ones lie in
_SEED = 12
_SPREAD = 32.0  # of a code: normalized vectors of 384 numbers at scale 0.2

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    rows: int
    dimension: int


_SIZES = {Effort.FULL: _Sizes(rows=200_000, dimension=384), Effort.QUICK: _Sizes(rows=4_000, dimension=64)}


def run(device: torch.device, effort: Effort) -> list[Comparison]:
    """One comparison for each kind of faiss index, number of queries and share of rows visible. faiss runs on the CPU.

    Raises AnswersDiffer.
    """
    sizes = _SIZES[effort]
    codes = _codes(sizes)
    rows, queries = codes[: sizes.rows], codes[sizes.rows :]
    ours = DenseIndex(rows, np.arange(sizes.rows, dtype=np.int32), device)
    found = []
    for percent in VISIBLE_PERCENT:
        ranges = _visible(sizes.rows, percent)
        for kind in Kind:
            peer = FaissPeer(kind, rows, ranges.contains(np.arange(sizes.rows)))
            found += [_compared(ours, peer, queries[:count], ranges, percent) for count in QUERIES]
    return found


def _compared(ours: DenseIndex, peer: FaissPeer, queries: Codes, ranges: RowRanges, percent: int) -> Comparison:
    asked = "1 query" if len(queries) == 1 else f"{len(queries)} queries"
    work = f"dense top {K}, {asked}, {percent}% visible"
    wide = queries.astype(np.float32)

    def ask_us() -> list[Ranking]:
        return ours.topk(queries, ranges=ranges, k=K)

    def ask_peer() -> tuple[Floats, Ints]:
        return peer.search(wide, K)

    _require_equal(work, ask_us(), *ask_peer())
    with tuned_for(ask_peer):
        timed = in_turn(ask_us, ask_peer)
    return Comparison(
        work=work,
        us=f"muniment ({ours.product}, {ours.device})",
        peer=peer.kind.value,
        equal=f"the {K} best scores of every query, and all rows above the last of them",
        amount=len(queries),
        unit="queries",
        sizes={"rows": peer.rows, "dimension": queries.shape[1], "visible": ranges.count, "runs": len(ranges.starts)},
        ours=timed[0],
        theirs=timed[1],
    )


def _require_equal(work: str, ours: list[Ranking], scores: Floats, rows: Ints) -> None:
    """Rows that tie with the last score are left out: faiss takes any of them."""
    for found, their_scores, their_rows in zip(ours, scores, rows, strict=True):
        if not np.array_equal(found.scores.astype(np.float32), their_scores[: len(found.scores)]):
            raise AnswersDiffer(work, "other scores")
        above = found.scores > found.scores[-1]
        if set(found.rows[above].tolist()) != set(their_rows[: len(above)][above].tolist()):
            raise AnswersDiffer(work, "other rows")


def _visible(rows: int, percent: int) -> RowRanges:
    """That share of the rows, in runs spread evenly, as the labels of one caller would lie."""
    if percent == 100:
        return RowRanges.from_pairs([(0, rows)])
    starts = [at * rows // _RUNS for at in range(_RUNS)]
    return RowRanges.from_pairs((start, start + rows * percent // 100 // _RUNS) for start in starts)


def _codes(sizes: _Sizes) -> Codes:
    """Rows, then queries."""
    rng = np.random.default_rng(_SEED)
    drawn = rng.standard_normal((sizes.rows + max(QUERIES), sizes.dimension), dtype=np.float32)
    drawn *= _SPREAD
    return np.clip(np.rint(drawn, out=drawn), -LARGEST_CODE, LARGEST_CODE, out=drawn).astype(np.int8)
