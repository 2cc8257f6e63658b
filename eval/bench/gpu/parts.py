"""Which parts does the bench of a GPU have, and how does the whole stay within its time?

A part runs when its share of the time is left, and is stopped when the whole has none left any more. What was left out
or stopped is told, as is what broke: the others go on.
"""

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

Figure = float | int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. goal: what is asked for, in words; empty where nothing is. reached: in words. is_met: None
    where there is no goal, or nothing was measured."""

    work: str
    goal: str
    reached: str
    is_met: bool | None
    figures: Mapping[str, Figure] = field(default_factory=dict)

    def record(self) -> dict[str, object]:
        """The row as JSON."""
        return {
            "work": self.work,
            "goal": self.goal,
            "reached": self.reached,
            "met": self.is_met,
            "figures": dict(self.figures),
        }

    def line(self) -> str:
        """The row for people."""
        verdict = {True: "met", False: "not met", None: "-"}[self.is_met]
        return f"{verdict:<8} {self.work}: {self.reached}" + (f" (goal: {self.goal})" if self.goal else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Something to measure. needs_s: seconds that must be left for it to begin."""

    name: str
    needs_s: float
    measure: Callable[[], list[Row]]


class OutOfTime(Exception):
    """The whole has no time left."""


def measured(
    parts: Sequence[Part], *, limit_s: float, timer: Callable[[], float] = time.monotonic
) -> Iterator[tuple[str, list[Row]]]:
    """Each part's name and its rows, in order. Call from the main thread: a part is stopped by a signal."""
    end = timer() + limit_s
    for part in parts:
        left = end - timer()
        if left < part.needs_s:
            yield part.name, [_left_out(part, f"left out: needs {part.needs_s:.0f} s, {max(left, 0):.0f} s are left")]
            continue
        try:
            with _stopped_after(left):
                rows = part.measure()
        except OutOfTime:
            rows = [_left_out(part, f"stopped after {left:.0f} s: no time is left")]
        except Exception as error:  # noqa: BLE001 - whatever broke on this machine is what is to be reported
            rows = [_left_out(part, f"broke: {type(error).__name__}: {error}".partition("\n")[0], is_met=False)]
        yield part.name, rows


def _left_out(part: Part, reason: str, *, is_met: bool | None = None) -> Row:
    return Row(work=part.name, goal="", reached=reason, is_met=is_met)


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Raise OutOfTime inside, once the interpreter has its turn again."""

    def stop(_: int, __: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
