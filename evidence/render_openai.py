"""Which exact text is a packet for a chat API that takes messages of a role? (pure)

`{"messages": […]}`: the policy and the task as two system messages, then one user message for each data slot. A data
message's content is itself a JSON text that names slot and trust, so what came from outside is quoted twice. How the
provider turns messages into tokens is not published: the body is what is counted.
"""

from collections.abc import Mapping

from evidence.canonical import Json
from evidence.errors import UnreadableBody
from evidence.prompt import Prompt, SlotContent, needed
from evidence.render import (
    Frame,
    Framing,
    RenderedItem,
    fenced,
    handles_of,
    quoted,
    read_json,
    render_item,
    render_json,
    split_at_evidence,
    unfenced,
    without_evidence,
)
from evidence.slots import Slot

_SYSTEM, _USER = "system", "user"
_BEFORE = (Slot.SYSTEM_POLICY, Slot.TASK, Slot.CONVERSATION)
_AFTER = (Slot.TOOL_RESULTS, Slot.CALLER_TURN)
_OPENING, _CLOSING = '{"content":"', f'","role":"{_USER}"}}'  # around the quoted content of the evidence message


class OpenaiRenderer:
    """The adapter `openai`: messages as OpenAI's chat completions take them, and many runtimes with them."""

    name = "openai-messages/1"
    framing = Framing.UNDISCLOSED

    def record(self) -> dict[str, Json]:
        return {"renderer": self.name, "framing": self.framing.value, "template": None}

    def item(self, evidence: Mapping[str, Json]) -> RenderedItem:
        plain = render_item(evidence)
        before, passage = plain.body[: plain.text_start], plain.body[plain.text_start : plain.text_end]
        body, start = quoted(plain.body), len(quoted(before))
        return RenderedItem(
            body=body, bytes=len(body.encode("utf-8")), text_start=start, text_end=start + len(quoted(passage))
        )

    def segment(self, content: SlotContent) -> str:
        return render_json(_message(content))

    def frame(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> Frame:
        segments = needed(prompt).segments(handles_of(packet), self.segment)
        head, tail = split_at_evidence(render_json(fenced(without_evidence(packet))))
        opening, closing = _OPENING + quoted(head), quoted(tail) + _CLOSING
        before = '{"messages":[' + "".join(segments[slot].text + "," for slot in _BEFORE if slot in segments)
        after = "".join("," + segments[slot].text for slot in _AFTER if slot in segments) + "]}"
        return Frame(
            head=before + opening,
            separator=",",
            tail=closing + after,
            evidence_start=len(before),
            evidence_end=len(closing),
            segments=tuple(segments.values()),
        )

    def write(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> str:
        contents = needed(prompt).contents(handles_of(packet), evidence=fenced(packet))
        return render_json({"messages": [_message(content) for content in contents.values()]})

    def parse(self, body: str) -> Mapping[str, Json]:
        read = read_json(body)
        messages = read.get("messages") if isinstance(read, dict) else None
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict) and message.get("role") == _USER and isinstance(message.get("content"), str):
                packet = unfenced(read_json(message["content"]))
                if packet is not None:
                    return packet
        raise UnreadableBody("no message of the body holds an evidence packet")


def _message(content: SlotContent) -> dict[str, Json]:
    if isinstance(content, str):
        return {"role": _SYSTEM, "content": content}
    return {"role": _USER, "content": render_json(content)}
