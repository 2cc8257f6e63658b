"""What does a search cost in a catalog that grows, when what its caller sees stays the same?

Generations of growing size (`drawn_rows`), all open at once, and asked in turn. The rows of one caller are the same in
all of them, and so must the caller's answers be, to the bit, before anything is timed. Beside it the same searches by a
caller who sees everything. Statistics of a scope are counted once and kept, as in a server. Memory is what the process
holds more than before a generation was opened, mapped pages that were read included.
"""

import gc
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import torch

from eval.bench.drawn_rows import Kind, array_bytes, caller_rows, publish_drawn, questions
from eval.bench.errors import AnswersDiffer
from eval.bench.generations import Asked, Searched, open_rows, recipe_of
from eval.bench.machine import free_disk_bytes, free_memory_bytes, resident_bytes
from eval.bench.measured import Curve, Measured, Point, Skipped, Verdict
from eval.bench.rounds import Effort, milliseconds
from index.compartments import Eligible
from index.ranges import RowRanges
from server.schemas import Channel

GOAL = "C10"
MOST_GROWTH = 1.2
FIXED, ALL = "the same rows visible", "everything visible"
CHANNELS = {"lexical": Channel.LEXICAL, "dense": Channel.DENSE, "hybrid": Channel.HYBRID}
_DEPTH = 200
_SPARE = 2.5  # times its arrays: what a generation takes while it is made
_LONGEST_S = 1.0  # of one turn: after that, the next size has its own

Answers = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    units: tuple[int, ...]
    kind: Kind
    queries: int
    turns: int  # of each size; in one, each query is asked once, if there is time


_SIZES = {
    Effort.FULL: _Sizes(
        units=(10_000, 100_000, 1_000_000, 10_000_000),
        kind=Kind(visible=10_000, dimension=384, terms=30, vocabulary=50_000),
        queries=20,
        turns=9,
    ),
    Effort.QUICK: _Sizes(
        units=(400, 1_600), kind=Kind(visible=400, dimension=64, terms=10, vocabulary=300), queries=2, turns=2
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grown:
    """One size, open: the rows of each series, what it holds in memory, and the seconds of its calls so far."""

    units: int
    searched: Searched
    eligible: dict[str, Eligible]
    resident: dict[str, int] = field(default_factory=dict)
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)


def run(device: torch.device, effort: Effort, *, progress: Callable[[str, int, int], None]) -> Measured:
    """A curve for each channel and for each of what is visible, and a verdict on the fixed rows. Sizes that this
    machine has no room for are left out. Raises AnswersDiffer."""
    sizes = _SIZES[effort]
    asked = questions(sizes.kind, sizes.queries)
    skipped: list[Skipped] = []
    grown: list[_Grown] = []
    with ExitStack() as folders:
        expected: Answers | None = None
        for done, units in enumerate(sizes.units):
            progress("grow", done, len(sizes.units))
            lacking = _lacking(units, sizes.kind)
            if lacking is not None:
                skipped.append(Skipped(work=f"growth, {units:,} units", reason=lacking))
                continue
            folder = Path(folders.enter_context(tempfile.TemporaryDirectory()))
            one = _opened(folder, units, sizes.kind, device)
            answers = _warmed(one, asked)
            if expected is not None and answers != expected:
                raise AnswersDiffer(f"growth, {units:,} units", "other answers over the same visible rows")
            expected = answers
            grown.append(one)
        for turn in range(sizes.turns):
            progress("ask every size", turn, sizes.turns)
            for one in grown:
                _take_turn(one, asked)
        progress("ask every size", sizes.turns, sizes.turns)
        curves = _curves(grown)
    return Measured(curves=tuple(curves), verdicts=(verdict(curves),), skipped=tuple(skipped))


def verdict(curves: Sequence[Curve]) -> Verdict:
    """By the channel that grows most over the rows that stay the same."""
    fixed = [curve for curve in curves if curve.series == FIXED]
    ratios = [curve.points[-1].p50_s / curve.points[0].p50_s for curve in fixed]
    first, last = fixed[0].points[0].size, fixed[0].points[-1].size
    told = "; ".join(
        f"{curve.work} x{ratio:.2f} ({milliseconds(curve.points[0].p50_s)}, {milliseconds(curve.points[-1].p50_s)})"
        for curve, ratio in zip(fixed, ratios, strict=True)
    )
    return Verdict(
        goal=GOAL,
        says=f"p50 over a fixed visible set within x{MOST_GROWTH}, whatever else there is",
        found=f"from {first:,} to {last:,} units: {told}",
        is_met=max(ratios) <= MOST_GROWTH,
    )


def _lacking(units: int, kind: Kind) -> str | None:
    """What this machine has too little of for a generation of so many units, in words; None where it has enough."""
    arrays = array_bytes(units, kind)
    free = {"memory": free_memory_bytes(), "disk": free_disk_bytes(Path(tempfile.gettempdir()))}
    needed = {"memory": _SPARE * arrays, "disk": 1.2 * arrays}
    for name, room in free.items():
        if room < needed[name]:
            return f"takes {needed[name] / 2**30:.1f} GiB of {name}, {room / 2**30:.1f} GiB are free"
    return None


def _opened(folder: Path, units: int, kind: Kind, device: torch.device) -> _Grown:
    """A generation of that size, with what it holds when it is open."""
    name = publish_drawn(folder, units, kind)
    gc.collect()
    before = resident_bytes()
    recipe = recipe_of(kind.dimension)
    searched = Searched(open_rows(folder, name, recipe=recipe), recipe=recipe, device=device)
    eligible = {
        FIXED: searched.eligible(caller_rows(units, kind.visible)),
        ALL: searched.eligible(RowRanges.from_pairs([(0, units)])),
    }
    return _Grown(units=units, searched=searched, eligible=eligible, resident=dict.fromkeys(eligible, -before))


def _warmed(one: _Grown, asked: Sequence[Asked]) -> Answers:
    """Every search once, so that statistics are counted and memory is what searching takes; the answers over the fixed
    rows, without row numbers."""
    answers: Answers = []
    for series, eligible in one.eligible.items():
        for channel in CHANNELS.values():
            for query in asked:
                found = one.searched.ask(query, channel, eligible=eligible, depth=_DEPTH).candidates
                if series == FIXED:
                    answers.append(tuple((each.key, each.score, tuple(each.scores.items())) for each in found))
        one.resident[series] += resident_bytes()
    return answers


def _take_turn(one: _Grown, asked: Sequence[Asked]) -> None:
    for series, eligible in one.eligible.items():
        for name, channel in CHANNELS.items():
            seconds = one.seconds.setdefault((name, series), [])
            until = time.perf_counter() + _LONGEST_S
            for query in asked:
                begun = time.perf_counter()
                if begun > until:
                    break
                one.searched.ask(query, channel, eligible=eligible, depth=_DEPTH)
                seconds.append(time.perf_counter() - begun)


def _curves(grown: Sequence[_Grown]) -> list[Curve]:
    return [
        Curve(
            work=f"{name} search, the first {_DEPTH}",
            series=series,
            points=tuple(
                Point(size=one.units, seconds=tuple(one.seconds[name, series]), resident_bytes=one.resident[series])
                for one in grown
            ),
        )
        for name in CHANNELS
        for series in (FIXED, ALL)
    ]
