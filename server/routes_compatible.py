"""Which URLs speak the shapes of other APIs?"""

import msgspec
from fastapi import APIRouter, Request, Response

from evidence.access import Principal
from server.compatible.embedding import Embedding
from server.compatible.embedding_shapes import EmbeddingRequest, EmbeddingsAnswer
from server.compatible.reranking import Reranking, Result
from server.compatible.reranking_shapes import (
    CohereRerankAnswer,
    CohereRerankRequest,
    JinaRerankAnswer,
    JinaRerankRequest,
)
from server.pipeline import Pipeline
from server.routes import NOBODY_THERE, Step, caller, perform_each, read_body

router = APIRouter()


@router.post(
    "/v1/embeddings",
    response_model=EmbeddingsAnswer,
    openapi_extra={"x-body": "EmbeddingRequest"},
    tags=["compatible"],
)
async def embeddings(request: Request) -> Response:
    """The vectors of texts, in OpenAI's shape. Each text gets the vector that it gets alone."""
    principal = await caller(request, granted="search")
    body = await read_body(request, EmbeddingRequest)
    pipeline: Pipeline = request.app.state.pipeline
    embedding = Embedding(body, pipeline.embedder)

    def finish(_: Pipeline) -> bytes:
        return msgspec.json.encode(embedding.finish())

    return await _answer(request, principal, embedding, finish)


@router.post(
    "/v1/rerank",
    response_model=JinaRerankAnswer,
    openapi_extra={"x-body": "JinaRerankRequest"},
    tags=["compatible"],
)
async def rerank(request: Request) -> Response:
    """Documents of the request by how well they answer its query, in Jina's shape."""
    principal = await caller(request, granted="search")
    body = await read_body(request, JinaRerankRequest)
    reranking = _reranking(request, body)
    texts = body.texts

    def shown(result: Result) -> dict[str, object]:
        scored: dict[str, object] = {"index": result.index, "relevance_score": result.relevance_score}
        return {**scored, "document": {"text": texts[result.index]}} if body.return_documents else scored

    def finish(_: Pipeline) -> bytes:
        results = [shown(result) for result in reranking.results(body.top_n)]
        usage = {"total_tokens": reranking.tokens}
        return msgspec.json.encode({"model": body.model, "usage": usage, "results": results})

    return await _answer(request, principal, reranking, finish)


@router.post(
    "/v2/rerank",
    response_model=CohereRerankAnswer,
    openapi_extra={"x-body": "CohereRerankRequest"},
    tags=["compatible"],
)
async def rerank_as_cohere(request: Request) -> Response:
    """Documents of the request by how well they answer its query, in Cohere's shape."""
    principal = await caller(request, granted="search")
    body = await read_body(request, CohereRerankRequest)
    reranking = _reranking(request, body)

    def finish(_: Pipeline) -> bytes:
        results = [
            {"index": result.index, "relevance_score": result.relevance_score}
            for result in reranking.results(body.top_n)
        ]
        meta = {"api_version": {"version": "2"}, "tokens": {"input_tokens": reranking.tokens}}
        return msgspec.json.encode({"results": results, "meta": meta})

    return await _answer(request, principal, reranking, finish)


def _reranking(request: Request, body: JinaRerankRequest | CohereRerankRequest) -> Reranking:
    pipeline: Pipeline = request.app.state.pipeline
    pipeline.check_query(body.query)
    return Reranking(pipeline.reranker, model=body.model, query=body.query, texts=body.texts)


async def _answer(request: Request, principal: Principal, work: Embedding | Reranking, finish: Step[bytes]) -> Response:
    """Check the work before any of it is done, do it step by step, and write the body by `finish`."""

    def check(_: Pipeline) -> bytes:
        work.check()
        return b""

    def made(step: range) -> Step[bytes]:
        def make(_: Pipeline) -> bytes:
            work.make(step)
            return b""

        return make

    written = await perform_each(request, principal, [check, *map(made, work.steps()), finish])
    if written is None:
        return Response(status_code=NOBODY_THERE)
    return Response(written[-1], media_type="application/json")
