"""Where did the time of one request go?"""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Milliseconds by step, for the `run` block: the one part of an answer that may differ between equal requests."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._milliseconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the time of the body under `name`."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - begun) * 1000
            self._milliseconds[name] = round(self._milliseconds.get(name, 0.0) + spent, 3)

    def milliseconds(self) -> dict[str, float]:
        """What each step took, and `total` since the watch was made."""
        return {**self._milliseconds, "total": round((time.perf_counter() - self._begun) * 1000, 3)}
