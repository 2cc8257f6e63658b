"""Over what do usable units contradict each other? (pure)

Two things make a disagreement, and nothing else does (R18): usable units whose claims share a key and differ in
value, and a declared `contradicts` relation between usable passages. Likeness, rank and date never make one. What is
invisible, stale or filtered out takes no part (R8).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evidence.canonical import Json
from evidence.claim_value import plain_value
from evidence.envelope import Candidate, UnitsOf
from evidence.identity import Namespace, RevisionKey, SourceKey, UnitKey, unit_id
from evidence.revision import ConflictSide, Contradiction
from evidence.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One matter, and the sides that contradict each other over it.

    keys: the claim keys it is about, in code-point order; none where a declared relation names no claim.
    sides: two or more. Each holds the units that say the same, in identity order; any two of different sides
    contradict each other. A unit that makes one claim with two values stands on two sides.
    members: the units of all sides.
    """

    keys: tuple[str, ...]
    sides: tuple[tuple[UnitKey, ...], ...] = field(hash=False)  # the members' hash is kept, and this one would not be
    members: frozenset[UnitKey] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", frozenset(unit for side in self.sides for unit in side))

    def record(self) -> dict[str, Json]:
        return {"keys": list(self.keys), "sides": [[unit_id(unit) for unit in side] for side in self.sides]}


class Disagreements:
    """Finds the disagreements that a unit takes part in, each worked out once. For one request."""

    def __init__(self, *, ranked: Sequence[UnitKey], snapshot: Snapshot, units_of: UnitsOf) -> None:
        self._snapshot = snapshot
        self._units_of = units_of
        self._places: Mapping[UnitKey, int] = {unit: place for place, unit in enumerate(ranked)}
        self._units: dict[RevisionKey, Mapping[UnitKey, Candidate]] = {}
        self._over: dict[str, Disagreement | None] = {}
        self._declared: dict[RevisionKey, tuple[Disagreement, ...]] = {}

    def of(self, candidate: Candidate) -> Iterator[Disagreement]:
        """Every disagreement in which the unit stands on a side."""
        unit, facts = candidate.unit.key, candidate.facts
        for claim_key in sorted({claim.key for claim in candidate.claims}):
            found = self._over_claim(claim_key)
            if found is not None:
                yield found
        declaring = {facts.key, *self._snapshot.visible.contradicted_by.get(facts.key.source, ())}
        for revision in sorted(declaring):
            if self._snapshot.is_usable(revision):
                yield from (found for found in self._declared_by(revision) if unit in found.members)

    def candidate(self, unit: UnitKey) -> Candidate:
        """The unit of a usable revision under that key."""
        return self._units_in(unit.revision_key)[unit]

    def place(self, unit: UnitKey) -> tuple[int, UnitKey]:
        """Where a unit stands among all: by rank, and after the ranked ones in identity order."""
        return self._places.get(unit, len(self._places)), unit

    def _over_claim(self, claim_key: str) -> Disagreement | None:
        if claim_key not in self._over:
            self._over[claim_key] = self._find_over_claim(claim_key)
        return self._over[claim_key]

    def _find_over_claim(self, claim_key: str) -> Disagreement | None:
        """Whoever claims the key takes part: where two units differ, each unit differs from at least one. Units are
        read only where usable revisions differ."""
        visible = self._snapshot.visible
        if claim_key not in visible.disputed_claims:
            return None
        claiming = list(self._usable(visible.by_claim[claim_key]))
        claims = (claim for revision in claiming for claim in visible.facts[revision].claims)
        if len({plain_value(claim.value) for claim in claims if claim.key == claim_key}) < 2:
            return None
        sides: dict[str, set[UnitKey]] = {}
        for revision in claiming:
            for candidate in self._units_in(revision).values():
                for claim in candidate.claims:
                    if claim.key == claim_key:
                        sides.setdefault(plain_value(claim.value), set()).add(candidate.unit.key)
        return _disagreement({claim_key}, [sides[value] for value in sorted(sides)])

    def _declared_by(self, revision: RevisionKey) -> tuple[Disagreement, ...]:
        if revision not in self._declared:
            relations = self._snapshot.visible.facts[revision].contradicts
            found = [self._join(revision, relation) for relation in relations]
            self._declared[revision] = tuple(disagreement for disagreement in found if disagreement is not None)
        return self._declared[revision]

    def _join(self, revision: RevisionKey, relation: Contradiction) -> Disagreement | None:
        """A relation as a disagreement. A side that is not there, or names what is not there, joins nothing."""
        target = self._snapshot.visible.by_source.get(SourceKey(Namespace(relation.namespace), relation.source_id), ())
        sides = [
            self._passages([revision], relation.here),
            self._passages(self._usable(target), relation.there),
        ]
        named = (side.claim for side in (relation.here, relation.there) if side is not None)
        return _disagreement({claim for claim in named if claim is not None}, sides)

    def _passages(self, revisions: Iterable[RevisionKey], side: ConflictSide | None) -> set[UnitKey]:
        """The units that one side of a relation means: those that make the claim, or hold the first occurrence of the
        quote, in each revision; where neither is named, the best-ranked unit of all."""
        found = [self._units_in(revision) for revision in revisions]
        if side is None:
            return set(sorted((unit for units in found for unit in units), key=self.place)[:1])
        if side.quote is not None:
            return {unit for units in found for unit in _holders(side.quote, list(units.values()))}
        return {
            unit
            for units in found
            for unit, candidate in units.items()
            if any(claim.key == side.claim for claim in candidate.claims)
        }

    def _usable(self, revisions: Iterable[RevisionKey]) -> Iterator[RevisionKey]:
        return (revision for revision in revisions if self._snapshot.is_usable(revision))

    def _units_in(self, revision: RevisionKey) -> Mapping[UnitKey, Candidate]:
        if revision not in self._units:
            self._units[revision] = {candidate.unit.key: candidate for candidate in self._units_of(revision)}
        return self._units[revision]


def _holders(quote: str, units: Sequence[Candidate]) -> Iterator[UnitKey]:
    """The units that hold the first occurrence of `quote` in the text that `units` make up together.

    That is one unit where the revision declares the quote itself. The text of another source was cut without
    knowing of the quote, so that there it may take more than one unit to hold it.
    """
    at = "".join(candidate.unit.text for candidate in units).find(quote)
    if at < 0:
        return
    for candidate in units:
        if candidate.unit.start < at + len(quote) and at < candidate.unit.end:
            yield candidate.unit.key


def _disagreement(keys: set[str], sides: Sequence[set[UnitKey]]) -> Disagreement | None:
    """A disagreement, where there are two sides and two units to disagree."""
    if len(sides) < 2 or not all(sides) or len(set[UnitKey]().union(*sides)) < 2:
        return None
    return Disagreement(keys=tuple(sorted(keys)), sides=tuple(tuple(sorted(side)) for side in sides))
