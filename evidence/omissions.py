"""What was left out, and for which reason? (pure)

A reason and a name, never content (R16). Only what is visible to the caller can be named at all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evidence.canonical import Json
from evidence.duplicates import RULE
from evidence.identity import RevisionKey, SourceKey, UnitKey, unit_id
from evidence.requirements import Requirement, matching_revisions
from evidence.selection import UNITS_PER_SOURCE
from evidence.snapshot import Snapshot
from evidence.state import Reason

LISTED_UNSELECTED = 50  # ranked units beyond the selection are all counted, and this many of the best are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Omissions:
    """Everything that is not in the packet and could have been expected there.

    budget: units left out for space, in selection order.
    duplicates: (left out, stays and says the same), in selection order.
    capped: units that a cap on each source left out, best first.
    stale: revisions, in key order.
    not_selected: units that were ranked and not selected, best first.
    A unit that a conflict brought in is in the selection: it is neither capped nor not selected.
    """

    budget: tuple[UnitKey, ...]
    duplicates: tuple[tuple[UnitKey, UnitKey], ...]
    capped: tuple[UnitKey, ...]
    stale: tuple[RevisionKey, ...]
    not_selected: tuple[UnitKey, ...]

    def record(self) -> dict[str, Json]:
        """Counts of all; each of them by name, but of the not selected only the best."""
        listed = self.not_selected[:LISTED_UNSELECTED]
        return {
            "counts": {
                Reason.OMITTED_BUDGET.value: len(self.budget),
                Reason.OMITTED_DUPLICATE.value: len(self.duplicates),
                Reason.OMITTED_POLICY.value: len(self.capped),
                Reason.STALE.value: len(self.stale),
                Reason.NOT_SELECTED.value: len(self.not_selected),
            },
            "items": [
                *({"reason": Reason.OMITTED_BUDGET.value, "unit_id": unit_id(key)} for key in self.budget),
                *(
                    {
                        "reason": Reason.OMITTED_DUPLICATE.value,
                        "unit_id": unit_id(key),
                        "duplicate_of": unit_id(kept),
                        "rule": RULE,
                    }
                    for key, kept in self.duplicates
                ),
                *(
                    {"reason": Reason.OMITTED_POLICY.value, "unit_id": unit_id(key), "policy": UNITS_PER_SOURCE}
                    for key in self.capped
                ),
                *(
                    {
                        "reason": Reason.STALE.value,
                        "namespace": key.namespace,
                        "source_id": key.source_id,
                        "revision": key.revision,
                    }
                    for key in self.stale
                ),
                *({"reason": Reason.NOT_SELECTED.value, "unit_id": unit_id(key)} for key in listed),
            ],
            "not_selected_listed": len(listed),
        }


def stale_revisions(
    candidates: Iterable[UnitKey],
    requirements: Sequence[Requirement],
    *,
    asked_source: SourceKey | None,
    snapshot: Snapshot,
) -> tuple[RevisionKey, ...]:
    """The stale and revoked revisions that the candidates or the request point at, in key order (R16).

    candidates: every unit that was ranked, selected or not. asked_source: the source that the request asks for whole.
    Found without scoring: another revision of a candidate's source, a revision that a candidate's one supersedes, a
    revision of the source that is asked for, or one that matches a requirement.
    """
    pointed_at: set[RevisionKey] = set()
    if asked_source is not None:
        pointed_at.update(snapshot.visible.by_source.get(asked_source, ()))
    revisions = {unit.revision_key for unit in candidates}
    for source in {key.source for key in revisions}:
        pointed_at.update(snapshot.visible.by_source.get(source, ()))
    for key in revisions:
        pointed_at.update(snapshot.visible.facts[key].supersedes)
    for requirement in requirements:
        pointed_at.update(matching_revisions(requirement.match, snapshot))
    return tuple(sorted(key for key in pointed_at if snapshot.is_stale(key)))
