"""What shape do the answers about records and reviews have?"""

from pydantic import Field

from server.responses import Shape


class RetentionShape(Shape):
    """What is kept of a namespace, and what no longer is."""

    max_runs: int = Field(description="runs of a namespace that are kept")
    max_days: int = Field(description="days for which a run is kept")
    removed_runs: int = Field(description="runs that are gone, of the namespaces that the auditor reads")
    removed_manifests: int = Field(description="manifests that went with their last run")
    removed_up_to: str | None = Field(description="the latest moment of a run that is gone")


class FindingShape(Shape):
    """Something that the request named exactly, and that its caller may not see."""

    reason: str
    role: str | None
    named: dict[str, object]
    namespaces: list[str]


class SealedRunShape(Shape):
    device: str
    fallback: str | None
    microseconds: dict[str, int]


class SealedShape(Shape):
    """A sealed manifest: one run of a packet."""

    schema_: str = Field(alias="schema")
    packet_id: str
    hashes: dict[str, str | None]
    request_id: str
    at: str
    judged_at: str
    namespace: str
    scope: dict[str, object]
    query_code: str | None
    run: SealedRunShape
    delivery: str
    unauthorized: list[FindingShape] | None


class AuditAnswer(Shape):
    runs: list[SealedShape]
    next: str | None
    manifest: dict[str, object] | None
    retention: RetentionShape


class EvaluatorShape(Shape):
    name: str
    version: str
    verdict: str


class AdjudicationShape(Shape):
    state: str
    authority: str
    reason: str | None
    recorded_by: str
    recorded_at: str


class ReviewAnswer(Shape):
    review_id: str
    state: str
    packet_id: str
    handle: str
    unit_id: str
    span: list[int]
    span_digest: str
    claim: str
    claim_type: str | None
    quote: str | None
    evaluators: list[EvaluatorShape]
    authority: str
    opened_by: str
    opened_at: str
    adjudications: list[AdjudicationShape]


class ReviewsAnswer(Shape):
    reviews: list[ReviewAnswer]
    next: str | None
