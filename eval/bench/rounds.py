"""How long do two ways of the same work take, when they take turns?

In one process, after their answers were compared: what heats or slows the machine meets both. Medians and ratios
count; absolute times are of one machine.
"""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from eval.bench.goals import Goal

ROUNDS = 5
_ROUND_S = 0.02  # a side repeats its work for at least this long in each round: clocks and schedulers are coarse


class Effort(StrEnum):
    """Which sizes a suite takes."""

    FULL = "full"  # under a minute a suite; the one that counts
    QUICK = "quick"  # seconds; shows that everything runs, and nothing else


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One kind of work, done by us and by a peer.

    ours, theirs: seconds a call in each round, in pairs. equal: what was found to be the same before.
    amount, unit: what a call works through, for rates.
    """

    work: str
    us: str
    peer: str
    equal: str
    amount: int
    unit: str
    sizes: Mapping[str, int]
    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    goal: Goal | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is reached, by the medians; None without a goal."""
        if self.goal is None:
            return None
        if self.goal.ratio_at_least is not None:
            return self.ratio >= self.goal.ratio_at_least
        return self.goal.us_at_most is not None and statistics.median(self.ours) * 1e6 <= self.goal.us_at_most

    @property
    def ratio(self) -> float:
        """How many times as long the peer takes: median by median."""
        return statistics.median(self.theirs) / statistics.median(self.ours)

    @property
    def ratios(self) -> tuple[float, float]:
        """The smallest and the largest ratio of a round."""
        each = [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True)]
        return min(each), max(each)

    def record(self) -> dict[str, object]:
        """The comparison as JSON; seconds a call."""
        low, high = self.ratios
        return {
            "work": self.work,
            "us": self.us,
            "peer": self.peer,
            "equal": self.equal,
            "sizes": dict(self.sizes),
            "ours": {**_spread(self.ours), f"{self.unit}_per_s": self.amount / statistics.median(self.ours)},
            "theirs": {**_spread(self.theirs), f"{self.unit}_per_s": self.amount / statistics.median(self.theirs)},
            "ratio": {"median": self.ratio, "min": low, "max": high},
            "goal": None if self.goal is None else {"name": self.goal.name, "says": str(self.goal), "met": self.is_met},
        }

    def line(self) -> str:
        """The comparison for people."""
        low, high = self.ratios
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        return (
            f"{self.work}: {self.us} {_milliseconds(ours)} ({self.amount / ours:,.0f} {self.unit}/s),"
            f" {self.peer} {_milliseconds(theirs)}; x{self.ratio:.2f} ({low:.2f} to {high:.2f})"
        )


def in_turn(
    ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int = ROUNDS
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Seconds a call of each side in each round; one call of each warms up."""
    calls = [max(1, math.ceil(_ROUND_S / _seconds(side, calls=1))) for side in (ours, theirs)]
    times = [(_seconds(ours, calls=calls[0]), _seconds(theirs, calls=calls[1])) for _ in range(rounds)]
    return tuple(pair[0] for pair in times), tuple(pair[1] for pair in times)


def _seconds(side: Callable[[], object], *, calls: int) -> float:
    begun = time.perf_counter()
    for _ in range(calls):
        side()
    return (time.perf_counter() - begun) / calls


def _milliseconds(seconds: float) -> str:
    """To three digits: 0.123 ms, 12.3 ms, 1,234 ms."""
    value = 1000 * seconds
    return f"{value:,.{min(max(2 - math.floor(math.log10(value)), 0), 6)}f} ms"


def _spread(seconds: tuple[float, ...]) -> dict[str, object]:
    return {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds), "rounds": seconds}
