"""What may a request about citations hold, and which shape do the answers have?

The packet in it may be one of ours or anybody's: only what a citation is held against is read of it, and none of that
is believed.
"""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from evidence.adapters import Adapter
from evidence.canonical import Json
from evidence.eligibility import Use
from evidence.native_citations import MAX_CITATIONS
from evidence.occurrence import Occurrence
from evidence.validation import Finding, Shown
from server.request_fields import Closed, Moment, Name, Text
from server.responses import Shape

MAX_OFFSET = 2**31
MAX_NAMED = 2048  # code points of what a model names: it need not be a handle


def _span(value: list[int]) -> list[int]:
    if value[0] > value[1]:
        raise ValueError("a span starts before it ends")
    return value


Span = Annotated[
    list[Annotated[int, Field(ge=0, lt=MAX_OFFSET)]], Field(min_length=2, max_length=2), AfterValidator(_span)
]


class ShownBody(BaseModel):
    """One passage as a packet shows it. Other fields of it are not read."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    handle: str
    namespace: str
    source_id: str
    revision: str
    span: Span
    text: str | None = None

    def shown(self) -> Shown:
        """The passage as validation takes it."""
        return Shown(
            handle=self.handle,
            namespace=self.namespace,
            source_id=self.source_id,
            revision=self.revision,
            span=(self.span[0], self.span[1]),
            text=self.text,
        )


class ShownPacketBody(BaseModel):
    """A packet: `packet` of an answer to `POST /v1/packets`. Other fields of it are not read."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    use: Annotated[Use, Field(strict=False)] = Use.CURRENT
    as_of: Moment | None = None
    evidence: list[ShownBody]


class OccurrenceBody(Closed):
    """One citation of an answer."""

    handle: Annotated[Text, Field(max_length=MAX_NAMED)] = Field(description="what is cited")
    quote: Text | None = Field(None, description="the words quoted from it; null where none are")
    span: Span | None = Field(None, description="where in the stored revision text they stand, where that is known")
    claim: Text | None = Field(None, description="what is said on this ground; carried, never judged")
    claim_type: Text | None = Field(None, description="the kind of that claim; null is not checked")

    def occurrence(self) -> Occurrence:
        """The citation as validation takes it."""
        return Occurrence(
            handle=self.handle,
            quote=self.quote,
            span=None if self.span is None else (self.span[0], self.span[1]),
            claim=self.claim,
            claim_type=self.claim_type,
        )


class CitationRequest(Closed):
    """The body of `POST /v1/citations/validate`. Use and moment are those of the packet."""

    packet: ShownPacketBody = Field(description="the packet that was cited from")
    occurrences: list[OccurrenceBody] = Field(max_length=MAX_CITATIONS, description="the citations, one by one")
    purpose: Name | None = Field(None, description="a purpose granted to the caller: that of the packet's request")
    subject: Name | None = Field(None, description="what the evidence must apply to: that of the packet's request")


class NativeRequest(Closed):
    """The body of `POST /v1/citations/read`."""

    adapter: Annotated[Adapter, Field(strict=False)] = Field(description="the adapter that rendered the packet")
    packet: dict[str, object] = Field(description="the packet that was answered from")
    answer: object = Field(
        description="what the model's provider gave back, with at most"
        f" {MAX_CITATIONS} citations; a text where it gives only text"
    )


class FindingShape(Shape):
    """The verdict on one occurrence."""

    handle: str
    verdict: str
    span: list[int] | None


class CitationAnswer(Shape):
    """One result for each occurrence, in order."""

    results: list[FindingShape]


class OccurrenceShape(Shape):
    """One citation in the common record; offsets are null where the provider gives none."""

    handle: str
    quote: str | None
    span: list[int] | None
    claim: str | None
    claim_type: str | None


class NativeAnswer(Shape):
    """The citations of an answer, in order, as `POST /v1/citations/validate` takes them."""

    occurrences: list[OccurrenceShape]


def finding_record(finding: Finding) -> dict[str, Json]:
    """One result, as it is sent."""
    return {"handle": finding.handle, "verdict": finding.verdict.value, "span": _pair(finding.span)}


def occurrence_record(occurrence: Occurrence) -> dict[str, Json]:
    """One citation, as it is sent and as it is taken again."""
    return {
        "handle": occurrence.handle,
        "quote": occurrence.quote,
        "span": _pair(occurrence.span),
        "claim": occurrence.claim,
        "claim_type": occurrence.claim_type,
    }


def _pair(span: tuple[int, int] | None) -> list[Json] | None:
    return None if span is None else list(span)
