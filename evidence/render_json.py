"""Which exact text is a packet for a receiver that composes its own prompt? (pure)

The RFC 8785 form of the packet, escaped as `escape` says: evidence and nothing else. Its bytes are part of the public
contract.
"""

from collections.abc import Mapping
from typing import cast

from evidence.canonical import Json
from evidence.errors import BrokenGuarantee, UnreadableBody
from evidence.prompt import Prompt, SlotContent
from evidence.render import (
    Frame,
    Framing,
    RenderedItem,
    read_json,
    render_item,
    render_json,
    split_at_evidence,
    without_evidence,
)


class JsonRenderer:
    """The adapter `json`: the whole body is the segment of the evidence slot."""

    name = "json/1"
    framing = Framing.NONE

    def record(self) -> dict[str, Json]:
        return {"renderer": self.name, "framing": self.framing.value, "template": None}

    def item(self, evidence: Mapping[str, Json]) -> RenderedItem:
        return render_item(evidence)

    def segment(self, content: SlotContent) -> str:
        kind = "instructions" if isinstance(content, str) else "another slot"
        raise BrokenGuarantee(f"the adapter json renders evidence only, and got {kind}")

    def frame(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> Frame:
        _refuse(prompt)
        head, tail = split_at_evidence(render_json(without_evidence(packet)))
        return Frame(head=head, separator=",", tail=tail, evidence_start=0, evidence_end=len(tail), segments=())

    def write(self, packet: Mapping[str, Json], *, prompt: Prompt | None) -> str:
        _refuse(prompt)
        return render_json(packet)

    def parse(self, body: str) -> Mapping[str, Json]:
        packet = read_json(body)
        if not isinstance(packet, dict):
            raise UnreadableBody("the body is no JSON object")
        return cast("Mapping[str, Json]", packet)


def _refuse(prompt: Prompt | None) -> None:
    if prompt is not None:
        raise BrokenGuarantee("the adapter json renders evidence only, and got a prompt")
