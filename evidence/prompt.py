"""What does a model get besides the evidence, and does each slot keep its own budget? (pure)

Five of the six slots of R24: the policy and the task, which alone instruct, and the conversation, the tool results
and the caller's turn, which are data. Each is shaped by its own budget, counted over its own rendered segment. None
of them depends on the selection, but for the handles that may be cited: these come on top of the task's budget.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evidence.budget import Measure, slot_measure
from evidence.caller_turn import CallerTurn, fit_turn
from evidence.canonical import Json, digest, digest_text
from evidence.conversation import FoldedConversation, Summarizer, Turn, fold
from evidence.counted import counted
from evidence.errors import BrokenGuarantee
from evidence.instant import Instant, format_instant
from evidence.query_class import QueryClass
from evidence.render import Segment, render_json
from evidence.slots import DATA, Slot
from evidence.tool_results import FittedTools, ToolResult, fit

COMPOSER = "prompt/1"  # how the task slot is put together from the class's task, its schema and the handles

SlotContent: TypeAlias = str | Mapping[str, Json]  # instructions as plain text, data as a record
Measured: TypeAlias = Callable[[Mapping[str, Json]], int]  # tokens of the segment that a content gets
Write: TypeAlias = Callable[[SlotContent], str]  # the segment that a content gets in the body of one adapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Everything that a model reads but the evidence. None where the request has no conversation or no tool results.

    clock: what a chat template takes for now (R23).
    """

    query_class: QueryClass
    clock: Instant
    conversation: FoldedConversation | None
    tools: FittedTools | None
    turn: CallerTurn

    @property
    def policy(self) -> str:
        """The system policy slot."""
        return self.query_class.policy.text

    def task(self, handles: Sequence[str]) -> str:
        """The task slot: what to do, in which form to answer, and which handles may be cited, in this order."""
        return fixed_task(self.query_class) + cited_handles(handles)

    def contents(self, handles: Sequence[str], *, evidence: Mapping[str, Json]) -> dict[Slot, SlotContent]:
        """The content of every slot that is there, in the order in which they are rendered."""
        data = {**self.data(), Slot.RETRIEVED_EVIDENCE: evidence}
        return {
            Slot.SYSTEM_POLICY: self.policy,
            Slot.TASK: self.task(handles),
            **{slot: data[slot] for slot in DATA if slot in data},
        }

    def data(self) -> dict[Slot, Mapping[str, Json]]:
        """The content of each data slot that is there, but for the evidence."""
        shaped = {
            Slot.CONVERSATION: self.conversation,
            Slot.TOOL_RESULTS: self.tools,
            Slot.CALLER_TURN: self.turn,
        }
        return {slot: content.content() for slot, content in shaped.items() if content is not None}

    def segments(self, handles: Sequence[str], write: Write) -> dict[Slot, Segment]:
        """The segment of every slot that is there but the evidence, in slot order."""
        contents: dict[Slot, SlotContent] = {
            Slot.SYSTEM_POLICY: self.policy,
            Slot.TASK: self.task(handles),
            **self.data(),
        }
        return {
            slot: Segment(slot=slot, text=write(content), notice=self._notice(slot, handles))
            for slot, content in contents.items()
        }

    def record(self) -> dict[str, Json]:
        """For the manifest: what stands in these slots, and what was done to it. The whole class is there already, and
        conversation, tool results and query are part of the request."""
        policy = self.query_class.policy
        return {
            "composer": COMPOSER,
            "clock": format_instant(self.clock),
            "policy": {"name": policy.name, "version": policy.version, "digest": digest_text(policy.text)},
            "task": {"digest": digest_text(fixed_task(self.query_class))},
            "conversation": None if self.conversation is None else self.conversation.record(),
            "tool_results": None if self.tools is None else self.tools.record(),
            "caller_turn": self.turn.record(),
            "data": {slot.value: digest(content) for slot, content in self.data().items()},
        }

    def _notice(self, slot: Slot, handles: Sequence[str]) -> str | None:
        match slot:
            case Slot.TASK:
                stand = "stands" if len(handles) == 1 else "stand"
                return f"{counted(len(handles), 'handle')} {stand} on top of the budget" if handles else None
            case Slot.CONVERSATION:
                return None if self.conversation is None else self.conversation.notice
            case Slot.TOOL_RESULTS:
                return None if self.tools is None else self.tools.notice
            case Slot.CALLER_TURN:
                return self.turn.notice
            case Slot.SYSTEM_POLICY | Slot.RETRIEVED_EVIDENCE:
                return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """A slot that is over its own budget in its lowest form: the request fails, and nothing is squeezed (R25)."""

    measure: Measure
    needed: int
    allowed: int


def build_prompt(
    query_class: QueryClass,
    *,
    clock: Instant,
    query: str,
    subject: str | None,
    scope: Mapping[str, Json],
    conversation: Sequence[Turn],
    unusable: frozenset[str],
    tool_results: Sequence[ToolResult],
    summarizer: Summarizer,
    write: Write,
    count: Callable[[str], int] | None,
) -> Prompt:
    """The slots of a request, each shaped by its budget in the class.

    clock: see `chat.template_clock`. subject, scope: see `caller_turn`. unusable: the handles of the conversation
    that stand for nothing which the caller may use now, whatever the reason. write: of the adapter, `Renderer.segment`.
    count: tokens of a text, None where no tokenizer is named: then no budget applies, and the conversation folds by the
    number of its turns alone.
    """
    budgets = query_class.budgets
    measure: Measured | None = None if count is None else lambda content: count(write(content))
    return Prompt(
        query_class=query_class,
        clock=clock,
        conversation=fold(
            conversation,
            keep=query_class.conversation_turns,
            budget_tokens=budgets[Slot.CONVERSATION],
            measure=measure,
            summarizer=summarizer,
            unusable=unusable,
        )
        if conversation
        else None,
        tools=fit(
            tool_results,
            budget_tokens=budgets[Slot.TOOL_RESULTS],
            measure=measure,
            overflow=query_class.tool_overflow,
        )
        if tool_results
        else None,
        turn=fit_turn(
            query,
            subject=subject,
            scope=scope,
            budget_tokens=budgets[Slot.CALLER_TURN],
            measure=measure,
        ),
    )


def excesses(prompt: Prompt, *, write: Write, count: Callable[[str], int]) -> list[Excess]:
    """The slots that do not fit their own budgets, in slot order; the evidence is packed elsewhere. The task is
    measured without its handles."""
    contents: dict[Slot, SlotContent] = {
        Slot.SYSTEM_POLICY: prompt.policy,
        Slot.TASK: fixed_task(prompt.query_class),
        **prompt.data(),
    }
    found: list[Excess] = []
    for slot, content in contents.items():
        needed, allowed = count(write(content)), prompt.query_class.budgets[slot]
        if needed > allowed:
            found.append(Excess(measure=slot_measure(slot), needed=needed, allowed=allowed))
    return found


def needed(prompt: Prompt | None) -> Prompt:
    """The prompt that an adapter cannot do without."""
    if prompt is None:
        raise BrokenGuarantee("the adapter renders every slot, and got no prompt")
    return prompt


def fixed_task(query_class: QueryClass) -> str:
    """The task slot without its handles."""
    schema = render_json(query_class.output_schema)
    return f"{query_class.task}\nAnswer with one JSON object that keeps this schema:\n{schema}"


def cited_handles(handles: Sequence[str]) -> str:
    """What stands in the task slot on top of its budget."""
    return f"\nHandles that may be cited, and no others:\n{render_json(list(handles))}"
