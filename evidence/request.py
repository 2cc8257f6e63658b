"""What was asked for, once every default is filled in? (pure)

Who asks, for what purpose, use, moment, subject and filter stand in the eligibility object, not here: scope is never
a matter of the request (R1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from evidence.adapters import Adapter
from evidence.budget import Budget
from evidence.canonical import Json
from evidence.conversation import Turn, handles_of
from evidence.eligibility import Eligibility
from evidence.errors import InvalidRequest
from evidence.identity import PUBLIC, SourceKey
from evidence.packing import Overflow
from evidence.query_class import QueryClass
from evidence.requirements import Requirement
from evidence.tool_results import ToolResult


class Strategy(StrEnum):
    """How the selection is made. Assembly takes any in the order given."""

    NARROW = "narrow"  # the top k, best first
    BROAD = "broad"  # every usable unit, in identity order
    DOCUMENT = "document"  # every usable unit of one source, in identity order
    AUTO = "auto"  # narrow, and wider where that leaves something open (R36)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketRequest:
    """A packet request with its defaults resolved.

    search: the fields that only retrieval reads (channel, rerank, fusion), as a canonical record.
    source: the source of the strategy `document`, None for the others.
    requirements: those of the query class, then the caller's.
    tokenizer: the tokenizer that the budget or the model profile named, None without one.
    model: the name of the operator's profile, None without one.
    catalog_version: the version that the caller demands, None for whatever is there.
    """

    query: str
    k: int
    strategy: Strategy
    source: SourceKey | None = None
    search: Mapping[str, Json]
    query_class: QueryClass
    requirements: tuple[Requirement, ...]
    budget: Budget
    tokenizer: str | None
    on_overflow: Overflow
    adapter: Adapter
    model: str | None = None
    conversation: tuple[Turn, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    catalog_version: str | None

    def __post_init__(self) -> None:
        roles = [requirement.role for requirement in self.requirements]
        if len(set(roles)) < len(roles):
            raise InvalidRequest(
                "$.requirements", "a role is named twice, by the request or by its query class; each is named once"
            )
        if self.adapter is Adapter.JSON and (self.conversation or self.tool_results):
            name = "conversation" if self.conversation else "tool_results"
            raise InvalidRequest(f"$.{name}", "the adapter json renders evidence only; name another adapter or a model")

    def handles(self) -> frozenset[str]:
        """Every citation handle that the conversation holds."""
        return frozenset(handles_of(self.conversation))

    def record(self, eligibility: Eligibility) -> dict[str, Json]:
        """The whole normalized request, for the manifest; the scope is there by its digest only."""
        asked = {name: value for name, value in eligibility.record().items() if name != "scope"}
        return {
            **asked,
            "query": self.query,
            "purpose": eligibility.scope.purpose,
            "k": self.k,
            "strategy": self.strategy.value,
            "source_id": None if self.source is None else self.source.source_id,
            "public": self.source is not None and self.source.namespace == PUBLIC,
            "search": dict(self.search),
            "query_class": self.query_class.name,
            "requirements": [requirement.record() for requirement in self.requirements],
            "budget": {**self.budget.record(), "tokenizer": self.tokenizer},
            "on_overflow": self.on_overflow.value,
            "adapter": self.adapter.value,
            "model": self.model,
            "conversation": [turn.record() for turn in self.conversation],
            "tool_results": [result.record() for result in self.tool_results],
            "catalog_version": self.catalog_version,
        }
