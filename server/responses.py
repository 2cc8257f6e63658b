"""What shape does each answer have?

Useful for the OpenAPI document and for tests that hold answers to it; answers themselves are built as plain
mappings and encoded as they are, so nothing is validated twice on the way out.
"""

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """Documents a JSON object; closed, so that a field nobody described fails a test."""

    model_config = ConfigDict(extra="forbid")


class SourceShape(Shape):
    source_id: str
    revision: str
    title: str
    family: str
    owner: str
    authority: str
    status: str
    effective_from: str | None
    effective_to: str | None


class HitShape(Shape):
    unit_id: str
    handle: str
    namespace: str
    source: SourceShape
    heading: list[str]
    span: list[int]
    text: str
    score: int
    ranks: dict[str, int]
    scores: dict[str, int]
    matched_terms: list[str]


class StatsScopeShape(Shape):
    """The set behind the lexical statistics: the usable units of this caller, use and moment (R9)."""

    set: str
    digest: str
    units: int
    terms: int


class RunShape(Shape):
    device: str
    fallback: str | None
    milliseconds: dict[str, float]


class SearchAnswer(Shape):
    hits: list[HitShape]
    catalog_version: str
    recipe: str
    fusion: dict[str, str | int] | None
    degraded: list[str]
    stats_scope: StatsScopeShape | None
    disposition: str
    run: RunShape


class BatchAnswer(Shape):
    """One answer for each request, in their order."""

    responses: list[SearchAnswer]


class EvidenceShape(Shape):
    handle: str
    namespace: str
    source_id: str
    revision: str
    title: str
    heading: list[str]
    span: list[int]
    status: str
    support_role: str
    conflict_group: str | None
    trust: str
    text: str


class RoleShape(Shape):
    role: str
    state: str
    handles: list[str]


class CoverageShape(Shape):
    roles: list[RoleShape]
    exhaustive: bool
    prohibited_claims: list[str]


class PacketShape(Shape):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    schema_: str = Field(alias="schema")
    catalog_version: str
    namespace: str
    strategy: str
    as_of: str | None
    use: str
    evidence: list[EvidenceShape]
    cut: bool
    conflict_groups: list[dict[str, object]]
    coverage: CoverageShape


class SlotShape(Shape):
    slot: str
    trust: str
    tokens: int | None
    budget: int | None
    notice: str | None


class RenderedShape(Shape):
    adapter: str
    body: str
    bytes: int
    tokens: int | None
    tokenizer: str | None
    slots: list[SlotShape]


class RefusalShape(Shape):
    """`tried` and `would_fit`: packing policies; for `route-failed` query classes and models."""

    measure: str
    needed: int
    limit: int
    over: int
    mandatory_floor: int
    tried: list[str]
    would_fit: list[str]


class PacketAnswer(Shape):
    packet_id: str
    disposition: str
    state: str
    behaviour: str
    packet: PacketShape | None
    rendered: RenderedShape | None
    refusal: RefusalShape | None
    manifest: dict[str, object]
    run: RunShape


class ReplayAnswer(Shape):
    """`layer` is there where the verdict is `differs`."""

    verdict: str
    layer: str | None = None


class CatalogAnswer(Shape):
    catalog_version: str
    recipe: str
    sources: int
    units: int
    families: dict[str, int]


class ProblemShape(Shape):
    type: str
    title: str
    status: int
    detail: str
    path: str | None = None
    line: int | None = None


class HealthAnswer(Shape):
    status: str
