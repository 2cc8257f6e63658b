"""What does a client do that does not wait for its answer?

It closes the connection before, while or after it sends its request, or while the server works on it; or the task that
serves it is cancelled, as a server does that stops. Where it was when it left is known.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

import anyio
import anyio.from_thread
from starlette.types import ASGIApp, Message

from server.in_process import HttpRequest, HttpResponse, connection, response_of
from server.ranking import Stage


class Moment(StrEnum):
    """A place on the way of a request that is not a stage of the pipeline."""

    CONNECTED = "connected"  # nothing of the body was read
    BODY_BEGUN = "body begun"
    BODY_READ = "body read"  # it waits for its place, or is worked on and has come to no stage yet
    ANSWERED = "answered"


Place = Moment | Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """When a client leaves. at: a place, or seconds after it began.

    cancelled: the task that serves it is cancelled; else its connection is closed, which a server sees when it looks.
    """

    at: Place | float
    cancelled: bool = False


class Client:
    """A client with one request. leaving None: it stays.

    meanwhile: runs in the thread that works for it, at each stage.
    place: the last place that was reached while it was there.
    """

    def __init__(self, *, leaving: Leaving | None = None, meanwhile: Callable[[Stage], None] = lambda _: None) -> None:
        self.place: Place = Moment.CONNECTED
        self._leaving = leaving
        self._meanwhile = meanwhile
        self._gone = False
        self._woken = anyio.Event()
        self._cancel: Callable[[], None] = lambda: None
        self._parts: list[bytes] = []
        self._sent: list[Message] = []

    @property
    def has_left(self) -> bool:
        """Whether it is gone, without an answer."""
        return self._gone

    async def ask(self, app: ASGIApp, request: HttpRequest) -> HttpResponse | None:
        """The response, or None where the client left before it had all of it. Raises what `app` raises."""
        half = len(request.body) // 2
        self._parts = [request.body[:half], request.body[half:]]
        _ASKING.set(self)
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as scope:
                self._cancel = scope.cancel
                if self._leaving is not None and isinstance(self._leaving.at, float):
                    group.start_soon(self._leave_after, self._leaving.at)
                self._come_to(Moment.CONNECTED)
                await app(connection(request), self._receive, self._send)
            group.cancel_scope.cancel()
        return None if self._gone else response_of(self._sent)

    def reached(self, stage: Stage) -> None:
        """Called in the thread that works for this client."""
        anyio.from_thread.run_sync(self._come_to, stage)
        self._meanwhile(stage)

    async def _receive(self) -> Message:
        if not self._gone and self._parts:
            part = self._parts.pop(0)
            self._come_to(Moment.BODY_BEGUN if self._parts else Moment.BODY_READ)
            return {"type": "http.request", "body": part, "more_body": bool(self._parts)}
        if not self._gone:
            await self._woken.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if not self._gone:
            self._sent.append(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self._come_to(Moment.ANSWERED)

    async def _leave_after(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        self._leave()

    def _come_to(self, place: Place) -> None:
        if self._gone:
            return
        self.place = place
        if self._leaving is not None and self._leaving.at == place:
            self._leave()

    def _leave(self) -> None:
        if not self._gone and self.place is not Moment.ANSWERED:
            self._gone = True
            self._woken.set()
            if self._leaving is not None and self._leaving.cancelled:
                self._cancel()


def reached(stage: Stage) -> None:
    """Tells the client for which the calling thread works. For `running(reached=...)`."""
    client = _ASKING.get()
    if client is not None:
        client.reached(stage)


_ASKING: ContextVar[Client | None] = ContextVar("asking", default=None)
