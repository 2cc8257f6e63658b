"""What do tests of benchmarks need? Comparisons and reports with only the facts that matter visible."""

from typing import Any

from eval.bench.goals import Goal
from eval.bench.measured import Curve, Load, Point
from eval.bench.rounds import Comparison


def comparison(
    *,
    work: str = "sums",
    ours: tuple[float, ...] = (0.001, 0.001),
    theirs: tuple[float, ...] = (0.004, 0.004),
    **more: Any,
) -> Comparison:
    return Comparison(
        work=work,
        us="us",
        peer="them",
        equal="all",
        amount=10,
        unit="sums",
        sizes={"sums": 10},
        ours=ours,
        theirs=theirs,
        goal=more.get("goal"),
    )


def ratio_goal(least: float) -> Goal:
    return Goal(name="C0", work="sums", peer="them", ratio_at_least=least)


def curve(*p50_s: float, work: str = "dense search", series: str = "the same rows visible") -> Curve:
    """One point for each time, at 10, 100, 1,000 ... units."""
    points = [
        Point(size=10 ** (number + 1), seconds=(seconds,), resident_bytes=2**20 * (number + 1))
        for number, seconds in enumerate(p50_s)
    ]
    return Curve(work=work, series=series, points=tuple(points))


def load(*latencies_s: float) -> Load:
    return Load(
        work="clients ask",
        clients=2,
        seconds=2.0,
        latencies_s=latencies_s,
        failed=1,
        stages={"encode": 0.002, "search": 0.001},
        resident_bytes=(2**20, 3 * 2**20, 2 * 2**20),
    )
