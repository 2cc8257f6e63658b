"""Does an answer name only what its caller may use?

The third barrier, behind the gate before ranking and the one at assembly (R2, R5). It looks at the finished body and
judges each revision that is named there, by the catalog's facts. Whether one exists for the caller it decides by rules
of its own (`evidence/second_opinion.py`), so that it holds where both gates fail, and where the rules that they share
do; whether what exists may be used now (time, currency, subject, filter) is judged by the one rule there is. What it
finds is a fault of this server and no move of the authority: such an answer is given up at once. How much was found is
counted and logged, and nothing else of it.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec
import structlog

from evidence.canonical import Json
from evidence.eligibility import Eligibility, Standing, Use, judge
from evidence.grants import Dimension
from evidence.identity import Namespace, RevisionKey, SourceKey, UnitKey, parse_unit_id
from evidence.named import named_in
from evidence.second_opinion import Held, exists_for, held_by
from index.catalog_read import Reading
from index.relatives import relatives

_LOG = structlog.get_logger("muniment.containment")
_NO_UNIT = UnitKey(Namespace(""), "", "", 0)


class AnswerKind(StrEnum):
    """What is looked through."""

    CATALOG = "catalog"
    SEARCH = "search"
    PACKET = "packet"
    CITATIONS = "citations"
    MANIFEST = "manifest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """An answer that was looked through: how much it names, and how much of that lies outside what it may name."""

    answer: AnswerKind
    named: int
    outside: int


Told = Callable[[Checked], None]
"""Hears of each answer that was looked through."""


def untold(_: Checked) -> None:
    """Where nobody counts."""


class NotContained(Exception):
    """An answer names what its caller may not use. Whoever has no answer to give in its place ends with status 500."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What an answer names.

    handed_over: the revisions whose text it holds, and those in conflict with them; each must be usable.
    ranked: the revisions of all units that it names; each must be usable in the state that the answer was begun in.
    shown: every revision, and every source of which some revision is meant; each must be visible.
    """

    handed_over: frozenset[RevisionKey]
    ranked: frozenset[RevisionKey]
    shown: frozenset[RevisionKey | SourceKey]


def named_by_hits(hits: Sequence[Json]) -> Names:
    """What the hits of a search name, by their units and by the sources beside them."""
    read = msgspec.convert(hits, list[_Hit])
    named = {RevisionKey(hit.namespace, hit.source.source_id, hit.source.revision) for hit in read}
    named |= _revisions_of(hit.unit_id for hit in read)
    return Names(handed_over=frozenset(named), ranked=frozenset(named), shown=frozenset(named))


def named_by_packet(body: Mapping[str, Json]) -> Names:
    """What an answer to a packet request names: in its packet, and in its manifest outside the request."""
    read = msgspec.convert(body, _PacketBody)
    evidence = [] if read.packet is None else read.packet.evidence
    handed_over = {RevisionKey(item.namespace, item.source_id, item.revision) for item in evidence}
    handed_over |= _revisions_of(inclusion.unit_id for inclusion in read.manifest.inclusions)
    handed_over |= _revisions_of(member for group in read.manifest.conflict_groups for member in group.members)
    manifest = body["manifest"]
    assert isinstance(manifest, Mapping)
    everything = named_in(manifest)
    return Names(
        handed_over=frozenset(handed_over),
        ranked=frozenset(handed_over.union(unit.revision_key for unit in everything.units)),
        shown=frozenset({*handed_over, *everything.every_revision(), *everything.sources}),
    )


def require_contained(
    answer: AnswerKind,
    names: Names,
    *,
    begun_with: Container[RevisionKey],
    eligibility: Eligibility,
    reading: Reading,
    told: Told,
) -> None:
    """Tell what was found, and raise NotContained where an answer names anything that it may not.

    begun_with: the usable revisions of the state that the answer was begun in. reading: the state that it is judged in.
    """
    usable = usable_among(names.handed_over, eligibility=eligibility, reading=reading)
    outside = {
        *(names.handed_over - usable),
        *(key for key in names.ranked if key not in begun_with),
        *invisible_among(names.shown - usable, eligibility=eligibility, reading=reading),
    }
    conclude(Checked(answer=answer, named=len(names.shown), outside=len(outside)), told=told)


def usable_among(keys: Iterable[RevisionKey], *, eligibility: Eligibility, reading: Reading) -> frozenset[RevisionKey]:
    """The revisions that may be used, by the facts and the revocations of this state."""
    held = _held(eligibility, reading)
    if held is None:
        return frozenset()
    asked = frozenset(keys)
    related = relatives((key.source for key in asked), reading.holdings)
    standings = judge([facts for facts in related if exists_for(facts, held)], eligibility)
    return frozenset(key for key in asked if standings.get(key) is Standing.USABLE)


def invisible_among(
    names: Iterable[RevisionKey | SourceKey], *, eligibility: Eligibility, reading: Reading
) -> frozenset[RevisionKey | SourceKey]:
    """The revisions that do not exist for the caller, and the sources of which none does, in this state."""
    asked = frozenset(names)
    held = _held(eligibility, reading) if asked else None
    if held is None:
        return asked
    holdings = reading.holdings

    def is_seen(name: RevisionKey | SourceKey) -> bool:
        if isinstance(name, RevisionKey):
            meant = [holdings.facts[name]] if name in holdings.facts else []
        else:
            meant = [facts for facts in relatives([name], holdings) if facts.key.source == name]
        return any(exists_for(facts, held) for facts in meant)

    return frozenset(name for name in asked if not is_seen(name))


def conclude(checked: Checked, *, told: Told) -> None:
    """Tell what was found, and raise NotContained where anything lies outside."""
    told(checked)
    if checked.outside:
        _LOG.error(
            "an answer that names what its caller may not use was held back",
            answer=checked.answer.value,
            named=checked.named,
            outside=checked.outside,
        )
        raise NotContained


def _held(eligibility: Eligibility, reading: Reading) -> Held | None:
    """What the caller still holds in this state; None where nothing is left, or the purpose is not held any more."""
    purpose = eligibility.scope.purpose
    held = held_by(
        eligibility.scope.principal,
        revocations=reading.revocations,
        purpose=purpose,
        drafts=eligibility.use is Use.DRAFT,
    )
    return None if held is None or (purpose is not None and not held.values[Dimension.PURPOSE]) else held


def _revisions_of(unit_ids: Iterable[str]) -> set[RevisionKey]:
    """The revisions of units. A text that is no unit's id names a revision that nobody has."""
    units = (parse_unit_id(text) or _NO_UNIT for text in unit_ids)
    return {unit.revision_key for unit in units}


class _Source(msgspec.Struct):
    source_id: str
    revision: str


class _Hit(msgspec.Struct):
    """What is read of a hit."""

    unit_id: str
    namespace: Namespace
    source: _Source


class _Evidence(msgspec.Struct):
    namespace: Namespace
    source_id: str
    revision: str


class _Packet(msgspec.Struct):
    evidence: list[_Evidence]


class _Inclusion(msgspec.Struct):
    unit_id: str


class _Group(msgspec.Struct):
    members: list[str]


class _Manifest(msgspec.Struct):
    inclusions: list[_Inclusion]
    conflict_groups: list[_Group]


class _PacketBody(msgspec.Struct):
    """What is read of an answer to a packet request, beside what a manifest names anywhere."""

    packet: _Packet | None
    manifest: _Manifest
