"""What would a packet of these units say, and what would it measure? (pure)

Positions are those of the selection, always ascending: the evidence keeps the order of the selection.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evidence.budget import Sizes, TokenMeter
from evidence.canonical import Json
from evidence.citations import citation_handles
from evidence.coverage import Assessment, Coverage, assess, cover
from evidence.envelope import Candidate
from evidence.packet import evidence_item, packet_record
from evidence.packing import Tier
from evidence.render import RenderedItem, join, joined_bytes, render_item, render_json
from evidence.request import PacketRequest
from evidence.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A selection, written out once per unit, from which packets of any of its units can be made and measured."""

    request: PacketRequest
    snapshot: Snapshot
    selection: tuple[Candidate, ...]
    meter: TokenMeter | None
    assessment: Assessment
    handles: tuple[str, ...]
    evidence: tuple[dict[str, Json], ...]
    items: tuple[RenderedItem, ...]

    def tiers(self) -> tuple[Tier, ...]:
        """How much each unit matters, by position."""
        return tuple(self._tier(position) for position in range(len(self.selection)))

    def coverage(self, kept: Sequence[int]) -> Coverage:
        return cover(self.assessment, kept, handles=self.handles, usable_units=self.snapshot.usable_units)

    def packet(self, kept: Sequence[int]) -> dict[str, Json]:
        """The packet that holds the units at these positions."""
        return self._packet(kept, [self.evidence[position] for position in kept])

    def frame(self, kept: Sequence[int]) -> str:
        """The text of that packet, but for its evidence."""
        return render_json(self._packet(kept, []))

    def body(self, kept: Sequence[int]) -> str:
        """The whole text of that packet."""
        return join(self.frame(kept), self.items_of(kept))

    def sizes(self, kept: Sequence[int]) -> Sizes:
        """What that text measures, whole: the bytes by exact addition, the tokens by a count over all of it."""
        frame, items = self.frame(kept), self.items_of(kept)
        tokens = None if self.meter is None else self.meter.count(join(frame, items))
        return Sizes(bytes=joined_bytes(frame, items), tokens=tokens)

    def items_of(self, kept: Sequence[int]) -> list[RenderedItem]:
        return [self.items[position] for position in kept]

    def _packet(self, kept: Sequence[int], evidence: Sequence[Json]) -> dict[str, Json]:
        cut = len(kept) < len(self.selection)
        return packet_record(self.request, evidence, snapshot=self.snapshot, coverage=self.coverage(kept), cut=cut)

    def _tier(self, position: int) -> Tier:
        if position in self.assessment.mandatory:
            return Tier.MANDATORY
        return Tier.CONDITIONAL if position in self.assessment.conditional else Tier.BACKGROUND


def draft(
    request: PacketRequest, selection: tuple[Candidate, ...], *, snapshot: Snapshot, meter: TokenMeter | None
) -> Draft:
    """Assess a selection and write each of its units."""
    assessment = assess(request.requirements, selection, snapshot=snapshot)
    handles = citation_handles([candidate.unit for candidate in selection])
    evidence = tuple(
        evidence_item(candidate, handle=handle, support_role=support_role)
        for candidate, handle, support_role in zip(selection, handles, assessment.support_roles, strict=True)
    )
    return Draft(
        request=request,
        snapshot=snapshot,
        selection=selection,
        meter=meter,
        assessment=assessment,
        handles=handles,
        evidence=evidence,
        items=tuple(render_item(item) for item in evidence),
    )
