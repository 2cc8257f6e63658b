"""Which URL judges citations?"""

from fastapi import APIRouter, Request, Response

from server.citation_schemas import CitationAnswer, CitationRequest, NativeAnswer, NativeRequest
from server.citing import read_native, validate_citations
from server.metrics import Metrics
from server.routes import answer, caller, read_body

router = APIRouter()


@router.post(
    "/v1/citations/validate",
    response_model=CitationAnswer,
    openapi_extra={"x-body": "CitationRequest"},
    tags=["citations"],
)
async def validate(request: Request) -> Response:
    """A verdict on each citation of a packet, in the caller's scope and now."""
    principal = await caller(request, granted="search")
    body = await read_body(request, CitationRequest)
    metrics: Metrics = request.app.state.metrics
    return await answer(
        request,
        principal,
        lambda pipeline: validate_citations(
            pipeline.catalog, body, principal, now=pipeline.now(), told=metrics.checked
        ),
    )


@router.post(
    "/v1/citations/read", response_model=NativeAnswer, openapi_extra={"x-body": "NativeRequest"}, tags=["citations"]
)
async def read(request: Request) -> Response:
    """The citations of a provider's answer, in the record that `validate` takes."""
    principal = await caller(request, granted="search")
    body = await read_body(request, NativeRequest)
    return await answer(request, principal, lambda _: read_native(body))
