"""How does long work show that it goes on?

A bar on a terminal; elsewhere a log line now and then, on standard error, so that output can be piped.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINE_EVERY_S = 5.0

Report = Callable[[str, int, int], None]  # step, done, of how many (0: not known)


@contextmanager
def shown_progress() -> Iterator[Report]:
    """A function to call with (step, done, total); a step names what is counted, as `encode tokens`."""
    if sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, object] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(step, total=total or None)
            progress.update(tasks[step], completed=done, total=total or None)  # type: ignore[arg-type]  # rich's TaskID

        yield report


def _lines() -> Report:
    last = [time.monotonic(), ""]

    def report(step: str, done: int, total: int) -> None:
        now = time.monotonic()
        assert isinstance(last[0], float)
        if now - last[0] >= LINE_EVERY_S or (done == total and step != last[1]):
            last[:] = [now, step if done == total else ""]
            print(f"{step}: {done}{f' of {total}' if total else ''}", file=sys.stderr, flush=True)

    return report
