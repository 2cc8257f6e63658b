"""What does a kind of question get: how much evidence, and which behaviour in which state? (pure)

A query class is a frozen, named, versioned record. Its whole record stands in the manifest, so that an old
manifest tells what its class said then.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from evidence.canonical import Json
from evidence.state import Behaviour, Disposition, State


class Slot(StrEnum):
    """A typed part of a model's input (R24). The `json` adapter renders evidence and nothing else."""

    RETRIEVED_EVIDENCE = "retrieved-evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryClass:
    """One kind of question. `evidence_tokens` is the budget of the retrieved-evidence slot, for any tokenizer."""

    name: str
    version: str
    k: int
    evidence_tokens: int
    when_supported: Behaviour
    when_partial: Behaviour
    when_absent: Behaviour
    when_stale: Behaviour
    when_conflicting: Behaviour
    when_unassessed: Behaviour

    def behaviour(self, state: State, disposition: Disposition) -> Behaviour:
        """What the receiver should do. Without an accepted packet there is nothing to answer from: fail closed."""
        if disposition is not Disposition.ACCEPTED:
            return Behaviour.FAIL_CLOSED
        match state:
            case State.SUPPORTED:
                chosen = self.when_supported
            case State.PARTIAL:
                chosen = self.when_partial
            case State.ABSENT:
                chosen = self.when_absent
            case State.STALE:
                chosen = self.when_stale
            case State.CONFLICTING:
                chosen = self.when_conflicting
            case State.UNASSESSED:
                chosen = self.when_unassessed
            case _:
                assert_never(state)
        return chosen

    def record(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "version": self.version,
            "k": self.k,
            "slot_budgets": {Slot.RETRIEVED_EVIDENCE.value: self.evidence_tokens},
            "behaviours": {state.value: self.behaviour(state, Disposition.ACCEPTED).value for state in State},
        }


EXPLANATORY = QueryClass(
    name="explanatory",
    version="1",
    k=8,
    evidence_tokens=6000,
    when_supported=Behaviour.ANSWER,
    when_partial=Behaviour.PARTIAL,
    when_absent=Behaviour.ABSTAIN,
    when_stale=Behaviour.ABSTAIN,
    when_conflicting=Behaviour.ESCALATE,
    when_unassessed=Behaviour.ANSWER,
)


def find_query_class(name: str) -> QueryClass | None:
    """The query class of that name, or None."""
    return EXPLANATORY if name == EXPLANATORY.name else None
