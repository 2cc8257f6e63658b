"""Which URL takes sources in?"""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from server.intake import Intake
from server.parsing import parse
from server.responses import Shape
from server.routes import answer, caller
from server.schemas import Closed
from server.scope import writable_namespace

PATH = "/v1/sources"

router = APIRouter()


class SourcesQuery(Closed):
    """What the URL may say."""

    public: Annotated[bool, Field(strict=False)] = Field(False, description="the records are public ones")


_DOCUMENTED = {
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in SourcesQuery.model_json_schema()["properties"].items()
    ],
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
    query = parse(dict(request.query_params), SourcesQuery)
    namespace = writable_namespace(principal, public=query.public)
    body = await request.body()
    intake: Intake = request.app.state.intake
    return await answer(request, principal, lambda _: intake.take(body, namespace=namespace))
