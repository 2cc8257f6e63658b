"""Under which handle can a passage be cited, and what does the handle stand for? (pure)

A handle depends on namespace, source, revision and span digest alone: the same passage has the same handle in every
packet and in every hit, and its place in a list never matters (R27).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evidence.canonical import Json, digest
from evidence.envelope import Candidate
from evidence.errors import BrokenGuarantee
from evidence.handles import PREFIX
from evidence.identity import unit_id
from evidence.short_name import short_name
from evidence.snapshot import Snapshot
from evidence.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class HandleRecord:
    """What a handle stands for, written before anything is generated from the packet.

    span: `[start, end)` in code points of the stored revision text; span_digest: of the span and its text.
    eligibility_digest: of what was asked, by which scope, of which catalog version, about this revision.
    """

    handle: str
    unit_id: str
    namespace: str
    source_id: str
    revision: str
    title: str
    heading: tuple[str, ...]
    span: tuple[int, int]
    span_digest: str
    eligibility_digest: str

    def record(self) -> dict[str, Json]:
        return {
            "handle": self.handle,
            "unit_id": self.unit_id,
            "display": {
                "namespace": self.namespace,
                "source_id": self.source_id,
                "revision": self.revision,
                "title": self.title,
                "heading": list(self.heading),
            },
            "span": list(self.span),
            "span_digest": self.span_digest,
            "eligibility_digest": self.eligibility_digest,
        }


def span_digest(unit: Unit) -> str:
    """The digest of a passage and of where it stands: equal passages of one revision differ in it."""
    return digest([unit.start, unit.end, unit.digest])


def citation_handle(unit: Unit) -> str:
    """`EV-` and 16 characters: 80 bits, so that two of a million passages collide with a chance of 4 in 10^13."""
    key = unit.key
    return short_name(PREFIX, [key.namespace, key.source_id, key.revision, span_digest(unit)])


def citation_handles(units: Sequence[Unit]) -> tuple[str, ...]:
    """The handle of each unit, in order. Raises BrokenGuarantee where two of them would share one."""
    handles = tuple(citation_handle(unit) for unit in units)
    if len(set(handles)) < len(handles):
        raise BrokenGuarantee("two passages of one packet have the same citation handle")
    return handles


def handle_records(
    candidates: Sequence[Candidate], handles: Sequence[str], *, snapshot: Snapshot
) -> tuple[HandleRecord, ...]:
    """The record of each included unit's handle, in order."""
    asked = digest(snapshot.eligibility.record())
    return tuple(
        _record(candidate, handle, snapshot, asked) for candidate, handle in zip(candidates, handles, strict=True)
    )


def _record(candidate: Candidate, handle: str, snapshot: Snapshot, asked: str) -> HandleRecord:
    unit, facts = candidate.unit, candidate.facts
    return HandleRecord(
        handle=handle,
        unit_id=unit_id(unit.key),
        namespace=facts.key.namespace,
        source_id=facts.key.source_id,
        revision=facts.key.revision,
        title=facts.title,
        heading=unit.heading,
        span=(unit.start, unit.end),
        span_digest=span_digest(unit),
        eligibility_digest=digest(
            {
                "asked": asked,
                "catalog_version": snapshot.catalog_version,
                "revision": list(facts.key),
                "facts": facts.digest,
                "standing": snapshot.standings[facts.key].value,
            }
        ),
    )
