"""Which URL leads to what was put on record?

Each route: who asks, what do they ask, answer.
"""

from fastapi import APIRouter, Request, Response

from evidence.access import Principal
from server import clock
from server.metrics import Metrics
from server.pipeline import Pipeline
from server.recalling import audit, own_manifest
from server.record_schemas import AdjudicationRequest, AuditQuery, ReviewRequest, ReviewsQuery
from server.recording import Recorder
from server.responses_records import AuditAnswer, ReviewAnswer, ReviewsAnswer
from server.reviewing import new_review_id, open_dispute, record_decision, reviews
from server.routes import answer, caller, read_body
from server.scope import require, still_granted
from server.url_query import parameters, read_query

router = APIRouter()


@router.get("/v1/manifests/{packet_id}", response_model=dict[str, object], tags=["records"])
async def manifest(request: Request, packet_id: str) -> Response:
    """The caller's own manifest, while all that it names is visible to them."""
    principal = await caller(request, granted="search")
    records = _recorder(request).records
    metrics: Metrics = request.app.state.metrics
    return await answer(
        request,
        principal,
        lambda pipeline: own_manifest(
            packet_id, principal, records=records, catalog=pipeline.catalog, now=clock.now(), told=metrics.checked
        ),
    )


@router.get("/v1/audit/{packet_id}", response_model=AuditAnswer, openapi_extra=parameters(AuditQuery), tags=["records"])
async def audit_packet(request: Request, packet_id: str) -> Response:
    """Every run of a packet, sealed, in the auditor's own tenant or everywhere."""
    auditor = await caller(request, granted="audit")
    query = read_query(request, AuditQuery)
    recorder = _recorder(request)
    return await answer(request, auditor, lambda _: audit(packet_id, auditor, query, recorder=recorder))


@router.get("/v1/reviews", response_model=ReviewsAnswer, openapi_extra=parameters(ReviewsQuery), tags=["records"])
async def list_disputes(request: Request) -> Response:
    """Disputed citations and what was decided about them."""
    auditor = await caller(request, granted="audit")
    query = read_query(request, ReviewsQuery)
    records = _recorder(request).records
    return await answer(request, auditor, lambda _: reviews(query, auditor, records=records))


@router.post("/v1/reviews", response_model=ReviewAnswer, openapi_extra={"x-body": "ReviewRequest"}, tags=["records"])
async def open_one(request: Request) -> Response:
    """Put a disputed citation on record, for a named authority to decide."""
    auditor = await caller(request, granted="audit")
    body = await read_body(request, ReviewRequest)
    records = _recorder(request).records
    return await answer(
        request,
        auditor,
        lambda pipeline: open_dispute(
            body, _still(auditor, pipeline), records=records, now=clock.now(), review_id=new_review_id()
        ),
        changes=True,
    )


@router.post(
    "/v1/reviews/{review_id}",
    response_model=ReviewAnswer,
    openapi_extra={"x-body": "AdjudicationRequest"},
    tags=["records"],
)
async def decide_one(request: Request, review_id: str) -> Response:
    """Record what the authority decided. Earlier decisions stay."""
    auditor = await caller(request, granted="audit")
    body = await read_body(request, AdjudicationRequest)
    records = _recorder(request).records
    return await answer(
        request,
        auditor,
        lambda pipeline: record_decision(review_id, body, _still(auditor, pipeline), records=records, now=clock.now()),
        changes=True,
    )


def _recorder(request: Request) -> Recorder:
    recorder: Recorder = request.app.state.recorder
    return recorder


def _still(auditor: Principal, pipeline: Pipeline) -> Principal:
    """The auditor as of now: a place may have been waited for. Raises Unauthenticated and Forbidden."""
    live = still_granted(auditor, pipeline.catalog.read_revocations())
    require(live, granted="audit")
    return live
