"""Which route answers this request, without asking each of them?

A route of a fixed path takes a request and gives a response, and needs nothing of the framework in between. Its schemas
stay with the framework, which writes the OpenAPI document from them; what has names in its path goes there too.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

Endpoint = Callable[[Request], Awaitable[Response]]
Endpoints = Mapping[tuple[str, str], Endpoint]
"""(method, path) -> what answers."""


class Direct:
    """An ASGI layer: the endpoints answer for their own method and path, the application for everything else."""

    def __init__(self, app: ASGIApp, *, endpoints: Endpoints) -> None:
        self._app = app
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        response = await endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


def endpoints_of(routers: Iterable[APIRouter]) -> Endpoints:
    """The endpoints of the routes without names in their paths."""
    return MappingProxyType(
        {
            (method, route.path): route.endpoint
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and not route.param_convertors
            for method in route.methods or ()
        }
    )
