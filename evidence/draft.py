"""What would a packet of these units say, and what would it measure? (pure)

Positions are those of the arranged selection, always ascending: the evidence keeps its order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evidence.adapters import Renderer, renderer_for
from evidence.arrangement import Arrangement
from evidence.budget import Sizes, TokenMeter
from evidence.canonical import Json
from evidence.citations import citation_handles
from evidence.coverage import Coverage, cover
from evidence.means import Means
from evidence.packet import evidence_item, packet_record
from evidence.prompt import Prompt
from evidence.render import Frame, RenderedItem
from evidence.request import PacketRequest
from evidence.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A selection, written out once per unit, from which packets of any of its units can be made and measured."""

    request: PacketRequest
    snapshot: Snapshot
    arrangement: Arrangement
    renderer: Renderer
    meter: TokenMeter | None
    prompt: Prompt | None
    handles: tuple[str, ...]
    evidence: tuple[dict[str, Json], ...]
    items: tuple[RenderedItem, ...]

    def coverage(self, kept: Sequence[int]) -> Coverage:
        return cover(
            self.arrangement.assessment,
            kept,
            handles=self.handles,
            usable_units=self.snapshot.usable_units,
            duplicates=self.arrangement.duplicates,
        )

    def packet(self, kept: Sequence[int]) -> dict[str, Json]:
        """The packet that holds the units at these positions."""
        selection = self.arrangement.selection
        return packet_record(
            self.request,
            [self.evidence[position] for position in kept],
            snapshot=self.snapshot,
            coverage=self.coverage(kept),
            groups=self.arrangement.groups,
            handles={selection[position].unit.key: self.handles[position] for position in kept},
            cut=len(kept) < len(self.arrangement.offered),
        )

    def frame(self, kept: Sequence[int]) -> Frame:
        """The text of that packet, but for its evidence."""
        return self.renderer.frame(self.packet(kept), prompt=self.prompt)

    def body(self, kept: Sequence[int]) -> str:
        """The whole text of that packet, written in one go."""
        return self.renderer.write(self.packet(kept), prompt=self.prompt)

    def sizes(self, kept: Sequence[int]) -> Sizes:
        """What that text measures, whole: the bytes by exact addition, the tokens of all pieces as one text."""
        frame, items = self.frame(kept), self.items_of(kept)
        size = frame.size_bytes(items)
        if self.meter is None:
            return Sizes(bytes=size, tokens=None)
        tokens = self.meter.count_joined(frame.pieces(items))
        evidence = tokens if self.prompt is None else self.meter.count_joined(frame.evidence_pieces(items))
        return Sizes(bytes=size, tokens=tokens, evidence_tokens=evidence)

    def items_of(self, kept: Sequence[int]) -> list[RenderedItem]:
        return [self.items[position] for position in kept]

    def handles_of(self, kept: Sequence[int]) -> list[str]:
        return [self.handles[position] for position in kept]


def draft(
    request: PacketRequest, arrangement: Arrangement, *, snapshot: Snapshot, means: Means, prompt: Prompt | None
) -> Draft:
    """Write each unit of an arranged selection for the request's adapter."""
    selection, assessment = arrangement.selection, arrangement.assessment
    renderer = renderer_for(request.adapter, means.template)
    handles = citation_handles([candidate.unit for candidate in selection])
    evidence = tuple(
        evidence_item(
            candidate,
            handle=handle,
            support_role=assessment.support_roles[position],
            group=arrangement.group_at[position],
        )
        for position, (candidate, handle) in enumerate(zip(selection, handles, strict=True))
    )
    return Draft(
        request=request,
        snapshot=snapshot,
        arrangement=arrangement,
        renderer=renderer,
        meter=means.meter,
        prompt=prompt,
        handles=handles,
        evidence=evidence,
        items=tuple(renderer.item(item) for item in evidence),
    )
