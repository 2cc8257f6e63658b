"""What is the complete selection, once conflicts, widening and duplicates are settled? (pure)

In this order: what `auto` widens to; whatever contradicts a selected unit; what each unit does for the requirements;
which units say again what another one says. Nothing is left out here for space: see packing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evidence.authority_rules import AuthorityRules
from evidence.conflict import Conflicted, ConflictGroup, find_conflicts
from evidence.coverage import Assessment, assess
from evidence.duplicates import Duplicate, find_duplicates
from evidence.envelope import Candidate, UnitsOf
from evidence.identity import UnitKey
from evidence.packing import Block, blocks_of
from evidence.ranking import Retrieval
from evidence.request import PacketRequest, Strategy
from evidence.snapshot import Snapshot
from evidence.widening import Widening, widen


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """A complete selection, and what each of its units is there for. Positions are those of `selection`.

    brought_in: the units that a conflict brought in; widenings: the documents taken whole, with the reason.
    duplicates: the units that are out beforehand. assessment: of the whole selection.
    group_at: by position, the conflict group of a unit; None for one that nobody contradicts.
    """

    selection: tuple[Candidate, ...]
    groups: tuple[ConflictGroup, ...]
    brought_in: frozenset[UnitKey]
    widenings: tuple[Widening, ...]
    duplicates: tuple[Duplicate, ...]
    assessment: Assessment
    group_at: tuple[ConflictGroup | None, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        group_of = {member: group for group in self.groups for member in group.members}
        object.__setattr__(self, "group_at", tuple(group_of.get(found.unit.key) for found in self.selection))

    @property
    def offered(self) -> tuple[int, ...]:
        """The positions that packing may choose from, ascending."""
        out = {duplicate.position for duplicate in self.duplicates}
        return tuple(position for position in range(len(self.selection)) if position not in out)

    @property
    def is_conflicting(self) -> bool:
        """Whether any conflict is left for its owners to decide, whatever is packed (R19)."""
        return any(group.is_open for group in self.groups)

    def blocks(self) -> tuple[Block, ...]:
        """What is packed together or not at all."""
        place = {candidate.unit.key: position for position, candidate in enumerate(self.selection)}
        return blocks_of(
            self.assessment.roles,
            groups=[[place[member] for member in group.members] for group in self.groups],
            mandatory=self.assessment.mandatory,
            left_out={duplicate.position for duplicate in self.duplicates},
        )


def arrange(
    request: PacketRequest, retrieval: Retrieval, *, snapshot: Snapshot, units_of: UnitsOf, rules: AuthorityRules
) -> Arrangement:
    """Complete the selection of `retrieval`. Equal input gives equal bytes."""
    ranked = list(retrieval.candidates())
    widenings: tuple[Widening, ...] = ()
    conflicted = find_conflicts(retrieval.selection, ranked=ranked, snapshot=snapshot, units_of=units_of, rules=rules)
    assessment = _assess(request, conflicted, snapshot)
    if request.strategy is Strategy.AUTO:
        widenings = widen(
            assessment.open_roles(),
            ranked=ranked,
            class_widens=request.query_class.widens,
            conflicting=[member.revision_key for group in conflicted.groups for member in group.members],
            snapshot=snapshot,
        )
        if widenings:
            selection = _with_documents(retrieval.selection, widenings, units_of)
            conflicted = find_conflicts(selection, ranked=ranked, snapshot=snapshot, units_of=units_of, rules=rules)
            assessment = _assess(request, conflicted, snapshot)
    return Arrangement(
        selection=conflicted.selection,
        groups=conflicted.groups,
        brought_in=conflicted.brought_in,
        widenings=widenings,
        duplicates=find_duplicates(
            conflicted.selection,
            roles=assessment.roles,
            in_conflict={member for group in conflicted.groups for member in group.members},
        ),
        assessment=assessment,
    )


def empty(request: PacketRequest, *, snapshot: Snapshot) -> Arrangement:
    """The arrangement of nothing at all."""
    return Arrangement(
        selection=(),
        groups=(),
        brought_in=frozenset(),
        widenings=(),
        duplicates=(),
        assessment=assess(request.requirements, (), snapshot=snapshot, groups=()),
    )


def _assess(request: PacketRequest, conflicted: Conflicted, snapshot: Snapshot) -> Assessment:
    return assess(request.requirements, conflicted.selection, snapshot=snapshot, groups=conflicted.groups)


def _with_documents(
    selection: tuple[Candidate, ...], widenings: Sequence[Widening], units_of: UnitsOf
) -> tuple[Candidate, ...]:
    """The selection, then the other units of each document in text order."""
    found = {candidate.unit.key: candidate for candidate in selection}
    for widening in widenings:
        for candidate in units_of(widening.revision):
            found.setdefault(candidate.unit.key, candidate)
    return tuple(found.values())
