"""Which selected evidence is in conflict, with what, and who has to decide? (pure)

In plain words (R18, R19):

1. A conflict is declared, never guessed: units that make the same claim with different values, or that a `contradicts`
   relation joins. See `disagreement`.
2. Whoever contradicts a selected unit comes into the selection, whatever its rank, and whoever contradicts that one,
   until nobody is missing. Units that hang together in this way are one group.
3. The units of a group stand side by side, at the place of the first of them.
4. A group is open, and for its owners to decide, unless a rule of the domain settles it. See `authority_rules`. Then
   both sides stay, and the losing one is marked as overruled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evidence.authority_rules import AuthorityRules, Settlement, settle
from evidence.canonical import Json
from evidence.disagreement import Disagreement, Disagreements
from evidence.envelope import Candidate, UnitsOf
from evidence.identity import UnitKey, unit_id
from evidence.revision import RevisionFacts
from evidence.short_name import short_name
from evidence.snapshot import Snapshot
from evidence.state import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictGroup:
    """Units that contradict each other, directly or through others. The whole group, packed or not.

    members: in identity order. arranged: the same, in the order of the selection.
    disagreements: what they contradict each other over, in a stated order (R11).
    owners: who has to decide: for each member the owner of its family, where the rules name one, else its own owner;
    sorted, without repeats. settlement: what a rule decided; None leaves the group open.
    overruled: the members that the settlement overrules.
    """

    id: str
    members: tuple[UnitKey, ...]
    arranged: tuple[UnitKey, ...]
    disagreements: tuple[Disagreement, ...]
    owners: tuple[str, ...]
    settlement: Settlement | None
    overruled: frozenset[UnitKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "overruled", frozenset(self.settlement.overruled if self.settlement else ()))

    @property
    def keys(self) -> tuple[str, ...]:
        """The claim keys that the group disagrees on, in code-point order."""
        return tuple(sorted({key for disagreement in self.disagreements for key in disagreement.keys}))

    @property
    def is_open(self) -> bool:
        """Whether nobody has decided."""
        return self.settlement is None

    def reason(self, member: UnitKey) -> Reason:
        """Why an included member stands as it does (R16)."""
        if self.settlement is None:
            return Reason.CONFLICTING
        return Reason.OVERRULED if member in self.overruled else Reason.INCLUDED

    def overrules(self, member: UnitKey, claim_key: str) -> bool:
        """Whether what a member claims under a key counts for nothing, because the group's settlement overrules it.

        An overruled unit loses what it disagrees on with others, and keeps its other claims; where the disagreement
        names no claim, it loses all.
        """
        if member not in self.overruled:
            return False
        lost = [disagreement.keys for disagreement in self.disagreements if member in disagreement.members]
        return any(not keys or claim_key in keys for keys in lost)

    def record(self) -> dict[str, Json]:
        """The whole group, for the manifest."""
        return {
            "id": self.id,
            "members": [unit_id(member) for member in self.members],
            "keys": list(self.keys),
            "disagreements": [disagreement.record() for disagreement in self.disagreements],
            "owners": list(self.owners),
            "resolution": self._resolution({member: unit_id(member) for member in self.members}),
        }

    def shown(self, handles: Mapping[UnitKey, str]) -> dict[str, Json]:
        """The group as a packet shows it, its members in the order of the evidence. `handles`: of all units of the
        packet. Cost grows with the members alone."""
        included = {unit: handles[unit] for unit in self.arranged if unit in handles}
        return {
            "id": self.id,
            "handles": list(included.values()),
            "key": next(iter(self.keys), None),
            "keys": list(self.keys),
            "owners": list(self.owners),
            "resolution": self._resolution(included),
            **({} if included else {"left_out": True}),
        }

    def _resolution(self, names: Mapping[UnitKey, str]) -> dict[str, Json] | None:
        settlement = self.settlement
        if settlement is None:
            return None
        return {
            "rule": settlement.rule,
            "rules": settlement.rules,
            "version": settlement.version,
            "prevails": [name for unit, name in names.items() if unit not in self.overruled],
            "overruled": [name for unit, name in names.items() if unit in self.overruled],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicted:
    """A selection with everything that contradicts it.

    selection: the units, groups side by side. brought_in: those of them that were not selected before.
    groups: in the order in which the selection reaches them.
    """

    selection: tuple[Candidate, ...]
    brought_in: frozenset[UnitKey]
    groups: tuple[ConflictGroup, ...]


def find_conflicts(
    selection: tuple[Candidate, ...],
    *,
    ranked: Sequence[UnitKey],
    snapshot: Snapshot,
    units_of: UnitsOf,
    rules: AuthorityRules,
) -> Conflicted:
    """Bring in whatever contradicts the selection, and say which units hang together.

    `ranked`: every unit that was ranked, best first, the selected ones among them; it only says which unit of a side a
    relation means that names none. In a group, selected units stand in the order of the selection, then those brought
    in, by rank and then in identity order. Equal input gives equal bytes; the order of `selection` decides about the
    arrangement alone, never about who is in a group.
    """
    disagreements = Disagreements(ranked=ranked, snapshot=snapshot, units_of=units_of)
    selected = {candidate.unit.key: place for place, candidate in enumerate(selection)}
    arranged: dict[UnitKey, Candidate] = {}
    groups = []
    for candidate in selection:
        if candidate.unit.key in arranged:
            continue
        members, over = _hanging_together(candidate, disagreements)
        beside = sorted(members, key=lambda unit: (selected.get(unit, len(selected)), disagreements.place(unit)))
        for unit in beside:
            arranged[unit] = selection[selected[unit]] if unit in selected else disagreements.candidate(unit)
        if over:
            groups.append(_group({unit: arranged[unit].facts for unit in beside}, over, rules))
    return Conflicted(
        selection=tuple(arranged.values()),
        brought_in=frozenset(arranged.keys() - selected.keys()),
        groups=tuple(groups),
    )


def _hanging_together(
    candidate: Candidate, disagreements: Disagreements
) -> tuple[frozenset[UnitKey], tuple[Disagreement, ...]]:
    """The unit, whoever it disagrees with, whoever they disagree with, and so on; and what all of that is over."""
    members = {candidate.unit.key}
    over: set[Disagreement] = set()
    waiting = [candidate]
    while waiting:
        for disagreement in disagreements.of(waiting.pop()):
            if disagreement not in over:
                over.add(disagreement)
                newly = disagreement.members - members
                members |= newly
                waiting.extend(disagreements.candidate(unit) for unit in newly)
    return frozenset(members), tuple(sorted(over, key=lambda disagreement: (disagreement.keys, disagreement.sides)))


def _group(
    arranged: Mapping[UnitKey, RevisionFacts], disagreements: tuple[Disagreement, ...], rules: AuthorityRules
) -> ConflictGroup:
    """The group of these members, which stand in this order."""
    members = tuple(sorted(arranged))
    owners = {rules.family_owners.get(facts.family, facts.owner) for facts in arranged.values()}
    return ConflictGroup(
        id=short_name("CG-", [unit_id(member) for member in members]),
        members=members,
        arranged=tuple(arranged),
        disagreements=disagreements,
        owners=tuple(sorted(owners - {""})),
        settlement=settle(arranged, disagreements, rules),
    )
