"""Which URL answers many searches at once?"""

from collections.abc import Sequence
from functools import partial

import msgspec
from fastapi import APIRouter, Request, Response

from evidence.canonical import Json
from server.metrics import Metrics
from server.pipeline import Pipeline
from server.responses import BatchAnswer
from server.routes import NOBODY_THERE, Step, caller, perform_each, read_body
from server.schemas import BatchRequest
from server.search_batches import SearchBatch

router = APIRouter()


@router.post(
    "/v1/search/batch", response_model=BatchAnswer, openapi_extra={"x-body": "BatchRequest"}, tags=["retrieve"]
)
async def search_batch(request: Request) -> Response:
    """Many searches, each answered as if it had been asked alone; the first that cannot be answered refuses all.

    They take one place among the requests that are worked on, one search after the other."""
    principal = await caller(request, granted="search")
    body = await read_body(request, BatchRequest)
    pipeline: Pipeline = request.app.state.pipeline
    metrics: Metrics = request.app.state.metrics
    batch = pipeline.search_batch(body.requests, principal, told=metrics.checked)
    found: list[dict[str, Json]] = []

    def finish(_: Pipeline) -> bytes:
        found.extend(batch.finish())
        return msgspec.json.encode({"responses": found})  # in the thread: there may be megabytes of them

    written = await perform_each(request, principal, [*_making(batch), finish])
    if written is None:
        return Response(status_code=NOBODY_THERE)
    for one in found:
        metrics.search(one)
    return Response(written[-1], media_type="application/json")


def _making(batch: SearchBatch) -> list[Step[bytes]]:
    def prepare(part: Sequence[str], _: Pipeline) -> bytes:
        batch.prepare(part)
        return b""

    def make(place: int, _: Pipeline) -> bytes:
        batch.make(place)
        return b""

    return [*(partial(prepare, part) for part in batch.parts()), *(partial(make, at) for at in range(len(batch)))]
