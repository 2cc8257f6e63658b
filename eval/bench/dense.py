"""How fast is exact dense search over visible rows, against faiss with a bitmap of them?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from eval.bench.errors import AnswersDiffer
from eval.bench.faiss_peer import FaissPeer, Floats, Ints, Kind, tuned_for
from eval.bench.goals import GOALS, Goal
from eval.bench.rounds import Comparison, Effort, in_turn
from index.dense import DenseIndex
from index.product import LARGEST_CODE
from index.ranges import RowRanges
from index.selection import Ranking

K = 100
QUERIES = (1, 64)
VISIBLE_PERCENT = (1, 10, 50, 100)
TENANTS = 64  # each with a query of its own, and as many rows of its own as one percent of all
_RUNS = 16  # of rows, that the visible ones lie in
_SEED = 12
_SPREAD = 32.0  # of a code: normalized vectors of 384 numbers at scale 0.2

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    rows: int
    dimension: int


_SIZES = {Effort.FULL: _Sizes(rows=1_000_000, dimension=384), Effort.QUICK: _Sizes(rows=4_000, dimension=64)}


def run(device: torch.device, effort: Effort) -> list[Comparison]:
    """One comparison for each share of rows visible, kind of faiss index and number of queries, and one of many tenants
    at once. faiss runs on the CPU; the flat index is what the goals are about, the 8-bit one is faiss's best.

    Raises AnswersDiffer.
    """
    sizes = _SIZES[effort]
    codes = _codes(sizes)
    rows, queries = codes[: sizes.rows], codes[sizes.rows :]
    ours = DenseIndex(rows, np.arange(sizes.rows, dtype=np.int32), device)
    found = []
    for kind in Kind:
        peer = FaissPeer(kind, rows)
        for percent in VISIBLE_PERCENT:
            ranges = _visible(sizes.rows, percent)
            found += [_compared(ours, peer, queries[:count], ranges, percent) for count in QUERIES]
        found.append(_of_tenants(ours, peer, queries[:TENANTS]))
    return found


def _compared(ours: DenseIndex, peer: FaissPeer, queries: Codes, ranges: RowRanges, percent: int) -> Comparison:
    asked = "1 query" if len(queries) == 1 else f"{len(queries)} queries"
    work = f"dense top {K}, {asked}, {percent}% visible"
    wide = queries.astype(np.float32)
    visible = peer.visible(ranges.contains(np.arange(peer.rows)))

    def ask_us() -> list[Ranking]:
        return ours.topk(queries, ranges=ranges, k=K)

    def ask_peer() -> tuple[Floats, Ints]:
        return peer.search(wide, K, visible)

    _require_equal(work, ask_us(), *ask_peer())
    with tuned_for(ask_peer):
        timed = in_turn(ask_us, ask_peer)
    return Comparison(
        work=work,
        us=f"muniment ({ours.device})",
        peer=peer.kind.value,
        equal=f"the {K} best scores of every query, and all rows above the last of them",
        amount=len(queries),
        unit="queries",
        sizes={"rows": peer.rows, "dimension": queries.shape[1], "visible": ranges.count, "runs": len(ranges.starts)},
        ours=timed[0],
        theirs=timed[1],
        goal=_goal(peer.kind, len(queries), percent),
    )


def _of_tenants(ours: DenseIndex, peer: FaissPeer, queries: Codes) -> Comparison:
    """Each query over one percent of the rows, of its own; faiss takes a call for each, since a call has one bitmap."""
    work = f"dense top {K}, {len(queries)} queries of {len(queries)} tenants, 1% visible to each"
    share = peer.rows // 100
    scopes = [RowRanges.from_pairs([(place * share, (place + 1) * share)]) for place in range(len(queries))]
    bitmaps = [peer.visible(ranges.contains(np.arange(peer.rows))) for ranges in scopes]
    wide = queries.astype(np.float32)

    def ask_us() -> list[Ranking]:
        return ours.topk_each(queries, scopes=scopes, k=min(K, share))

    def ask_peer() -> Sequence[tuple[Floats, Ints]]:
        return [peer.search(query[None], min(K, share), visible) for query, visible in zip(wide, bitmaps, strict=True)]

    scores, rows = (np.concatenate(parts) for parts in zip(*ask_peer(), strict=True))
    _require_equal(work, ask_us(), scores, rows)
    timed = in_turn(ask_us, ask_peer)
    return Comparison(
        work=work,
        us=f"muniment ({ours.device}), one call",
        peer=f"{peer.kind.value}, {len(queries)} calls",
        equal=f"the {K} best scores of every query, and all rows above the last of them",
        amount=len(queries),
        unit="queries",
        sizes={"rows": peer.rows, "dimension": queries.shape[1], "visible": share, "tenants": len(queries)},
        ours=timed[0],
        theirs=timed[1],
        goal=GOALS["C3c"] if peer.kind is Kind.FLAT else None,
    )


def _goal(kind: Kind, queries: int, percent: int) -> Goal | None:
    if kind is not Kind.FLAT:
        return None
    if queries == 1:
        return GOALS["C3b"]
    return GOALS["C3a all" if percent == 100 else "C3a"]


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
