"""Which URL leads to which use case?

Each route: who asks, what do they ask, answer.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import anyio
import msgspec
import structlog
from fastapi import APIRouter, Request, Response
from starlette.background import BackgroundTask

from evidence.access import Principal
from evidence.canonical import Json
from evidence.strict_json import InvalidJson, loads_exactly
from index.catalog import Catalog
from index.errors import IndexFault
from server.admission import Admission
from server.bearers import Bearer, Bearers
from server.errors import Malformed, RequestError, Unauthenticated, Unavailable
from server.logs import frames
from server.metrics import Metrics
from server.packets import Answered
from server.parsing import Body, parse
from server.pipeline import Pipeline
from server.presence import has_left
from server.recording import Recorder
from server.responses import CatalogAnswer, HealthAnswer, PacketAnswer, SearchAnswer
from server.schemas import CatalogQuery, PacketRequest, SearchRequest
from server.scope import require
from server.tokens import MAX_TOKEN_BYTES, require_in_force
from server.url_query import parameters, read_query

Done = TypeVar("Done")
Step: TypeAlias = Callable[[Pipeline], Done]
"""Work that a thread does at one go."""
router = APIRouter()
PARSED_AT_ONCE_BYTES = 16_384  # parsed within a few milliseconds
NOBODY_THERE = 499  # as nginx logs it; no client ever sees it
_LOG = structlog.get_logger("muniment.routes")


@router.post("/v1/search", response_model=SearchAnswer, openapi_extra={"x-body": "SearchRequest"}, tags=["retrieve"])
async def search(request: Request) -> Response:
    """Ranked candidates among what the caller may use."""
    principal = await caller(request, granted="search")
    body = await read_body(request, SearchRequest)
    metrics: Metrics = request.app.state.metrics
    found = await perform(request, principal, lambda pipeline: pipeline.search(body, principal, told=metrics.checked))
    if found is None:
        return Response(status_code=NOBODY_THERE)
    metrics.search(found)
    return encoded(found)


@router.post("/v1/packets", response_model=PacketAnswer, openapi_extra={"x-body": "PacketRequest"}, tags=["retrieve"])
async def packets(request: Request) -> Response:
    """An evidence packet and its manifest, accepted or refused as a whole."""
    principal = await caller(request, granted="search")
    body = await read_body(request, PacketRequest)
    recorder: Recorder = request.app.state.recorder
    recording = recorder.begin(request.state.request_id)
    written: list[bytes] = []

    def deliver(answered: Answered) -> None:
        recording.keep(answered.body, answered.sealing)
        written.append(msgspec.json.encode(answered.body))

    metrics: Metrics = request.app.state.metrics
    try:
        done = await perform(
            request, principal, lambda pipeline: pipeline.packet(body, principal, deliver=deliver, told=metrics.checked)
        )
    except RequestError:
        await anyio.to_thread.run_sync(recording.withdraw)
        raise
    if done is None:
        return Response(status_code=NOBODY_THERE)
    metrics.packet(done)
    _tell(done)
    return Response(written[-1], media_type="application/json", background=BackgroundTask(recording.seal))


@router.get("/v1/catalog", response_model=CatalogAnswer, openapi_extra=parameters(CatalogQuery), tags=["retrieve"])
async def catalog(request: Request) -> Response:
    """What of the catalog is visible to the caller, counted."""
    principal = await caller(request, granted="search")
    query = read_query(request, CatalogQuery)
    metrics: Metrics = request.app.state.metrics
    return await answer(
        request,
        principal,
        lambda pipeline: pipeline.overview(principal, purpose=query.purpose, told=metrics.checked),
    )


@router.get("/health/live", response_model=HealthAnswer, tags=["health"])
async def live(_: Request) -> Response:
    """The process runs."""
    return encoded({"status": "live"})


@router.get("/health/ready", response_model=HealthAnswer, tags=["health"])
async def ready(request: Request) -> Response:
    """Checksums hold, models are warm, and a query has been answered."""
    if not request.app.state.ready:
        raise Unavailable("still starting")
    return encoded({"status": "ready"})


async def caller(request: Request, *, granted: str | None) -> Principal:
    """The principal of the bearer token, less what was revoked; None leaves it to the route which scope is needed.

    Raises Unauthenticated, Forbidden or Unavailable."""
    headers = request.headers.getlist("authorization")
    header = headers[0] if len(headers) == 1 else ""
    kind, _, token = header.partition(" ")
    if len(header) > MAX_TOKEN_BYTES or kind.lower() != "bearer" or not token:
        raise Unauthenticated("send `Authorization: Bearer <token>`")
    bearers: Bearers = request.app.state.bearers
    bearer = bearers.recognize(token, key=request.app.state.key, now_s=int(time.time()))
    request.state.bearer, request.state.granted = bearer, granted
    return await _live(request)


async def require_still(request: Request) -> None:
    """Look once more at the caller that `caller` found: a body may have taken its time, and so may the work.

    Raises as `caller`, also where the token's time has passed since."""
    bearer: Bearer = request.state.bearer
    require_in_force(bearer.claims, key=request.app.state.key, now_s=int(time.time()))
    await _live(request)


async def _live(request: Request) -> Principal:
    """The caller less what is revoked at this moment."""
    catalog: Catalog = request.app.state.pipeline.catalog
    revocations = catalog.revocations_at_hand()
    if revocations is None:
        with faults_told():
            revocations = await anyio.to_thread.run_sync(catalog.read_revocations)
    bearer: Bearer = request.state.bearer
    principal = bearer.less(revocations)
    if request.state.granted is not None:
        require(principal, granted=request.state.granted)
    return principal


@contextmanager
def faults_told() -> Iterator[None]:
    """Turn what the catalog cannot do into Unavailable (R5), and log it."""
    try:
        yield
    except IndexFault as error:  # its text may name a revision: it is for the log's reader, not for the caller
        _LOG.error("the catalog cannot be read", error=type(error).__name__, at=frames(error))
        raise Unavailable("the catalog cannot be read now") from error


async def read_body(request: Request, schema: type[Body]) -> Body:
    """The body as `schema`. Raises Malformed when it is no strict JSON, Invalid when it is outside the schema."""
    body = await request.body()
    if len(body) <= PARSED_AT_ONCE_BYTES:
        return _read(body, schema)
    return await anyio.to_thread.run_sync(_read, body, schema)  # a large body must not hold up other requests


def _tell(body: Mapping[str, Json]) -> None:
    """One line for each packet answered: its id beside the request's, how it ended, and how long each step took."""
    run = body["run"]
    assert isinstance(run, Mapping)
    _LOG.info(
        "a packet was answered",
        packet_id=body["packet_id"],
        disposition=body["disposition"],
        state=body["state"],
        milliseconds=run["milliseconds"],
    )


def _read(body: bytes, schema: type[Body]) -> Body:
    try:
        record = loads_exactly(body)
    except InvalidJson as error:
        raise Malformed(str(error)) from None
    return parse(record, schema)


async def answer(
    request: Request,
    principal: Principal,
    work: Callable[[Pipeline], Mapping[str, object]],
    *,
    admission: Admission | None = None,
    changes: bool = False,
) -> Response:
    """Do the work as `perform` does, and encode what it gives."""
    body = await perform(request, principal, work, admission=admission, changes=changes)
    return Response(status_code=NOBODY_THERE) if body is None else encoded(body)


async def perform(
    request: Request,
    principal: Principal,
    work: Step[Done],
    *,
    admission: Admission | None = None,
    changes: bool = False,
) -> Done | None:
    """Wait for a place, and do the work in a thread; None where nobody waits for the answer any more, before or after.

    admission: of work that has places of its own; None is that of all requests. changes: whether the work writes: what
    was done is then told, also to a caller that has just revoked itself.

    Raises TooMany, Unavailable (also when the authority cannot be read, R5), and what the work refuses.
    """
    done = await perform_each(request, principal, (work,), admission=admission, changes=changes)
    return None if done is None else done[0]


async def perform_each(
    request: Request,
    principal: Principal,
    steps: Sequence[Step[Done]],
    *,
    admission: Admission | None = None,
    changes: bool = False,
) -> list[Done] | None:
    """As `perform`, for work of several steps; nothing more is done for a client that left between them, and those who
    wait for a place go first.

    The caller is looked at again between steps, before work that writes, and before any other answer leaves (R1)."""
    places: Admission = admission or request.app.state.admission
    pipeline: Pipeline = request.app.state.pipeline
    done: list[Done] = []
    async with places.admit(principal.namespace) as place:
        for number, step in enumerate(steps):
            if has_left(request):
                return None
            if number:
                await place.pass_on()
            if changes or len(steps) > 1:
                await require_still(request)
            with faults_told():
                # to its end, whoever leaves: then its place is free
                done.append(await anyio.to_thread.run_sync(step, pipeline))
    if has_left(request):
        return None
    if not changes:
        await require_still(request)
    return done


def encoded(body: Mapping[str, object]) -> Response:
    """`body` as JSON, fields in the order given."""
    return Response(msgspec.json.encode(body), media_type="application/json")
