"""How is the server put together?

`create_app` builds; the lifespan warms the models with one query before the server says that it is ready.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from index.errors import RecordsFault
from server import routes_sources
from server.admission import Admission
from server.authority_schemas import AccessBody, RevocationBody
from server.bearers import Bearers
from server.citation_schemas import CitationRequest, NativeRequest
from server.compatible.embedding_shapes import EmbeddingRequest
from server.compatible.reranking_shapes import CohereRerankRequest, JinaRerankRequest
from server.direct import Direct, endpoints_of
from server.edge import PROBLEM, Edge, new_request_id
from server.intake import Intake
from server.keys import SigningKey
from server.logs import frames
from server.metrics import Metrics
from server.pipeline import Pipeline
from server.record_schemas import AdjudicationRequest, ReviewRequest
from server.recording import Recorder
from server.responses import ProblemShape
from server.routes import encoded, router
from server.routes_authority import router as authority_router
from server.routes_batch import router as batch_router
from server.routes_citations import router as citations_router
from server.routes_compatible import router as compatible_router
from server.routes_records import router as records_router
from server.routes_replay import ReplayRequest
from server.routes_replay import router as replay_router
from server.schemas import BatchRequest, PacketRequest, SearchRequest
from server.settings import Settings

TITLE = "Muniment"
DESCRIPTION = (
    "Evidence packets from a hybrid index. Every answer holds what the bearer of the token may use, for the purpose and"
    " the moment asked for, and nothing else plays a part in it. Errors are RFC 9457 problem documents; every response"
    " has an x-request-id."
)
PRUNING_EVERY_S = 24 * 3600  # so that what is beyond its days goes within a day, also where nobody asks any more
ROUTERS = (
    router,
    batch_router,
    compatible_router,
    authority_router,
    routes_sources.router,
    records_router,
    citations_router,
    replay_router,
)
_BODIES: dict[str, type[BaseModel]] = {
    "SearchRequest": SearchRequest,
    "PacketRequest": PacketRequest,
    "BatchRequest": BatchRequest,
    "EmbeddingRequest": EmbeddingRequest,
    "JinaRerankRequest": JinaRerankRequest,
    "CohereRerankRequest": CohereRerankRequest,
    "CitationRequest": CitationRequest,
    "NativeRequest": NativeRequest,
    "AccessBody": AccessBody,
    "RevocationBody": RevocationBody,
    "ReplayRequest": ReplayRequest,
    "ReviewRequest": ReviewRequest,
    "AdjudicationRequest": AdjudicationRequest,
}


def create_app(
    settings: Settings,
    *,
    pipeline: Pipeline,
    recorder: Recorder,
    key: SigningKey,
    request_id: Callable[[], str] = new_request_id,
) -> FastAPI:
    """The ASGI application over a pipeline and records that are open already; closing them stays with the caller."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await anyio.to_thread.run_sync(pipeline.warm_up)
        async with anyio.create_task_group() as group:
            group.start_soon(_prune_by_the_clock, recorder)
            app.state.ready = True
            yield
            app.state.ready = False
            group.cancel_scope.cancel()

    app = FastAPI(
        title=TITLE,
        docs_url="/docs",
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        version="0.1.0",
        telemetry={"tracing": False, "metrics": False, "logs": False},  # bodies go nowhere but into answers (R31)
    )
    app.state.ready = False
    app.state.pipeline = pipeline
    app.state.recorder = recorder
    app.state.key = key
    app.state.bearers = Bearers()
    app.state.metrics = Metrics()
    app.state.admission = Admission(
        max_running=settings.max_running,
        max_running_per_tenant=settings.max_running_per_tenant,
        max_waiting=settings.max_waiting,
        max_waiting_per_tenant=settings.max_waiting_per_tenant,
    )
    app.state.intake_admission = Admission(
        max_running=1,  # one body uses every core while it is encoded
        max_running_per_tenant=1,
        max_waiting=settings.max_waiting_sources,
        max_waiting_per_tenant=settings.max_waiting_sources_per_tenant,
    )
    app.state.intake = Intake(pipeline.catalog, encoder=pipeline.encoder)
    for one in ROUTERS:
        app.include_router(one)
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_middleware(Direct, endpoints=endpoints_of(ROUTERS))
    app.add_middleware(
        Edge,
        max_body_bytes=settings.max_body_bytes,
        larger_bodies={routes_sources.PATH: settings.max_sources_bytes},
        allowed_hosts=settings.allowed_hosts,
        request_id=request_id,
    )
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's documented way to extend the document
    return app


async def _prune_by_the_clock(recorder: Recorder) -> None:
    while True:
        await anyio.sleep(PRUNING_EVERY_S)
        try:
            await anyio.to_thread.run_sync(recorder.prune)
        except RecordsFault as error:  # the next time will do; a server does not stop for it
            structlog.get_logger("muniment.app").error(
                "records could not be pruned", reason=str(error), at=frames(error)
            )


async def _http_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = encoded(
        {
            "type": "urn:muniment:problem:route",
            "title": error.detail,
            "status": error.status_code,
            "detail": "no such route, or not with this method",
        }
    )
    response.status_code = error.status_code
    response.headers["content-type"] = PROBLEM.decode()
    response.headers.update(error.headers or {})
    return response


def _openapi(app: FastAPI) -> dict[str, object]:
    """FastAPI's document with the request bodies, the bearer scheme and the problem answers that routes share."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(title=TITLE, version=app.version, routes=app.routes, description=DESCRIPTION)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    reference = "#/components/schemas/{model}"
    described: dict[str, type[BaseModel]] = {**_BODIES, "Problem": ProblemShape}
    for name, model in described.items():
        schema = model.model_json_schema(ref_template=reference)
        schemas.update(schema.pop("$defs", {}))
        schemas[name] = schema
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}
    problem = {
        "description": "Problem",
        "content": {PROBLEM.decode(): {"schema": {"$ref": reference.format(model="Problem")}}},
    }
    for path, methods in document["paths"].items():
        for operation in methods.values():
            operation["responses"]["default"] = problem
            operation["responses"].pop("422", None)
            if not path.startswith("/health/"):
                operation["security"] = [{"bearer": []}]
            body = operation.pop("x-body", None)
            if body:
                schema = {"$ref": reference.format(model=body)}
                operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    app.openapi_schema = document
    return document
