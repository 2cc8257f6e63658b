"""What may a request hold, and how is it written down when it counts?

Pydantic at the edge, strict and closed: an unknown field, a coerced type or a value outside its range is refused
with its path. `normalized()` is the request with every default filled in, as the manifest keeps it (R30).
"""

from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from evidence.adapters import Adapter
from evidence.canonical import Json
from evidence.eligibility import Filter, Use
from evidence.handles import handles_in
from evidence.packing import Overflow
from evidence.request import Strategy
from server.request_fields import Cell, Closed, Moment, Name, Text, Values, Weight, without_nul
from server.url_query import UrlQuery

MAX_DEPTH = 1000
MAX_RRF_K = 1_000_000
MAX_SEARCHES = 256  # of one call
MAX_FIELDS = 32  # of metadata in a filter
MAX_TURNS = 200  # of a conversation
MAX_TURN = 65_536  # code points of a turn
MAX_HANDLES = 256  # different ones in a conversation: each is looked up again
MAX_TOOLS = 32  # tables
MAX_COLUMNS = 64  # of a table
MAX_ROWS = 10_000  # of a table


class Channel(StrEnum):
    """Which rankings a search uses."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    DENSE = "dense"


class TurnRole(StrEnum):
    """Who said a turn of a conversation."""

    USER = "user"
    ASSISTANT = "assistant"


class FusionMethod(StrEnum):
    """How rankings become one (R12)."""

    MINMAX = "minmax"
    RRF = "rrf"


_NULL_IS_DEFAULT = BeforeValidator(lambda value: {} if value is None else value)
_NULL_IS_EMPTY = BeforeValidator(lambda value: [] if value is None else value)


class FilterBody(Closed):
    """Any-of per field, all fields together; an empty list matches nothing (R3)."""

    family: Values | None = Field(None, description="families of sources")
    source_id: Values | None = Field(None, description="source ids, in any namespace the caller sees")
    owner: Values | None = Field(None, description="owners")
    metadata: dict[Name, Values] = Field(
        {}, max_length=MAX_FIELDS, description="for each metadata field the values that pass"
    )

    def filter(self) -> Filter:
        """The filter as eligibility takes it."""
        return Filter(
            family=_sorted(self.family),
            source_id=_sorted(self.source_id),
            owner=_sorted(self.owner),
            metadata=tuple((name, tuple(sorted(set(values)))) for name, values in sorted(self.metadata.items())),
        )


class Fusion(Closed):
    """How the channels' rankings are merged. `dense_weight` belongs to minmax, `rrf_k` to rrf."""

    method: Annotated[FusionMethod, Field(strict=False, description="min-max of scores, or reciprocal ranks")] = (
        FusionMethod.MINMAX
    )
    dense_weight: Weight | None = Field(None, description="weight of dense in minmax; 0.5 unless given")
    rrf_k: int | None = Field(None, ge=1, le=MAX_RRF_K, description="the constant of rrf; 60 unless given")
    depth: int = Field(200, ge=1, le=MAX_DEPTH, description="candidates that each channel offers")

    @model_validator(mode="after")
    def _parameters_belong(self) -> Self:
        if self.method is FusionMethod.RRF and self.dense_weight is not None:
            raise ValueError("dense_weight belongs to minmax, not to rrf")
        if self.method is FusionMethod.MINMAX and self.rrf_k is not None:
            raise ValueError("rrf_k belongs to rrf, not to minmax")
        return self

    @property
    def weight(self) -> Fraction:
        """The dense weight, exactly as its decimal says."""
        return Fraction(1, 2) if self.dense_weight is None else Fraction(self.dense_weight)

    @property
    def constant(self) -> int:
        """The constant of reciprocal rank fusion (Cormack, Clarke & Buettcher, SIGIR 2009)."""
        return 60 if self.rrf_k is None else self.rrf_k

    def normalized(self) -> dict[str, Json]:
        """Method, parameters and depth; the weight as a fraction, since hashed records hold no floats."""
        chosen: dict[str, Json] = (
            {"dense_weight": str(self.weight)} if self.method is FusionMethod.MINMAX else {"rrf_k": self.constant}
        )
        return {"method": self.method.value, **chosen, "depth": self.depth}


class Retrieval(Closed):
    """The fields that searches and packets share."""

    query: Annotated[str, Field(min_length=1, description="the question, as asked"), AfterValidator(without_nul)]
    channel: Annotated[Channel, Field(strict=False, description="which rankings count")] = Channel.HYBRID
    rerank: bool = Field(False, description="order the best candidates again")
    as_of: Moment | None = Field(
        None, description="judge revisions at this past moment: RFC 3339 with a zone; null is now"
    )
    use: Annotated[Use, Field(strict=False, description="current evidence, all revisions, or drafts too")] = Use.CURRENT
    purpose: Name | None = Field(None, description="a purpose granted to the caller; others are refused")
    subject: Name | None = Field(None, description="what the evidence must apply to, as a model")
    catalog_version: Name | None = Field(None, description="the version demanded; another one gives stale-version")
    filter: Annotated[FilterBody, _NULL_IS_DEFAULT] = Field(
        FilterBody(), description="any of the values per field, all fields together"
    )
    fusion: Annotated[Fusion, _NULL_IS_DEFAULT] = Field(Fusion(), description="how the channels are merged")


class SearchRequest(Retrieval):
    """The body of `POST /v1/search`."""

    k: int = Field(10, ge=1, description="hits wanted, at most fusion.depth; fewer is an ordinary answer")

    @model_validator(mode="after")
    def _within_depth(self) -> Self:
        if self.k > self.fusion.depth:
            raise ValueError(f"k is {self.k}, more than fusion.depth ({self.fusion.depth})")
        return self


class BatchRequest(Closed):
    """The body of `POST /v1/search/batch`."""

    requests: list[SearchRequest] = Field(
        max_length=MAX_SEARCHES, description="searches, each answered as if it had been asked alone"
    )


class Match(Closed):
    """What fills a role: exactly one of claim, family, source_id, unit_id. `value` goes with claim, `public` with
    source_id: a source_id names a source of the caller's own namespace unless `public` is true."""

    claim: Name | None = Field(None, description="a unit that makes the claim of this key")
    value: Text | None = Field(None, description="... with this value; null is any")
    family: Name | None = Field(None, description="a unit of this family of sources")
    source_id: Name | None = Field(None, description="a unit of this source of the caller's own namespace")
    public: bool = Field(False, description="... or of the public source of that id")
    unit_id: Annotated[str, Field(min_length=1, max_length=4096)] | None = Field(None, description="this unit")

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        given = [name for name in ("claim", "family", "source_id", "unit_id") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("exactly one of claim, family, source_id, unit_id is needed")
        if self.value is not None and self.claim is None:
            raise ValueError("value belongs to claim")
        if self.public and self.source_id is None:
            raise ValueError("public belongs to source_id")
        return self


class RequirementBody(Closed):
    """A role that the evidence must, or should, fill (R20)."""

    role: Name = Field(description="a name of the caller's own, once in a request")
    match: Match = Field(description="what fills it")
    mandatory: bool = Field(True, description="whether the state depends on it, and its unit is never left out")


class BudgetBody(Closed):
    """Inclusive limits. A token limit needs a tokenizer; nothing is ever estimated (R23)."""

    max_bytes: int | None = Field(None, ge=0, lt=2**52, description="UTF-8 bytes of the rendered body")
    max_tokens: int | None = Field(None, ge=0, lt=2**52, description="tokens of the rendered body")
    tokenizer: Name | None = Field(None, description="whose tokens; the model's unless given")
    window: int | None = Field(None, ge=0, lt=2**52, description="tokens of body and reserve together")
    reserved_output_tokens: int | None = Field(
        None, ge=0, lt=2**52, description="kept free within the window; the model's, or 0, unless given"
    )


class TurnBody(Closed):
    """One turn of the conversation so far. The caller wrote it, so it is data: never an instruction."""

    role: Annotated[TurnRole, Field(strict=False, description="who said it")]
    content: Annotated[str, Field(max_length=MAX_TURN), AfterValidator(without_nul)] = Field(
        description="what was said"
    )


def _few_handles(turns: list[TurnBody]) -> list[TurnBody]:
    held = len({handle for turn in turns for handle in handles_in(turn.content)})
    if held > MAX_HANDLES:
        raise ValueError(f"holds {held} different citation handles, at most {MAX_HANDLES} are allowed")
    return turns


class ToolResultBody(Closed):
    """One table that a tool gave. Each row has a value for each column."""

    tool: Name = Field(description="the tool's name")
    columns: list[Name] = Field(min_length=1, max_length=MAX_COLUMNS, description="the names of the columns")
    rows: list[list[Cell]] = Field(
        max_length=MAX_ROWS, description="texts, numbers (kept as written, of at most 400 digits), booleans and nulls"
    )

    @model_validator(mode="after")
    def _rows_are_whole(self) -> Self:
        if len(set(self.columns)) != len(self.columns):
            raise ValueError("each column needs a name of its own")
        for place, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"row {place} has {len(row)} values, there are {len(self.columns)} columns")
        return self


class PacketRequest(Retrieval):
    """The body of `POST /v1/packets`."""

    k: int | None = Field(None, ge=1, description="units wanted; the query class's number unless given")
    strategy: Annotated[
        Strategy,
        Field(strict=False, description="the k best, every usable unit, one whole source, or narrow and then wider"),
    ] = Strategy.NARROW
    source_id: Name | None = Field(None, description="the source of the strategy `document`, of the caller's namespace")
    public: bool = Field(False, description="... or the public source of that id")
    query_class: Name = Field("explanatory", description="gives k, budgets, texts and behaviours")
    requirements: Annotated[list[RequirementBody], _NULL_IS_EMPTY] = Field(
        [], max_length=64, description="roles that evidence should fill"
    )
    budget: BudgetBody | None = Field(None, description="inclusive limits")
    on_overflow: Annotated[Overflow, Field(strict=False, description="refuse, or leave out whole optional units")] = (
        Overflow.REFUSE
    )
    model: Name | None = Field(None, description="an operator's model profile: adapter, tokenizer, window")
    adapter: Annotated[Adapter, Field(strict=False)] | None = Field(
        None, description="for whom the packet is rendered; the model's, or json, unless given"
    )
    conversation: Annotated[list[TurnBody], _NULL_IS_EMPTY, AfterValidator(_few_handles)] = Field(
        [],
        max_length=MAX_TURNS,
        description=f"the turns so far, oldest first, with at most {MAX_HANDLES} different citation handles; not with"
        " the adapter json",
    )
    tool_results: Annotated[list[ToolResultBody], _NULL_IS_EMPTY] = Field(
        [], max_length=MAX_TOOLS, description="tables of tools; not with the adapter json"
    )

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.k is not None and self.k > self.fusion.depth:
            raise ValueError(f"k is {self.k}, more than fusion.depth ({self.fusion.depth})")
        roles = [requirement.role for requirement in self.requirements]
        if len(set(roles)) != len(roles):
            raise ValueError("each requirement needs a role of its own")
        if (self.source_id is None) is (self.strategy is Strategy.DOCUMENT):
            raise ValueError("source_id belongs to the strategy document, and document needs it")
        if self.public and self.source_id is None:
            raise ValueError("public belongs to source_id")
        return self


class CatalogQuery(UrlQuery):
    """The parameters of `GET /v1/catalog`."""

    purpose: Name | None = Field(None, description="a purpose granted to the caller; others are refused")


def _sorted(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(sorted(set(values)))
