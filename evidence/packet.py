"""What does a model get to read: which record is an evidence packet? (pure)

This is the semantic packet: the same for every adapter, plain data, hashed in its canonical form. How it is written
for one receiver is the renderers' question.
"""

from collections.abc import Mapping, Sequence

from evidence.canonical import Json
from evidence.conflict import ConflictGroup
from evidence.coverage import Coverage
from evidence.envelope import Candidate
from evidence.identity import UnitKey
from evidence.instant import format_instant
from evidence.request import PacketRequest
from evidence.snapshot import Snapshot
from evidence.state import SupportRole

SCHEMA = "muniment.packet/1"
TRUST = "untrusted-retrieved-data"  # evidence is data, whatever it says


def evidence_item(
    candidate: Candidate, *, handle: str, support_role: SupportRole, group: ConflictGroup | None
) -> dict[str, Json]:
    """One passage, with what a reader must know to judge it."""
    unit, facts = candidate.unit, candidate.facts
    return {
        "handle": handle,
        "namespace": facts.key.namespace,
        "source_id": facts.key.source_id,
        "revision": facts.key.revision,
        "title": facts.title,
        "heading": list(unit.heading),
        "span": [unit.start, unit.end],
        "status": facts.status.value,
        "support_role": support_role.value,
        "conflict_group": None if group is None else group.id,
        "trust": TRUST,
        "text": unit.text,
    }


def packet_record(
    request: PacketRequest,
    evidence: Sequence[Json],
    *,
    snapshot: Snapshot,
    coverage: Coverage,
    groups: Sequence[ConflictGroup],
    handles: Mapping[UnitKey, str],
    cut: bool,
) -> dict[str, Json]:
    """The packet that holds `evidence`, in the order given.

    groups: every conflict group that the complete selection touches, packed or left out whole. handles: of the
    evidence, in its order. cut: whether units were left out for space.
    """
    eligibility = snapshot.eligibility
    return {
        "schema": SCHEMA,
        "catalog_version": snapshot.catalog_version,
        "namespace": eligibility.scope.principal.namespace,
        "strategy": request.strategy.value,
        "as_of": None if eligibility.as_of is None else format_instant(eligibility.as_of),
        "use": eligibility.use.value,
        "evidence": list(evidence),
        "cut": cut,
        "conflict_groups": [group.shown(handles) for group in groups],
        "coverage": coverage.record(),
    }
