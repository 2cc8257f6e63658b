"""Which URL replays a manifest?"""

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from server.metrics import Metrics
from server.recalling import query_code_of
from server.recording import Recorder
from server.replaying import replay
from server.request_fields import Closed
from server.responses import ReplayAnswer
from server.routes import answer, caller, read_body

router = APIRouter()


class ReplayRequest(Closed):
    """The body of `POST /v1/manifests/replay`."""

    manifest: dict[str, Any] = Field(description="a whole manifest, as an answer gave it")


@router.post(
    "/v1/manifests/replay", response_model=ReplayAnswer, openapi_extra={"x-body": "ReplayRequest"}, tags=["records"]
)
async def replay_one(request: Request) -> Response:
    """Whether the same answer would be given now to this caller, and the first layer that differs."""
    principal = await caller(request, granted="search")
    body = await read_body(request, ReplayRequest)
    recorder: Recorder = request.app.state.recorder

    def code_of(packet_id: str) -> bytes | None:
        return query_code_of(packet_id, principal, records=recorder.records)

    metrics: Metrics = request.app.state.metrics
    return await answer(
        request,
        principal,
        lambda pipeline: replay(pipeline, body.manifest, principal, code_of=code_of, told=metrics.checked).record(),
    )
