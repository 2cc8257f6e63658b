"""How large may a packet be, how is it measured, and which limit does it break? (pure)

Two measures exist: UTF-8 bytes of the rendered body, and tokens of the target model's own tokenizer, over that whole
body or over the segment of one slot. Neither is ever estimated from the other (R23). Limits are inclusive: a packet
at exactly the limit fits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.canonical import Json
from evidence.errors import InvalidRequest
from evidence.query_class import QueryClass
from evidence.slots import Slot

_LARGEST = 2**52 - 1  # so that a sum of two is still an integer of a hashed record (R31)


class Measure(StrEnum):
    """What a limit counts, in the order in which limits are checked: the first broken one is reported."""

    BYTES = "bytes"
    TOKENS = "tokens"
    POLICY_SLOT = f"slot:{Slot.SYSTEM_POLICY.value}"
    TASK_SLOT = f"slot:{Slot.TASK.value}"
    CONVERSATION_SLOT = f"slot:{Slot.CONVERSATION.value}"
    EVIDENCE_SLOT = f"slot:{Slot.RETRIEVED_EVIDENCE.value}"
    TOOLS_SLOT = f"slot:{Slot.TOOL_RESULTS.value}"
    TURN_SLOT = f"slot:{Slot.CALLER_TURN.value}"
    WINDOW = "window"  # tokens of the input and the reserved output together


def slot_measure(slot: Slot) -> Measure:
    """The measure of one slot's own segment.

    >>> slot_measure(Slot.TASK)
    <Measure.TASK_SLOT: 'slot:task'>
    """
    return Measure(f"slot:{slot.value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of the request itself. None does not limit. Raises InvalidRequest for a number out of range."""

    max_bytes: int | None = None
    max_tokens: int | None = None
    window: int | None = None
    reserved_output_tokens: int = 0

    def __post_init__(self) -> None:
        for name, value in self.record().items():
            if isinstance(value, int) and not 0 <= value <= _LARGEST:
                raise InvalidRequest(f"$.budget.{name}", f"got {value}, allowed is 0 to {_LARGEST}")

    def record(self) -> dict[str, Json]:
        return {
            "max_bytes": self.max_bytes,
            "max_tokens": self.max_tokens,
            "window": self.window,
            "reserved_output_tokens": self.reserved_output_tokens,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMeter:
    """The target model's own tokenizer, as a counter.

    count: tokens of a whole text, exactly, without special tokens, truncation or padding; equal text, equal count.
    count_joined: what `count` gives for these pieces as one text, exactly; it may be faster where pieces return.
    digest: of the tokenizer's files.
    """

    name: str
    digest: str
    count: Callable[[str], int]
    count_joined: Callable[[Sequence[str]], int]

    def record(self) -> dict[str, Json]:
        return {"name": self.name, "digest": self.digest}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What a rendered body measures.

    tokens: of the whole body. evidence_tokens: of the retrieved-evidence slot's segment alone; where that is the whole
    body, as for the `json` adapter, they are equal. Both are None where no tokenizer was named.
    """

    bytes: int
    tokens: int | None
    evidence_tokens: int | None = None

    def record(self) -> dict[str, Json]:
        return {"bytes": self.bytes, "tokens": self.tokens, "evidence_tokens": self.evidence_tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit: the measure, the most that is allowed of it, and what is reserved within that beforehand."""

    measure: Measure
    allowed: int
    reserved: int = 0

    def needed(self, sizes: Sizes) -> int:
        """How much of the measure a body of these sizes needs, the reserve included."""
        if self.measure is Measure.BYTES:
            return sizes.bytes
        tokens = sizes.evidence_tokens if self.measure is Measure.EVIDENCE_SLOT else sizes.tokens
        assert tokens is not None, "limits_for gives token limits only together with a tokenizer"
        return tokens + self.reserved

    def holds(self, sizes: Sizes) -> bool:
        return self.needed(sizes) <= self.allowed

    def record(self) -> dict[str, Json]:
        return {"measure": self.measure.value, "allowed": self.allowed, "reserved": self.reserved}


def limits_for(budget: Budget, query_class: QueryClass, *, meter: TokenMeter | None) -> tuple[Limit, ...]:
    """All limits under which a selection is packed, in the order in which they are checked.

    Those of the other slots do not depend on the selection: see prompt. `max_tokens` and `window` are over the whole
    input. The class's budget of the evidence slot applies only when a tokenizer was named.
    Raises InvalidRequest for a token limit in the
    request itself without one: there is no other way to count tokens.
    """
    limits: list[Limit] = []
    if budget.max_bytes is not None:
        limits.append(Limit(measure=Measure.BYTES, allowed=budget.max_bytes))
    if meter is None:
        for name, limit in (("max_tokens", budget.max_tokens), ("window", budget.window)):
            if limit is not None:
                raise InvalidRequest(f"$.budget.{name}", "a token limit needs a tokenizer, and none was named")
        return tuple(limits)
    if budget.max_tokens is not None:
        limits.append(Limit(measure=Measure.TOKENS, allowed=budget.max_tokens))
    limits.append(Limit(measure=Measure.EVIDENCE_SLOT, allowed=query_class.evidence_tokens))
    if budget.window is not None:
        limits.append(Limit(measure=Measure.WINDOW, allowed=budget.window, reserved=budget.reserved_output_tokens))
    return tuple(limits)


def broken(limits: Sequence[Limit], sizes: Sizes) -> list[Limit]:
    """The limits that a body of these sizes does not keep, in the order of `limits`."""
    return [limit for limit in limits if not limit.holds(sizes)]
