"""What can a suite tell? (pure)

Comparisons with a peer; and where there is none to compare with: curves over a size, a verdict on a goal, what many
clients got. What could not be measured is told with its reason.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from eval.bench.rounds import Comparison, milliseconds

OUTSIDE = "waiting, HTTP"  # the stage of what a request took outside the pipeline: until it had a place, and on the way


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One size of a curve. seconds: of each call. resident_bytes: what the process holds more than before."""

    size: int
    seconds: tuple[float, ...]
    resident_bytes: int

    @property
    def p50_s(self) -> float:
        return statistics.median(self.seconds)

    def record(self) -> dict[str, object]:
        """The point as JSON."""
        return {
            "size": self.size,
            "p50_s": self.p50_s,
            "min_s": min(self.seconds),
            "max_s": max(self.seconds),
            "calls": len(self.seconds),
            "resident_bytes": self.resident_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The same work at growing sizes. series: what is told apart within the work, as what is visible."""

    work: str
    series: str
    points: tuple[Point, ...]

    def record(self) -> dict[str, object]:
        """The curve as JSON."""
        return {"work": self.work, "series": self.series, "points": [point.record() for point in self.points]}

    def line(self) -> str:
        """The curve for people."""
        sizes = ", ".join(
            f"{point.size:,}: {milliseconds(point.p50_s)} ({point.resident_bytes / 2**20:,.0f} MiB)"
            for point in self.points
        )
        return f"{self.work}, {self.series}: p50 and memory at {sizes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a goal that is no comparison is reached. says: what it asks for. found: what was measured, in words."""

    goal: str
    says: str
    found: str
    is_met: bool

    def record(self) -> dict[str, object]:
        """The verdict as JSON."""
        return {"goal": self.goal, "says": self.says, "found": self.found, "met": self.is_met}

    def line(self) -> str:
        """The verdict for people."""
        return f"{self.goal} asks for {self.says}: {'met' if self.is_met else 'not met'}, {self.found}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What many clients at once got from one server.

    seconds: of the run. latencies_s: of each answer, ascending. failed: requests without an answer of status 200.
    stages: mean seconds of a request by stage, as the server's own watch has them; they may overlap. resident_bytes:
    of the server when it began, and after each quarter of the time.
    """

    work: str
    clients: int
    seconds: float
    latencies_s: tuple[float, ...]
    failed: int
    stages: Mapping[str, float]
    resident_bytes: tuple[int, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def answers_per_s(self) -> float:
        return len(self.latencies_s) / self.seconds

    def percentile_s(self, percent: int) -> float:
        """The latency that so many percent of the answers stay within, by the nearest rank."""
        return percentile(self.latencies_s, percent)

    def record(self) -> dict[str, object]:
        """The load as JSON."""
        return {
            "work": self.work,
            "clients": self.clients,
            "seconds": self.seconds,
            "answers": len(self.latencies_s),
            "failed": self.failed,
            "answers_per_s": self.answers_per_s,
            **{f"p{percent}_s": self.percentile_s(percent) for percent in (50, 95, 99)},
            "stages_s": dict(self.stages),
            "resident_bytes": list(self.resident_bytes),
            "sizes": dict(self.sizes),
        }

    def line(self) -> str:
        """The load for people."""
        times = ", ".join(f"p{percent} {milliseconds(self.percentile_s(percent))}" for percent in (50, 95, 99))
        stages = ", ".join(f"{name} {milliseconds(mean)}" for name, mean in self.stages.items())
        begin, *later = (f"{size / 2**20:,.0f}" for size in self.resident_bytes)
        return (
            f"{self.work}: {self.answers_per_s:,.0f} answers/s, {times}, {self.failed} failed;"
            f" mean by stage: {stages}; resident {begin} MiB at the start, then {', '.join(later)} MiB"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """What was not measured, and why."""

    work: str
    reason: str

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {"work": self.work, "reason": self.reason}

    def line(self) -> str:
        """For people."""
        return f"{self.work}: left out: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All that one suite tells, each part in the order measured."""

    comparisons: tuple[Comparison, ...] = ()
    curves: tuple[Curve, ...] = ()
    loads: tuple[Load, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def record(self) -> dict[str, object]:
        """The suite as JSON."""
        return {
            "comparisons": [one.record() for one in self.comparisons],
            "curves": [one.record() for one in self.curves],
            "loads": [one.record() for one in self.loads],
            "verdicts": [one.record() for one in self.verdicts],
            "skipped": [one.record() for one in self.skipped],
        }

    def lines(self) -> list[str]:
        """The suite for people, a line for each thing told."""
        curves = [curve.line() for curve in self.curves]
        return [*(one.line() for one in self.comparisons), *curves, *self.notes()]

    def notes(self) -> list[str]:
        """The lines of what no table holds."""
        told: list[Load | Verdict | Skipped] = [*self.loads, *self.verdicts, *self.skipped]
        return [one.line() for one in told]


def percentile(ascending: tuple[float, ...], percent: int) -> float:
    """The smallest value that at least so many percent of the values do not exceed; NaN of none.

    >>> percentile((1.0, 2.0, 3.0, 4.0), 50), percentile((1.0, 2.0, 3.0, 4.0), 99)
    (2.0, 4.0)
    """
    if not ascending:
        return float("nan")
    return ascending[max(-(-len(ascending) * percent // 100), 1) - 1]
