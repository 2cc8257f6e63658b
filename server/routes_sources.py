"""Which URL takes sources in?"""

from fastapi import APIRouter, Request, Response

from server.intake import Intake
from server.responses import Shape
from server.routes import answer, caller
from server.scope import may_write, writable_namespace
from server.url_query import PublicQuery, parameters, read_query

PATH = "/v1/sources"

router = APIRouter()


_DOCUMENTED = {
    **parameters(PublicQuery),
    "requestBody": {"required": True, "content": {"application/jsonl": {"schema": {"type": "string"}}}},
}


class IngestAnswer(Shape):
    """What was taken in. All of it can be searched when this arrives."""

    ingest_id: str
    accepted: int
    unchanged: int
    units: int


@router.post(PATH, response_model=IngestAnswer, openapi_extra=_DOCUMENTED, tags=["sources"])
async def take_sources(request: Request) -> Response:
    """Add revisions, one JSON object a line: all of them, searchable when acknowledged, or none."""
    principal = await caller(request, granted=None)
    query = read_query(request, PublicQuery)
    namespace = writable_namespace(principal, public=query.public)
    body = await request.body()
    intake: Intake = request.app.state.intake
    return await answer(
        request,
        principal,
        lambda _: intake.take(body, namespace=namespace, allow=may_write(principal, public=query.public)),
        changes=True,
        admission=request.app.state.intake_admission,  # encoding takes long: who asks must not wait for who adds
    )
