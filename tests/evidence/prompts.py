"""How does a test get the slots of a request, rendered for an adapter?"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evidence.adapters import Adapter, Renderer, renderer_for
from evidence.canonical import Json
from evidence.chat import ChatMessage, ChatTemplate
from evidence.conversation import ExtractiveSummarizer, Role, Summarizer, number_turns
from evidence.instant import Instant, format_instant
from evidence.prompt import Prompt, build_prompt
from evidence.query_class import QueryClass
from evidence.tool_results import ToolResult
from tests.builders import EXPLANATORY

PROMPTED = (Adapter.OPENAI, Adapter.ANTHROPIC, Adapter.HF_CHAT)
SCOPE: Mapping[str, Json] = {"namespace": "blue", "purpose": None, "use": "current", "as_of": None}
MIDNIGHT = Instant(0)


def render_chatml(messages: Sequence[ChatMessage], clock: Instant) -> str:
    """ChatML by hand, with the clock where templates put the date of today."""
    turns = "".join(f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in messages)
    return f"<|date|>{format_instant(clock)}\n{turns}<|im_start|>assistant\n"


def chat_template(render: Callable[[Sequence[ChatMessage], Instant], str] = render_chatml) -> ChatTemplate:
    return ChatTemplate(name="chatml", digest="sha256:0", render=render, record={"generation_prompt": True})


def renderer(adapter: Adapter) -> Renderer:
    return renderer_for(adapter, chat_template())


def prompt(
    *,
    query_class: QueryClass = EXPLANATORY,
    query: str = "how large may an upload be?",
    turns: Iterable[tuple[Role, str]] = (),
    tools: Sequence[ToolResult] = (),
    unusable: Iterable[str] = (),
    summarizer: Summarizer | None = None,
    adapter: Adapter = Adapter.OPENAI,
    count: Callable[[str], int] | None = None,
) -> Prompt:
    return build_prompt(
        query_class,
        clock=MIDNIGHT,
        query=query,
        subject=None,
        scope=SCOPE,
        conversation=number_turns(turns),
        unusable=frozenset(unusable),
        tool_results=tools,
        summarizer=summarizer or ExtractiveSummarizer(),
        write=renderer(adapter).segment,
        count=count,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A packet as an adapter wrote it, whole and in pieces."""

    whole: str
    joined: str
    size_bytes: int
    evidence: str
    passages: list[str]


def rendered(adapter: Adapter, packet: Mapping[str, Json], asked: Prompt | None) -> Rendered:
    writer = renderer(adapter)
    evidence = packet["evidence"]
    assert isinstance(evidence, list)
    frame, items = writer.frame(packet, prompt=asked), [writer.item(item) for item in evidence]
    whole = writer.write(packet, prompt=asked)
    return Rendered(
        whole=whole,
        joined=frame.body(items),
        size_bytes=frame.size_bytes(items),
        evidence="".join(frame.evidence_pieces(items)),
        passages=[whole[start:end] for start, end in frame.text_spans(items)],
    )
