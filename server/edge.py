"""What must hold of every request before a route sees it, and of every response before it leaves?

Gives each request its id, refuses compressed bodies, bodies beyond the limit while they stream, and turns every
error into one problem document (RFC 9457). The text of an unexpected error never leaves: it is logged.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec
import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.errors import Malformed, RequestError, TooLarge, TooMany, Unavailable, UnsupportedMedia, problem
from server.logs import for_request, frames

REQUEST_ID = b"x-request-id"
PROBLEM = b"application/problem+json"
RETRY_AFTER_S = b"1"
_UNEXPECTED: dict[str, str | int] = {
    "type": "urn:muniment:problem:internal",
    "title": "Internal error",
    "status": 500,
    "detail": "the server failed; its log has the details under this request's id",
}


def new_request_id() -> str:
    """A random id that names one request and tells nothing."""
    return secrets.token_hex(16)


class Edge:
    """The outermost ASGI layer. `larger_bodies`: paths whose bodies have a limit of their own, in bytes."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_body_bytes: int,
        larger_bodies: Mapping[str, int] = MappingProxyType({}),
        allowed_hosts: Sequence[str] = ("*",),
        request_id: Callable[[], str] = new_request_id,
    ) -> None:
        self._app = app
        self._allowed_hosts = tuple(allowed_hosts)
        self._max_body_bytes = max_body_bytes
        self._larger_bodies = larger_bodies
        self._request_id = request_id
        self._log = structlog.get_logger("muniment.edge")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._request_id()
        scope.setdefault("state", {})["request_id"] = request_id
        with for_request(request_id):
            await self._answer(scope, receive, send, request_id=request_id)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, *, request_id: str) -> None:
        started = False

        async def send_named(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], (REQUEST_ID, request_id.encode())]
            await send(message)

        try:
            max_body_bytes = self._larger_bodies.get(scope["path"], self._max_body_bytes)
            self._check_headers(scope, max_body_bytes)
            await self._app(scope, _counted(receive, max_body_bytes), send_named)
        except ClientDisconnect:
            self._log.debug("the client went away")
        except RequestError as error:
            if started:
                raise
            await _send_problem(send_named, *problem(error), retry=isinstance(error, TooMany | Unavailable))
        except Exception as error:
            self._log.error("request failed", error=type(error).__name__, at=frames(error))
            if started:
                raise
            await _send_problem(send_named, 500, _UNEXPECTED)

    def _check_headers(self, scope: Scope, max_body_bytes: int) -> None:
        headers = dict(scope["headers"])
        if not _is_served(headers.get(b"host", b"").decode("latin-1"), self._allowed_hosts):
            raise Malformed("this host name is not served here")
        if b"content-encoding" in headers:
            raise UnsupportedMedia("compressed bodies are not read; send the body as it is")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > max_body_bytes:
            raise TooLarge(f"the body may have at most {max_body_bytes} bytes")


def _is_served(host: str, allowed: Sequence[str]) -> bool:
    """Whether a Host header names an allowed host: `*` is any, `*.example` any name below example."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return any(
        pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:])) for pattern in allowed
    )


def _counted(receive: Receive, max_body_bytes: int) -> Receive:
    seen = 0

    async def receive_counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > max_body_bytes:
            raise TooLarge(f"the body may have at most {max_body_bytes} bytes")
        return message

    return receive_counted


async def _send_problem(send: Send, status: int, document: dict[str, str | int], *, retry: bool = False) -> None:
    body = msgspec.json.encode(document)
    headers = [(b"content-type", PROBLEM), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if retry:
        headers.append((b"retry-after", RETRY_AFTER_S))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
