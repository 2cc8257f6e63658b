"""Which URL leads to which use case?

Each route: who asks, what do they ask, answer.
"""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import anyio
import msgspec
import structlog
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ValidationError

from evidence.access import Principal
from evidence.strict_json import InvalidJson, loads
from index.errors import IndexFault
from server.admission import Admission
from server.errors import Invalid, Malformed, Unauthenticated, Unavailable
from server.keys import SigningKey
from server.logs import frames
from server.pipeline import Pipeline
from server.responses import CatalogAnswer, HealthAnswer, PacketAnswer, SearchAnswer
from server.schemas import PacketRequest, SearchRequest
from server.scope import principal_of_claims, require
from server.tokens import MAX_TOKEN_BYTES, verify

Body = TypeVar("Body", bound=BaseModel)
router = APIRouter()
PARSED_AT_ONCE_BYTES = 16_384  # parsed within a few milliseconds
MAX_PATH = 200  # characters of the path in a problem
NOBODY_THERE = 499  # as nginx logs it; no client ever sees it
_LOG = structlog.get_logger("muniment.routes")


@router.post("/v1/search", response_model=SearchAnswer, openapi_extra={"x-body": "SearchRequest"}, tags=["retrieve"])
async def search(request: Request) -> Response:
    """Ranked candidates among what the caller may use."""
    principal = caller(request, granted="search")
    body = await read_body(request, SearchRequest)
    return await answer(request, principal, lambda pipeline: pipeline.search(body, principal))


@router.post("/v1/packets", response_model=PacketAnswer, openapi_extra={"x-body": "PacketRequest"}, tags=["retrieve"])
async def packets(request: Request) -> Response:
    """An evidence packet and its manifest, accepted or refused as a whole."""
    principal = caller(request, granted="search")
    body = await read_body(request, PacketRequest)
    return await answer(request, principal, lambda pipeline: pipeline.packet(body, principal))


@router.get("/v1/catalog", response_model=CatalogAnswer, tags=["retrieve"])
async def catalog(request: Request, purpose: str | None = None) -> Response:
    """What of the catalog is visible to the caller, counted."""
    principal = caller(request, granted="search")
    return await answer(request, principal, lambda pipeline: pipeline.overview(principal, purpose=purpose))


@router.get("/health/live", response_model=HealthAnswer, tags=["health"])
async def live() -> Response:
    """The process runs."""
    return encoded({"status": "live"})


@router.get("/health/ready", response_model=HealthAnswer, tags=["health"])
async def ready(request: Request) -> Response:
    """Checksums hold, models are warm, and a query has been answered."""
    if not request.app.state.ready:
        raise Unavailable("still starting")
    return encoded({"status": "ready"})


def caller(request: Request, *, granted: str) -> Principal:
    """The principal of the bearer token. Raises Unauthenticated or Forbidden."""
    headers = request.headers.getlist("authorization")
    header = headers[0] if len(headers) == 1 else ""
    kind, _, token = header.partition(" ")
    if len(header) > MAX_TOKEN_BYTES or kind.lower() != "bearer" or not token:
        raise Unauthenticated("send `Authorization: Bearer <token>`")
    key: SigningKey = request.app.state.key
    principal = principal_of_claims(verify(token, key=key, now_s=int(time.time())))
    require(principal, granted=granted)
    return principal


async def read_body(request: Request, schema: type[Body]) -> Body:
    """The body as `schema`. Raises Malformed when it is no strict JSON, Invalid when it is outside the schema."""
    body = await request.body()
    if len(body) <= PARSED_AT_ONCE_BYTES:
        return _read(body, schema)
    return await anyio.to_thread.run_sync(_read, body, schema)  # a large body must not hold up other requests


def parse(record: object, schema: type[Body]) -> Body:
    """`record` as `schema`. Raises Invalid naming the first offending path, never its content."""
    try:
        return schema.model_validate(record)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        if len(path) > MAX_PATH:
            path = path[:MAX_PATH] + "…"
        raise Invalid(first["msg"].removeprefix("Value error, "), path=path) from None


def _read(body: bytes, schema: type[Body]) -> Body:
    try:
        record = loads(body)
    except InvalidJson as error:
        raise Malformed(str(error)) from None
    return parse(record, schema)


async def answer(request: Request, principal: Principal, work: Callable[[Pipeline], Mapping[str, object]]) -> Response:
    """Wait for a place, do the work in a thread, encode what it gives.

    Raises TooMany, Unavailable (also when the authority cannot be read, R5), and what the work refuses.
    """
    admission: Admission = request.app.state.admission
    pipeline: Pipeline = request.app.state.pipeline
    async with admission.admit(principal.namespace):
        if await request.is_disconnected():  # nobody waits for this answer any more
            return Response(status_code=NOBODY_THERE)
        try:
            body = await anyio.to_thread.run_sync(work, pipeline)
        except IndexFault as error:  # its text may name a revision: it is for the log's reader, not for the caller
            _LOG.error("the catalog cannot be read", error=type(error).__name__, at=frames(error))
            raise Unavailable("the catalog cannot be read now") from error
    return encoded(body)


def encoded(body: Mapping[str, object]) -> Response:
    """`body` as JSON, fields in the order given."""
    return Response(msgspec.json.encode(body), media_type="application/json")
