"""What do requests to rerank hold, and what do their answers look like?

Jina's shapes at `/v1/rerank`, Cohere's at `/v2/rerank`. Strict and closed as every body. Cohere's random `id` is left
out: equal requests have equal answers.
"""

from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Tag

from server.request_fields import Closed, Name, without_nul
from server.responses import Shape

MAX_DOCUMENTS = 1000  # as Cohere advises

_Passage = Annotated[str, Field(min_length=1), AfterValidator(without_nul)]


class PassageBody(Closed):
    """A document as an object."""

    text: _Passage = Field(description="what is read of it")


def _kind(value: object) -> str | None:
    """So that one kind of value is refused by the rules of that kind, and at its own place."""
    if isinstance(value, str):
        return "(text)"
    return "(object)" if isinstance(value, dict) else None


class _RerankRequest(Closed):
    model: Name = Field(description="the reranker of this server; others are refused")
    query: Annotated[str, Field(min_length=1, description="what is asked"), AfterValidator(without_nul)]
    top_n: int | None = Field(None, ge=1, description="results wanted; all unless given")


class JinaRerankRequest(_RerankRequest):
    """The body of `POST /v1/rerank`."""

    documents: list[
        Annotated[
            Annotated[_Passage, Tag("(text)")] | Annotated[PassageBody, Tag("(object)")],
            Discriminator(
                _kind, custom_error_type="no_document", custom_error_message="is a text, or an object with a `text`"
            ),
        ]
    ] = Field(min_length=1, max_length=MAX_DOCUMENTS, description="texts, or objects with a `text`")
    return_documents: bool = Field(True, description="whether a result holds its document")

    @property
    def texts(self) -> list[str]:
        """The documents' texts, in the order given."""
        return [document if isinstance(document, str) else document.text for document in self.documents]


class CohereRerankRequest(_RerankRequest):
    """The body of `POST /v2/rerank`."""

    documents: list[_Passage] = Field(min_length=1, max_length=MAX_DOCUMENTS, description="texts")

    @property
    def texts(self) -> list[str]:
        """The documents, in the order given."""
        return self.documents


class DocumentShape(Shape):
    text: str


class JinaResultShape(Shape):
    """`index`: the document's place in the request, from 0. `relevance_score`: orders, and means nothing else."""

    index: int
    relevance_score: float
    document: DocumentShape | None = None


class JinaUsage(Shape):
    """Tokens of the query and of every document, as the reranker counts them."""

    total_tokens: int


class JinaRerankAnswer(Shape):
    """Best first; equal scores in the order of the request."""

    model: str
    usage: JinaUsage
    results: list[JinaResultShape]


class CohereResultShape(Shape):
    index: int
    relevance_score: float


class CohereVersion(Shape):
    version: str


class CohereTokens(Shape):
    """Tokens of the query and of every document, as the reranker counts them."""

    input_tokens: int


class CohereMeta(Shape):
    api_version: CohereVersion
    tokens: CohereTokens


class CohereRerankAnswer(Shape):
    """Best first; equal scores in the order of the request."""

    results: list[CohereResultShape]
    meta: CohereMeta
