"""What may a request about records and reviews hold?"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from server.request_fields import Closed, Name, Text
from server.url_query import UrlQuery

MAX_LISTED = 1000
MAX_CLAIM = 4096  # code points
MAX_EVALUATORS = 16

Limit = Annotated[int, Field(ge=1, le=MAX_LISTED)]
Passage = Annotated[Text, Field(min_length=1, max_length=MAX_CLAIM)]


class ReviewState(StrEnum):
    """Where a dispute stands. The span supports the claim, contradicts it, or leaves it unresolved; the named
    authority says which."""

    OPEN = "open"
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNRESOLVED = "unresolved"


class AuditQuery(UrlQuery):
    """The parameters of `GET /v1/audit/{packet_id}`."""

    after: Name | None = Field(None, description="the request id behind which to go on")
    limit: Limit = Field(100, description="runs wanted, in the order they were kept")


class ReviewsQuery(UrlQuery):
    """The parameters of `GET /v1/reviews`."""

    state: ReviewState | None = Field(None, description="only reviews in this state")
    packet_id: Name | None = Field(None, description="only reviews of this packet")
    after: Name | None = Field(None, description="the review id behind which to go on")
    limit: Limit = Field(100, description="reviews wanted, in the order they were opened")


class Evaluator(Closed):
    """What judged the support, in which version, and what it said."""

    name: Name = Field(description="of the rule, the model or the person")
    version: Name = Field(description="its version")
    verdict: Name = Field(description="in its own words")


class ReviewRequest(Closed):
    """The body of `POST /v1/reviews`: a disputed citation. The span's identity is read from the packet's record."""

    packet_id: Name = Field(description="the packet that was cited")
    handle: Name = Field(description="the handle that was cited")
    claim: Passage = Field(description="what was said to be supported")
    claim_type: Name | None = Field(None, description="its type, as in `citable_for`")
    quote: Passage | None = Field(None, description="what was quoted")
    span: Annotated[list[int], Field(min_length=2, max_length=2)] | None = Field(
        None, description="the disputed part of the passage's span, in code points of the revision; null is all of it"
    )
    evaluators: list[Evaluator] = Field([], max_length=MAX_EVALUATORS, description="who judged it so far")
    authority: Name = Field(description="who is to decide")

    @model_validator(mode="after")
    def _span_is_one(self) -> Self:
        if self.span is not None and not 0 <= self.span[0] < self.span[1]:
            raise ValueError("span must be [start, end) with 0 <= start < end")
        return self


class AdjudicationRequest(Closed):
    """The body of `POST /v1/reviews/{review_id}`: a decision, to be recorded."""

    state: Annotated[ReviewState, Field(strict=False, description="what was decided; open opens it again")]
    authority: Name = Field(description="who decided")
    reason: Passage | None = Field(None, description="why")
