"""Which evidence does the caller require, and does a unit meet it? (pure)

A requirement checks the selection, it never adds to it (R20). What it names is looked up among visible revisions
only: a name outside the scope matches nothing, like one that does not exist (R1, R7).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evidence.canonical import Json
from evidence.claim_value import same_value
from evidence.envelope import Candidate
from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey, UnitKey, parse_unit_id
from evidence.revision import Claim
from evidence.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMatch:
    """A unit that makes the claim `key`; with `value`, one that makes it with that value."""

    key: str
    value: str | None = None

    def record(self) -> dict[str, Json]:
        return {"claim": self.key, "value": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyMatch:
    """Any unit of a family of sources. The empty family matches nothing."""

    family: str

    def record(self) -> dict[str, Json]:
        return {"family": self.family}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMatch:
    """Any unit of one source, whatever the revision."""

    source: SourceKey

    def record(self) -> dict[str, Json]:
        return {"source_id": self.source.source_id, "public": self.source.namespace == PUBLIC}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitMatch:
    """One unit, by its id. A text that is no unit id matches nothing."""

    unit_id: str

    @property
    def key(self) -> UnitKey | None:
        return parse_unit_id(self.unit_id)

    def record(self) -> dict[str, Json]:
        return {"unit_id": self.unit_id}


Match: TypeAlias = ClaimMatch | FamilyMatch | SourceMatch | UnitMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A role that evidence should fill. Role names are unique within a request."""

    role: str
    match: Match
    mandatory: bool

    def record(self) -> dict[str, Json]:
        return {"role": self.role, "match": self.match.record(), "mandatory": self.mandatory}


def resolve_source(source_id: str, *, public: bool, own: Namespace) -> SourceKey:
    """The source that a request names: in the caller's own namespace, in the public one only where it says so."""
    return SourceKey(PUBLIC if public else own, source_id)


def is_filled_by(match: Match, candidate: Candidate) -> bool:
    """Whether the unit fills a role with this match."""
    key = candidate.unit.key
    match match:
        case ClaimMatch():
            return _makes(match, candidate.claims)
        case FamilyMatch():
            return match.family != "" and candidate.facts.family == match.family
        case SourceMatch():
            return key.revision_key.source == match.source
        case UnitMatch():
            return key == match.key


def is_disconfirmed_by(match: Match, candidate: Candidate) -> bool:
    """Whether the unit makes the claim, and with other values than the expected one only."""
    if not isinstance(match, ClaimMatch) or match.value is None:
        return False
    return any(claim.key == match.key for claim in candidate.claims) and not _makes(match, candidate.claims)


def matching_revisions(match: Match, snapshot: Snapshot) -> Iterator[RevisionKey]:
    """The visible revisions, usable or not, that hold a unit which fills the role; in key order."""
    visible = snapshot.visible
    match match:
        case ClaimMatch():
            for key in visible.by_claim.get(match.key, ()):
                if _makes(match, visible.facts[key].claims):
                    yield key
        case FamilyMatch():
            yield from _with_units(visible.by_family.get(match.family, ()), snapshot)
        case SourceMatch():
            yield from _with_units(visible.by_source.get(match.source, ()), snapshot)
        case UnitMatch():
            unit = match.key
            if unit is not None and unit.ordinal < snapshot.unit_counts.get(unit.revision_key, 0):
                yield unit.revision_key


def is_filled_outside(selection: Sequence[Candidate], match: Match, snapshot: Snapshot) -> bool:
    """Whether a usable unit that is not in `selection` fills the role."""
    selected: dict[RevisionKey, list[Candidate]] = {}
    for candidate in selection:
        selected.setdefault(candidate.unit.key.revision_key, []).append(candidate)
    return any(
        _holds_another(match, key, selected.get(key, []), snapshot)
        for key in matching_revisions(match, snapshot)
        if snapshot.is_usable(key)
    )


def _holds_another(match: Match, key: RevisionKey, selected: Sequence[Candidate], snapshot: Snapshot) -> bool:
    """Whether a revision that matches holds a unit that fills the role, apart from those that are selected."""
    match match:
        case ClaimMatch():
            owned = {claim for candidate in selected for claim in candidate.claims}
            return _makes(match, (claim for claim in snapshot.visible.facts[key].claims if claim not in owned))
        case FamilyMatch() | SourceMatch():
            return snapshot.unit_counts[key] > len(selected)
        case UnitMatch():
            return all(candidate.unit.key != match.key for candidate in selected)


def _makes(match: ClaimMatch, claims: Iterable[Claim]) -> bool:
    return any(
        claim.key == match.key and (match.value is None or same_value(claim.value, match.value)) for claim in claims
    )


def _with_units(keys: Iterable[RevisionKey], snapshot: Snapshot) -> Iterator[RevisionKey]:
    return (key for key in keys if snapshot.unit_counts.get(key, 0) > 0)
