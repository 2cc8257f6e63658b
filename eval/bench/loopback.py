"""How long does one request take over a socket of this machine?

A server in a thread, and a client that keeps one connection open and reads no more than it must.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp

from server.in_process import HttpRequest

HOST = "127.0.0.1"
PATIENCE_S = 30.0
_BLOCK = 65_536


@contextmanager
def serving(app: ASGIApp) -> Iterator[int]:
    """Serve the application by uvicorn, in a thread, until the end; gives its port."""
    server = uvicorn.Server(uvicorn.Config(app, host=HOST, port=0, log_config=None, access_log=False))
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so that nothing waits to be sent
    listener.bind((HOST, 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="served", daemon=True)
    thread.start()
    try:
        _wait_until_started(server, thread)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listener.close()


class Loopback:
    """One connection to a port of this machine. A context manager."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: HttpRequest) -> bytes:
        """The body of the answer, which must be a 200 that declares its length. Raises OSError and ValueError."""
        self._socket.sendall(_written(request))
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._received()
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        if not lines[0].startswith(b"http/1.1 200"):
            raise ValueError(f"the server answered {lines[0].decode()}")
        (length,) = (int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
        while len(body) < length:
            body += self._received()
        return body

    def _received(self) -> bytes:
        block = self._socket.recv(_BLOCK)
        if not block:
            raise ConnectionError("the server closed the connection")
        return block

    def __enter__(self) -> "Loopback":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()


def _written(request: HttpRequest) -> bytes:
    headers = {"host": HOST, "content-length": str(len(request.body)), **request.headers}
    lines = [f"{request.method} {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


def _wait_until_started(server: uvicorn.Server, thread: threading.Thread) -> None:
    """uvicorn tells nobody when it has started, so it is looked at."""
    begun = time.monotonic()
    while not server.started:
        if not thread.is_alive() or time.monotonic() - begun > PATIENCE_S:
            raise ConnectionError("the server did not start")
        thread.join(0.01)
