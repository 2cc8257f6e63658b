"""Tests of `server/presence.py`: a look at the connection that never waits."""

import asyncio
from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.types import Message, Receive

from server.in_process import HttpRequest, connection
from server.presence import has_left


def look(make: Callable[[], Receive]) -> bool:
    async def scenario() -> bool:
        return has_left(Request(connection(HttpRequest(method="GET", target="/", headers={})), make()))

    return anyio.run(scenario)


def messages(*waiting: Message) -> Callable[[], Receive]:
    """A connection on which these messages have arrived, and nothing else will."""

    def make() -> Receive:
        left = list(waiting)

        async def receive() -> Message:
            if not left:
                await anyio.sleep_forever()
            return left.pop(0)

        return receive

    return make


def test_a_connection_that_was_closed_is_seen() -> None:
    assert look(messages({"type": "http.disconnect"})) is True


def test_a_connection_on_which_nothing_arrived_is_open() -> None:
    assert look(messages()) is False


def test_an_empty_rest_of_the_body_is_no_closing() -> None:
    assert look(messages({"type": "http.request", "body": b"", "more_body": False})) is False


def test_who_looks_in_vain_takes_nothing_from_who_waits_later() -> None:
    """As a server keeps its messages: behind an event that is set when one arrives."""

    async def scenario() -> list[bool]:
        arrived, closed = asyncio.Event(), [False]

        async def receive() -> Message:
            await arrived.wait()
            return {"type": "http.disconnect" if closed[0] else "http.request"}

        request = Request(connection(HttpRequest(method="GET", target="/", headers={})), receive)
        seen = [has_left(request), has_left(request)]
        closed[0] = True
        arrived.set()
        return [*seen, has_left(request)]

    assert anyio.run(scenario) == [False, False, True]
