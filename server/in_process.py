"""How does an application answer without a socket?

The real one, through its ASGI interface: every layer runs, and what comes back is every byte that would be sent. Useful
where whole responses are compared. Not useful for serving.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Scope

HOST = b"in-process"
Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request. `target`: the path with its query string, percent-encoded, as on the request line."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """Every byte of a response: status, headers in the order sent, body."""

    status: int
    headers: Headers
    body: bytes


async def ask(app: ASGIApp, request: HttpRequest) -> HttpResponse:
    """The response of `app`, once everything that it does after the last byte is done too.

    The client stays until then. Raises what `app` raises.
    """
    waiting: list[Message] = [{"type": "http.request", "body": request.body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if not waiting:
            await asyncio.get_running_loop().create_future()  # which nobody resolves
        return waiting.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    await app(connection(request), receive, send)
    return response_of(sent)


def connection(request: HttpRequest) -> Scope:
    """What an application is told of a request before it reads the body."""
    path, _, query = request.target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": [
            (b"host", HOST),
            (b"content-length", str(len(request.body)).encode()),
            *((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()),
        ],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
        "state": {},
    }


def response_of(sent: Sequence[Message]) -> HttpResponse:
    """The response that these messages of an application make. Raises ValueError unless they are one, and whole."""
    start, *parts = sent
    if start["type"] != "http.response.start" or not parts or parts[-1].get("more_body", False):
        raise ValueError("the application sent no whole response")
    body = b"".join(part.get("body", b"") for part in parts)
    return HttpResponse(status=start["status"], headers=tuple(start["headers"]), body=body)
