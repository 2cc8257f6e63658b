"""What is the full envelope of an included unit? (pure)

Facts, then the retrieval trace, then what assembly decided: each layer wraps the one before and none is edited.
"""

from dataclasses import dataclass

from evidence.canonical import Json
from evidence.citations import HandleRecord
from evidence.conflict import ConflictGroup
from evidence.envelope import Candidate
from evidence.identity import RevisionKey, unit_id
from evidence.packing import Tier
from evidence.snapshot import Snapshot, Visible
from evidence.state import Reason, SupportRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Inclusion:
    """What assembly decided about an included unit. The candidate inside is as retrieval left it.

    group: its conflict group, None for a unit that nobody contradicts. brought_in: whether that group brought it in.
    rendered_span: where the passage stands in the rendered body, `[start, end)` in code points.
    bytes: what its item takes of the body.
    """

    candidate: Candidate
    handle: HandleRecord
    tier: Tier
    support_role: SupportRole
    roles: tuple[str, ...]
    group: ConflictGroup | None
    brought_in: bool
    rendered_span: tuple[int, int]
    bytes: int

    @property
    def reason(self) -> Reason:
        """Why it is in, and how it stands there (R16)."""
        return Reason.INCLUDED if self.group is None else self.group.reason(self.candidate.unit.key)

    def record(self, *, snapshot: Snapshot, scope_digest: str) -> dict[str, Json]:
        """The full envelope: facts, then the retrieval trace, then the decision. `scope_digest`: of its scope."""
        unit = self.candidate.unit
        return {
            "handle": self.handle.handle,
            "unit_id": unit_id(unit.key),
            "facts": _facts_record(self.candidate, snapshot.visible),
            "access": {
                "label": self.candidate.facts.label.digest,
                "scope": scope_digest,
                "standing": snapshot.standings[self.candidate.facts.key].value,
            },
            "unit": {
                "ordinal": unit.key.ordinal,
                "heading": list(unit.heading),
                "span": [unit.start, unit.end],
                "digest": unit.digest,
                "prefix_tokens": unit.prefix_tokens,
                "prefix_tokens_cut": unit.prefix_tokens_cut,
                "encoder_tokens": unit.tokens,
            },
            "trace": self.candidate.trace.record(),
            "decision": {
                "reason": self.reason.value,
                "tier": self.tier.value,
                "support_role": self.support_role.value,
                "roles": list(self.roles),
                "conflict_group": None if self.group is None else self.group.id,
                "brought_in": self.brought_in,
                "rendered_span": list(self.rendered_span),
                "bytes": self.bytes,
            },
        }


def _facts_record(candidate: Candidate, visible: Visible) -> dict[str, Json]:
    """The facts of the revision; of its relations only those to something visible (R8), of its claims the unit's."""
    facts = candidate.facts
    supersedes = [key for key in facts.supersedes if key in visible.facts]
    contradicts = [
        relation for relation in facts.contradicts if (relation.namespace, relation.source_id) in visible.by_source
    ]
    return {
        "namespace": facts.key.namespace,
        **facts.source_record(),
        "supersedes": [_revision_record(key) for key in supersedes],
        "superseded_by": [_revision_record(key) for key in sorted(visible.superseders.get(facts.key, ()))],
        "contradicts": [relation.record() for relation in contradicts],
        "claims": [{"key": claim.key, "value": claim.value} for claim in candidate.claims],
        "applies_to": list(facts.applies_to),
        "citable_for": list(facts.citable_for),
        "metadata": facts.metadata,
        "facts_digest": facts.digest,
        "text_digest": facts.text_digest,
    }


def _revision_record(key: RevisionKey) -> dict[str, Json]:
    return {"namespace": key.namespace, "source_id": key.source_id, "revision": key.revision}
