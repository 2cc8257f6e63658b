"""Tests of `server/serving.py`: what a connection is like."""

import asyncio
import socket

import pytest

from server.errors import StartError
from server.serving import _listen


def test_what_is_written_to_a_connection_is_sent_at_once() -> None:
    """Else the second part of an answer waits for the first one's receipt, which a client may put off for 40 ms."""

    async def scenario() -> int:
        accepted: asyncio.Future[asyncio.BaseTransport] = asyncio.get_running_loop().create_future()

        class Accepting(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                accepted.set_result(transport)

        with _listen("127.0.0.1", 0) as listener:
            server = await asyncio.get_running_loop().create_server(Accepting, sock=listener)
            with socket.create_connection(listener.getsockname()):
                transport = await asyncio.wait_for(accepted, 10)
                held: socket.socket = transport.get_extra_info("socket")
                no_delay: int = held.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                transport.close()
            server.close()
            return no_delay

    assert asyncio.run(scenario()) != 0


def test_a_port_that_another_server_holds_is_named() -> None:
    with _listen("127.0.0.1", 0) as held:
        held.listen()
        port = held.getsockname()[1]

        with pytest.raises(StartError, match="choose another --port"):
            _listen("127.0.0.1", port)
