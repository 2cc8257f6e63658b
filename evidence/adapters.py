"""For whom can a packet be rendered, and by which renderer? (pure)

One semantic packet, several receivers (R34). Every renderer is pure, keeps control and data apart, and can read its
own text back.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol, assert_never

from evidence.canonical import Json
from evidence.chat import ChatTemplate
from evidence.errors import BrokenGuarantee
from evidence.prompt import Prompt, SlotContent
from evidence.render import Frame, Framing, RenderedItem
from evidence.render_anthropic import AnthropicRenderer
from evidence.render_chat import ChatRenderer
from evidence.render_json import JsonRenderer
from evidence.render_openai import OpenaiRenderer


class Adapter(StrEnum):
    """For whom the packet is rendered."""

    JSON = "json"  # evidence only
    OPENAI = "openai"  # messages
    ANTHROPIC = "anthropic"  # search_result blocks with ids
    HF_CHAT = "hf-chat"  # one text, by a local model's chat template


class Renderer(Protocol):
    """Writes packets for one receiver. A body is `head + separator.join(items) + tail` of a frame, exactly.

    `packet` is the semantic packet; `prompt` is None for the `json` adapter and for no other. The handles that may be
    cited are those of the packet's evidence.
    """

    @property
    def name(self) -> str:
        """Name and version, for the manifest; another version may write other bytes."""

    @property
    def framing(self) -> Framing:
        """What stands around the body when a model reads it."""

    def record(self) -> dict[str, Json]:
        """Name, framing and template, for the manifest."""

    def item(self, evidence: Mapping[str, Json]) -> RenderedItem:
        """The text of one evidence item."""

    def segment(self, content: SlotContent) -> str:
        """The text that one of the other slots gets in a body."""

    def frame(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> Frame:
        """The text around the items of this packet. Their passages are not read: an item may lack its `text`."""

    def write(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> str:
        """The body of this packet, written whole and not from a frame: both are the same text."""

    def parse(self, body: str) -> Mapping[str, Json]:
        """The semantic packet that `write` wrote. Raises UnreadableBody for another text."""


def renderer_for(adapter: Adapter, template: ChatTemplate | None) -> Renderer:
    """The renderer of an adapter. The template is for `hf-chat` alone, which needs one."""
    match adapter:
        case Adapter.JSON:
            return JsonRenderer()
        case Adapter.OPENAI:
            return OpenaiRenderer()
        case Adapter.ANTHROPIC:
            return AnthropicRenderer()
        case Adapter.HF_CHAT:
            if template is None:
                raise BrokenGuarantee("the adapter hf-chat needs a chat template")
            return ChatRenderer(template=template)
        case _:
            assert_never(adapter)
