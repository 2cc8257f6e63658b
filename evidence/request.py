"""What was asked for, once every default is filled in? (pure)

Who asks, for what purpose, use, moment, subject and filter stand in the eligibility object, not here: scope is never
a matter of the request (R1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from evidence.budget import Budget
from evidence.canonical import Json
from evidence.eligibility import Eligibility
from evidence.errors import InvalidRequest
from evidence.packing import Overflow
from evidence.query_class import QueryClass
from evidence.requirements import Requirement


class Strategy(StrEnum):
    """How the selection is made. Assembly takes either in the order given."""

    NARROW = "narrow"  # the top k, best first
    BROAD = "broad"  # every usable unit, in identity order


class Adapter(StrEnum):
    """For whom the packet is rendered."""

    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketRequest:
    """A packet request with its defaults resolved.

    search: the fields that only retrieval reads (channel, rerank, fusion), as a canonical record.
    tokenizer: the tokenizer that the budget or the model profile named, None without one.
    catalog_version: the version that the caller demands, None for whatever is there.
    """

    query: str
    k: int
    strategy: Strategy
    search: Mapping[str, Json]
    query_class: QueryClass
    requirements: tuple[Requirement, ...]
    budget: Budget
    tokenizer: str | None
    on_overflow: Overflow
    adapter: Adapter
    catalog_version: str | None

    def __post_init__(self) -> None:
        roles = [requirement.role for requirement in self.requirements]
        if len(set(roles)) < len(roles):
            raise InvalidRequest("$.requirements", "two requirements name the same role; each role is named once")

    def record(self, eligibility: Eligibility) -> dict[str, Json]:
        """The whole normalized request, for the manifest; the scope is there by its digest only."""
        asked = {name: value for name, value in eligibility.record().items() if name != "scope"}
        return {
            **asked,
            "query": self.query,
            "purpose": eligibility.scope.purpose,
            "k": self.k,
            "strategy": self.strategy.value,
            "search": dict(self.search),
            "query_class": self.query_class.name,
            "requirements": [requirement.record() for requirement in self.requirements],
            "budget": {**self.budget.record(), "tokenizer": self.tokenizer},
            "on_overflow": self.on_overflow.value,
            "adapter": self.adapter.value,
            "catalog_version": self.catalog_version,
        }
