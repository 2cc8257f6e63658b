"""How are searches that wait at the same time answered in one pass?

Whoever comes while nothing runs is served at once, alone. Whoever comes meanwhile waits for that pass to end; then the
first of those who wait serves all of them together. So nobody waits for company that may not come, and passes grow with
the load. What each gets is what it gets alone: who shares a pass changes no number (R10).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Found = TypeVar("Found")


@dataclass(slots=True, kw_only=True, eq=False)
class _Waiting(Generic[Asked, Found]):
    """One who asked. awake: set when there is an answer, an error, or a turn to serve those who wait."""

    asked: Asked
    awake: Event = field(default_factory=Event)
    found: Found | None = None
    error: BaseException | None = None
    is_served: bool = False


class Gathering(Generic[Asked, Found]):
    """Shared by the threads of a process.

    answer: for what is asked, in order, what is found for each; called by one thread at a time. most: asked at once.
    """

    def __init__(self, answer: Callable[[Sequence[Asked]], Sequence[Found]], *, most: int) -> None:
        self._answer = answer
        self._most = most
        self._lock = Lock()
        self._queue: list[_Waiting[Asked, Found]] = []
        self._is_running = False

    def ask(self, asked: Asked) -> Found:
        """What `answer` finds for this alone. Raises what it raises for this alone."""
        own = _Waiting[Asked, Found](asked=asked)
        with self._lock:
            self._queue.append(own)
            serves = not self._is_running
            self._is_running = True
        if not serves:
            own.awake.wait()
        if not own.is_served:
            self._serve()
        if own.error is not None:
            raise own.error
        assert own.is_served
        return own.found  # type: ignore[return-value]  # served without an error: there is something

    def _serve(self) -> None:
        """Answer those in front, the one who serves among them; then hand the turn on."""
        with self._lock:
            served, self._queue = self._queue[: self._most], self._queue[self._most :]
        try:
            self._answer_all(served)
        finally:
            with self._lock:
                following = self._queue[0] if self._queue else None
                self._is_running = following is not None
            for one in served:
                one.is_served = True
                one.awake.set()
            if following is not None:
                following.awake.set()

    def _answer_all(self, served: Sequence[_Waiting[Asked, Found]]) -> None:
        """An error of one is nobody else's: where all together fail, each is answered alone."""
        try:
            for one, found in zip(served, self._answer([one.asked for one in served]), strict=True):
                one.found = found
        except Exception as error:  # noqa: BLE001 - each one who asked gets its own, whatever it is
            if len(served) == 1:
                served[0].error = error
                return
            for one in served:
                self._answer_all([one])
        except BaseException as error:
            for one in served:
                one.error = error
            raise
