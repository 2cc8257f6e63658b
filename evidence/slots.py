"""Of which typed parts is a model's input made, and how far is each trusted? (pure)

Six slots, each with its own trust (R24). The slot carries the trust, and the trust is what keeps text that was
found from being read as an instruction: only the first two slots hold instructions (R25).
"""

from enum import StrEnum


class Slot(StrEnum):
    """A typed part of a model's input, in the order in which budgets are checked."""

    SYSTEM_POLICY = "system-policy"
    TASK = "task"
    CONVERSATION = "conversation"
    RETRIEVED_EVIDENCE = "retrieved-evidence"
    TOOL_RESULTS = "tool-results"
    CALLER_TURN = "caller-turn"

    @property
    def trust(self) -> "Trust":
        return _TRUST[self]


class Trust(StrEnum):
    """How far a slot is trusted."""

    TRUSTED = "trusted"  # instructions, composed by the server and versioned
    SEMI_TRUSTED = "semi-trusted"  # the caller wrote it, or a model did: context, never instructions
    UNTRUSTED = "untrusted"  # data, whatever it says
    INTENT = "trusted-as-intent"  # says what is asked, and has no say over tools or scope


INSTRUCTIONS = (Slot.SYSTEM_POLICY, Slot.TASK)  # nothing else instructs
DATA = (Slot.CONVERSATION, Slot.RETRIEVED_EVIDENCE, Slot.TOOL_RESULTS, Slot.CALLER_TURN)  # in the order rendered

_TRUST = {
    Slot.SYSTEM_POLICY: Trust.TRUSTED,
    Slot.TASK: Trust.TRUSTED,
    Slot.CONVERSATION: Trust.SEMI_TRUSTED,
    Slot.RETRIEVED_EVIDENCE: Trust.UNTRUSTED,
    Slot.TOOL_RESULTS: Trust.UNTRUSTED,
    Slot.CALLER_TURN: Trust.INTENT,
}
