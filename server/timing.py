"""Where did the time of one request go?"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Milliseconds by step, for the `run` block: the one part of an answer that may differ between equal requests. And
    what had to step in on the way, `fallbacks`: none where everything was done by the first choice.

    timer: seconds since any moment, never going back.
    """

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        self._timer = timer
        self._begun = timer()
        self._milliseconds: dict[str, float] = {}
        self.fallbacks: list[str] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the time of the body under `name`."""
        begun = self._timer()
        try:
            yield
        finally:
            spent = (self._timer() - begun) * 1000
            self._milliseconds[name] = round(self._milliseconds.get(name, 0.0) + spent, 3)

    def fell_back(self, on: str) -> None:
        """Note what served in place of the first choice, without changing the answer; once, however often it did."""
        if on not in self.fallbacks:
            self.fallbacks.append(on)

    def milliseconds(self) -> dict[str, float]:
        """What each step took, and `total` since the watch was made."""
        return {**self._milliseconds, "total": round((self._timer() - self._begun) * 1000, 3)}
