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
            "goal": None
            if self.goal is None
            else {
                "name": self.goal.name,
                "says": str(self.goal),
                "ratio_at_least": self.goal.ratio_at_least,
                "met": self.is_met,
            },
        }

    def line(self) -> str:
        """The comparison for people."""
        low, high = self.ratios
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        asked = "" if self.goal is None else f"; {self.goal.name} {self.goal}: {'met' if self.is_met else 'not met'}"
        return (
            f"{self.work}: {self.us} {milliseconds(ours)} ({self.amount / ours:,.0f} {self.unit}/s),"
            f" {self.peer} {milliseconds(theirs)}; x{self.ratio:.2f} ({low:.2f} to {high:.2f}){asked}"
        )


def in_turn(
    ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int = ROUNDS
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Seconds a call of each side in each round; one call of each warms up."""
    return in_turn_with(ours, lambda calls: _seconds(theirs, calls=calls), rounds=rounds)


def in_turn_with(
    ours: Callable[[], object], their_seconds: Callable[[int], float], *, rounds: int = ROUNDS
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """As `in_turn`, where the peer holds its own watch: so many calls, and seconds of one."""

    def our_seconds(calls: int) -> float:
        return _seconds(ours, calls=calls)

    calls = [max(1, math.ceil(_ROUND_S / side(1))) for side in (our_seconds, their_seconds)]
    times = [(our_seconds(calls[0]), their_seconds(calls[1])) for _ in range(rounds)]
    return tuple(pair[0] for pair in times), tuple(pair[1] for pair in times)


def _seconds(side: Callable[[], object], *, calls: int) -> float:
    begun = time.perf_counter()
    for _ in range(calls):
        side()
    return (time.perf_counter() - begun) / calls


def milliseconds(seconds: float) -> str:
    """To three digits, as people read it.

    >>> milliseconds(0.000123), milliseconds(0.0123), milliseconds(1.234)
    ('0.123 ms', '12.3 ms', '1,234 ms')
    """
    value = 1000 * seconds
    digits = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:,.{min(max(digits, 0), 6)}f} ms"


def _spread(seconds: tuple[float, ...]) -> dict[str, object]:
    return {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds), "rounds": seconds}
