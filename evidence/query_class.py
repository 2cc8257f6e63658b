"""What does a kind of question get: how much of what, which instructions, and which behaviour in which state? (pure)

A query class is a frozen, named, versioned record, reviewed like code. Its whole record stands in the manifest, so
that an old manifest tells what its class said then. How a file becomes one is `query_class_record`'s question.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from evidence.canonical import Json
from evidence.requirements import Requirement
from evidence.slots import Slot
from evidence.state import Behaviour, Disposition, State


class ToolOverflow(StrEnum):
    """What happens to tool results that are over their budget. Rows are never sampled."""

    CUT = "cut"  # rows go from the end, with a stated count, and with aggregates over all rows
    AGGREGATE = "aggregate"  # all rows go; count, sum, min and max stay


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyText:
    """The text of the system policy, from a versioned source of its own: several classes may share one."""

    name: str
    version: str
    text: str

    def record(self) -> dict[str, Json]:
        return {"name": self.name, "version": self.version, "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryClass:
    """One kind of question.

    k: units of a narrow selection, unless the request says how many. budgets: tokens of each of the six slots, for
    any tokenizer; they apply only where one is named. conversation_turns: how many of the newest turns stay verbatim.
    widens: `auto` reads whole documents for it even where coverage does not ask for that (R36).
    exhaustive: it asks for all, or how many: a part of what is usable never supports an answer.
    required_roles: on top of the request's own. units_per_source: at most so many units of one source, None for any.
    task, output_schema: the second instructions slot; the schema is what the receiver's answer should look like.
    """

    name: str
    version: str
    description: str
    k: int
    budgets: Mapping[Slot, int]
    conversation_turns: int
    widens: bool
    exhaustive: bool
    required_roles: tuple[Requirement, ...]
    units_per_source: int | None
    tool_overflow: ToolOverflow
    policy: PolicyText
    task: str
    output_schema: Mapping[str, Json]
    behaviours: Mapping[State, Behaviour]

    @property
    def evidence_tokens(self) -> int:
        """The budget of the retrieved-evidence slot."""
        return self.budgets[Slot.RETRIEVED_EVIDENCE]

    def behaviour(self, state: State, disposition: Disposition) -> Behaviour:
        """What the receiver should do. Without an accepted packet there is nothing to answer from: fail closed."""
        return self.behaviours[state] if disposition is Disposition.ACCEPTED else Behaviour.FAIL_CLOSED

    def record(self) -> dict[str, Json]:
        """The whole class as a canonical record, texts included: `parse_query_class` reads it back."""
        return {
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "k": self.k,
            "slot_budgets": {slot.value: self.budgets[slot] for slot in Slot},
            "conversation_turns": self.conversation_turns,
            "widens": self.widens,
            "exhaustive": self.exhaustive,
            "required_roles": [requirement.record() for requirement in self.required_roles],
            "units_per_source": self.units_per_source,
            "tool_overflow": self.tool_overflow.value,
            "policy": self.policy.record(),
            "task": self.task,
            "output_schema": dict(self.output_schema),
            "behaviours": {state.value: self.behaviours[state].value for state in State},
        }
