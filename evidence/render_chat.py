"""Which exact text does an open-weight model read for a packet? (pure)

Its own chat template over two messages: policy and task under the system role, and one user message with a line of
JSON for each data slot. Inside a line every string from outside is quoted, so that it holds no line break, delimiter or
control token of any template. The body is the whole input, with the template's special tokens and generation prompt.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from evidence.canonical import Json
from evidence.chat import ChatMessage, ChatTemplate
from evidence.errors import BrokenGuarantee, UnreadableBody
from evidence.prompt import Prompt, SlotContent, needed
from evidence.render import (
    Frame,
    Framing,
    RenderedItem,
    fenced,
    handles_of,
    render_item,
    render_json,
    split_at_evidence,
    unfenced,
    without_evidence,
)
from evidence.slots import DATA, INSTRUCTIONS, Slot

_PARTED = "\n\n"  # policy from task
_PACKET = '{"packet":{'  # an evidence line begins so; inside strings `"` is escaped


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRenderer:
    """The adapter `hf-chat`: one text, by a chat template whose clock is the prompt's."""

    template: ChatTemplate
    name: str = "hf-chat/1"
    framing: Framing = Framing.TEMPLATE

    def record(self) -> dict[str, Json]:
        template: dict[str, Json] = {
            "name": self.template.name,
            "digest": self.template.digest,
            "record": dict(self.template.record),
        }
        return {"renderer": self.name, "framing": self.framing.value, "template": template}

    def item(self, evidence: Mapping[str, Json]) -> RenderedItem:
        return render_item(evidence)

    def segment(self, content: SlotContent) -> str:
        return content if isinstance(content, str) else render_json(content)

    def frame(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> Frame:
        segments = needed(prompt).segments(handles_of(packet), self.segment)
        texts = {slot: segment.text for slot, segment in segments.items()}
        evidence = render_json(fenced(without_evidence(packet)))
        texts[Slot.RETRIEVED_EVIDENCE] = evidence
        body, user_at = self._render(texts, needed(prompt))
        line = user_at + _user(texts).index(evidence)
        head, tail = split_at_evidence(evidence)
        return Frame(
            head=body[:line] + head,
            separator=",",
            tail=tail + body[line + len(evidence) :],
            evidence_start=line,
            evidence_end=len(tail),
            segments=tuple(segments.values()),
        )

    def write(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> str:
        contents = needed(prompt).contents(handles_of(packet), evidence=fenced(packet))
        texts = {slot: self.segment(content) for slot, content in contents.items()}
        return self._render(texts, needed(prompt))[0]

    def parse(self, body: str) -> Mapping[str, Json]:
        decoder = json.JSONDecoder()
        at = body.find(_PACKET)
        while at >= 0:
            try:
                content, _ = decoder.raw_decode(body, at)
            except ValueError:
                content = None
            packet = unfenced(content)
            if packet is not None:
                return packet
            at = body.find(_PACKET, at + 1)
        raise UnreadableBody("no line of the body holds an evidence packet")

    def _render(self, texts: Mapping[Slot, str], prompt: Prompt) -> tuple[str, int]:
        """The input, and where in it the data lines begin. Raises BrokenGuarantee for a template that does not write
        both contents once and as they stand, the instructions first."""
        system, user = _system(texts), _user(texts)
        messages = [ChatMessage(role="system", content=system), ChatMessage(role="user", content=user)]
        body = self.template.render(messages, prompt.clock)
        system_at, user_at = body.find(system), body.find(user)
        if system_at < 0 or user_at < system_at + len(system) or body.find(user, user_at + 1) >= 0:
            raise BrokenGuarantee("the chat template does not write the contents of its messages as they stand")
        return body, user_at


def _system(texts: Mapping[Slot, str]) -> str:
    return _PARTED.join(texts[slot] for slot in INSTRUCTIONS)


def _user(texts: Mapping[Slot, str]) -> str:
    return "\n".join(texts[slot] for slot in DATA if slot in texts)
