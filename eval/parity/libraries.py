"""Do faiss and torch leave each other alone in one process, and what does this build of faiss do with a selector?

`index/faiss_scan.py` never gives faiss a selector; what one would do is looked at all the same, so that nobody comes to
rely on it unseen: documents of a caller would be found that the caller may not see.
"""

from collections.abc import Sequence
from enum import StrEnum
from importlib import metadata

import numpy as np

from eval.bench.faiss_peer import FaissPeer, Kind, has_gpu
from eval.parity.dense import Backend
from eval.parity.finding import Finding
from eval.parity.sizes import Sizes
from index.dense import DenseIndex
from index.ranges import RowRanges

_ROWS, _DIMENSION, _K = 5_000, 96, 20
_BUILDS = ("faiss-cpu", "faiss-gpu")


class Selector(StrEnum):
    """What became of a selector."""

    HONOURED = "honoured"
    IGNORED = "ignored"  # rows that it leaves out were found
    REFUSED = "refused"


def in_turn(backends: Sequence[Backend], sizes: Sizes) -> Finding:
    """Each product answers, in turn, what it answered at first, and what the others answer; faiss on a GPU among them
    where there is one."""
    chance = np.random.default_rng(38)
    codes = chance.integers(-127, 128, (_ROWS, _DIMENSION), dtype=np.int8)
    order = np.arange(_ROWS, dtype=np.int32)
    everything, queries = RowRanges.from_pairs([(0, _ROWS)]), codes[:3]
    indexes = [DenseIndex(codes, order, backend.device, backend.product) for backend in backends]
    gpu = FaissPeer(Kind.FLAT, codes, on_gpu=True) if has_gpu() else None
    expected = np.sort(queries.astype(np.int64) @ codes.astype(np.int64).T)[:, : -_K - 1 : -1]
    answers = differing = 0
    for _ in range(sizes.turns):
        found = [
            np.stack([ranking.scores for ranking in index.topk(queries, ranges=everything, k=_K)]) for index in indexes
        ]
        if gpu is not None:
            everywhere = gpu.visible(np.ones(_ROWS, dtype=np.bool_))
            found.append(gpu.search(queries.astype(np.float32), _K, everywhere)[0].astype(np.int64))
        answers += len(found)
        differing += sum(not np.array_equal(scores, expected) for scores in found)
    return Finding(
        name="faiss and torch in one process, in turn, do each other no harm",
        place=", ".join([*(backend.place for backend in backends), *(["faiss on a gpu"] if gpu else [])]),
        passed=differing == 0,
        figures={"answers": answers, "differing": differing},
    )


def selectors() -> list[Finding]:
    """What each kind of index does with a selector. On the CPU this build must honour one, since ours is measured
    against that; on a GPU whatever it does is only stated."""
    found = [_finding(kind, on_gpu=False) for kind in Kind]
    return [*found, _finding(Kind.FLAT, on_gpu=True)] if has_gpu() else found


def met(kind: Kind, *, on_gpu: bool) -> Selector:
    """Search among a third of the rows, where every other row would be a better answer."""
    visible = np.arange(300) % 3 == 0
    codes = np.where(visible[:, None], np.int8(1), np.int8(100)) * np.ones((1, 16), dtype=np.int8)
    peer = FaissPeer(kind, codes, on_gpu=on_gpu)
    try:
        _, rows = peer.search(np.ones((2, 16), dtype=np.float32), 10, peer.visible(visible))
    except RuntimeError:
        return Selector.REFUSED
    return Selector.HONOURED if visible[rows].all() else Selector.IGNORED


def _finding(kind: Kind, *, on_gpu: bool) -> Finding:
    selector = met(kind, on_gpu=on_gpu)
    build = next(name for name in _BUILDS if any(metadata.distributions(name=name)))
    return Finding(
        name="what this faiss does with a selector, which ours never gives it",
        place=f"faiss on {'a gpu' if on_gpu else 'cpu'}",
        passed=on_gpu or selector is Selector.HONOURED,
        figures={"build": f"{build} {metadata.version(build)}", "index": kind.value, "selector": selector.value},
    )
