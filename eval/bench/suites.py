"""Which suites are there, and what does each need?

One line a suite. A module is imported when its suite runs: each brings a peer of its own, and some take seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from eval.bench.errors import PeerUnavailable
from eval.bench.measured import Measured, Skipped
from eval.bench.peers.environment import Environment, made
from eval.bench.rounds import Comparison, Effort

BM25S = Environment(name="bm25s", requirements=("bm25s==0.3.16", "numba==0.68.1", "numpy==2.4.6"))
TIKTOKEN = Environment(name="tiktoken", requirements=("tiktoken==0.14.0",))

Progress = Callable[[str, int, int], None]
"""Hears of a step, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a suite runs with. device: where ours runs. cache: for exported networks and the environments of peers."""

    device: torch.device
    effort: Effort
    cache: Path
    progress: Progress


def encode(bench: Bench) -> Measured:
    """Texts to vectors."""
    from eval.bench.encode import run  # noqa: PLC0415 - as the module says

    return compared(run(bench.device, bench.effort, cache=bench.cache))


def rerank(bench: Bench) -> Measured:
    """Pairs to scores."""
    from eval.bench.rerank import run  # noqa: PLC0415 - as the module says

    return compared(run(bench.device, bench.effort))


def dense(bench: Bench) -> Measured:
    """Exact vector search over what is visible."""
    from eval.bench.dense import run  # noqa: PLC0415 - as the module says

    return compared(run(bench.device, bench.effort))


def approximate(bench: Bench) -> Measured:
    """Vector search that scores some rows only, beside the exact one."""
    from eval.bench.approximate import run  # noqa: PLC0415 - as the module says

    return compared(run(bench.device, bench.effort))


def lexical(bench: Bench) -> Measured:
    """BM25 over what is visible."""
    from eval.bench.lexical import run  # noqa: PLC0415 - as the module says

    python, skipped = _interpreter(BM25S, bench)
    return Measured(comparisons=tuple(run(bench.effort, bm25s=python)), skipped=skipped)


def pack(bench: Bench) -> Measured:
    """Counting tokens, and packing what fits."""
    from eval.bench.pack import run  # noqa: PLC0415 - as the module says

    python, skipped = _interpreter(TIKTOKEN, bench)
    return Measured(comparisons=() if python is None else tuple(run(bench.effort, python=python)), skipped=skipped)


def http(bench: Bench) -> Measured:
    """HTTP around a stub engine."""
    from eval.bench.http import run  # noqa: PLC0415 - as the module says

    return compared(run(bench.effort))


def pipeline(bench: Bench) -> Measured:
    """The whole path of a request, and many clients at once."""
    from eval.bench.pipeline import run  # noqa: PLC0415 - as the module says

    return run(bench.device, bench.effort, cache=bench.cache, progress=bench.progress)


def reindex(bench: Bench) -> Measured:
    """Texts to a published generation."""
    from eval.bench.reindexing import run  # noqa: PLC0415 - as the module says

    return run(bench.device, bench.effort, cache=bench.cache, progress=bench.progress)


def growth(bench: Bench) -> Measured:
    """What a search costs in a catalog that grows."""
    from eval.bench.growth import run  # noqa: PLC0415 - as the module says

    return run(bench.device, bench.effort, progress=bench.progress)


def peers(bench: Bench) -> Measured:
    """Other engines' filtered search."""
    from eval.bench.peers.suite import run  # noqa: PLC0415 - as the module says

    return run(bench.device, bench.effort, cache=bench.cache, progress=bench.progress)


def _interpreter(environment: Environment, bench: Bench) -> tuple[Path | None, tuple[Skipped, ...]]:
    """One that has this peer; or None, and why there is none."""
    try:
        return made(environment, cache=bench.cache), ()
    except PeerUnavailable as error:
        return None, (Skipped(work=f"beside {environment.name}", reason=error.reason),)


def compared(comparisons: Sequence[Comparison]) -> Measured:
    """What a suite tells that has comparisons alone."""
    return Measured(comparisons=tuple(comparisons))


SUITES: Mapping[str, Callable[[Bench], Measured]] = {
    "encode": encode,
    "rerank": rerank,
    "dense": dense,
    "approximate": approximate,
    "lexical": lexical,
    "pack": pack,
    "http": http,
    "pipeline": pipeline,
    "reindex": reindex,
    "growth": growth,
    "peers": peers,
}
"""In the order in which they run."""
