"""What comes over real connections, when some are closed midway and some carry several requests at once?"""

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from typing import BinaryIO

import uvicorn
from anyio.from_thread import BlockingPortal
from fastapi import FastAPI

from server.in_process import HttpRequest

PATIENCE_S = 60.0
Answer = tuple[int, bytes]
"""Status and body."""


class Closing(StrEnum):
    """How a client ends its connection before it is answered."""

    HALF = "after half of the request"
    WHOLE = "after the request"
    RESET = "after the request, without the farewell of TCP"
    LATER = "a little after the request"


@contextmanager
def listening(app: FastAPI, portal: BlockingPortal) -> Iterator[int]:
    """The application behind a real server, on a port of this machine's own address, until the end."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, server_header=False))
        serving = portal.start_task_soon(server.serve, [listener])
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            serving.result(PATIENCE_S)


def ask_all(port: int, requests: Sequence[HttpRequest]) -> list[Answer]:
    """The answers to requests that are all sent at once over one connection, in their order."""
    with _connected(port) as connection, connection.makefile("rb") as stream:
        connection.sendall(b"".join(_written(request) for request in requests))
        return [_answer(stream) for _ in requests]


def ask_and_close(port: int, request: HttpRequest, how: Closing, *, wait_s: float) -> None:
    """Send a request, or half of it, and read nothing. wait_s: how long LATER is."""
    written = _written(request)
    with _connected(port) as connection:
        connection.sendall(written[: len(written) // 2] if how is Closing.HALF else written)
        if how is Closing.LATER:
            connection.settimeout(wait_s)
            with suppress(TimeoutError):
                connection.recv(1)
        if how is Closing.RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def _written(request: HttpRequest) -> bytes:
    headers = {"host": "localhost", "content-length": str(len(request.body)), **request.headers}
    lines = [f"{request.method} {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


def _answer(stream: BinaryIO) -> Answer:
    """One response with a content-length. Raises ConnectionError where the connection ends before it does."""
    status = int(_line(stream).split()[1])
    length = 0
    while line := _line(stream):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            length = int(value)
    body = stream.read(length)
    if len(body) != length:
        raise ConnectionError("the body ended early")
    return status, body


def _line(stream: BinaryIO) -> str:
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the headers ended early")
    return line[:-2].decode("latin-1")
