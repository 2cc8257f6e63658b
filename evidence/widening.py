"""When does `auto` widen a narrow selection, and to which documents? (pure)

A narrow selection that covers what was asked stays as it is. It is widened to whole documents for three reasons
only: a role is open and a usable document could fill it, the selection holds a conflict, or the class of the question
needs whole documents (R36). What widening brings passes the same gate and the same budget as everything else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.canonical import Json
from evidence.identity import RevisionKey, UnitKey
from evidence.requirements import Requirement, matching_revisions
from evidence.snapshot import Snapshot


class Because(StrEnum):
    """Why a document is taken whole."""

    MISSING_ROLE = "missing-role"
    CONFLICT = "conflict"
    QUERY_CLASS = "query-class"


@dataclass(frozen=True, slots=True, kw_only=True)
class Widening:
    """One document to take whole. `role`: the open role, where that is the reason."""

    revision: RevisionKey
    because: Because
    role: str | None = None

    def record(self) -> dict[str, Json]:
        return {
            "namespace": self.revision.namespace,
            "source_id": self.revision.source_id,
            "revision": self.revision.revision,
            "because": self.because.value,
            "role": self.role,
        }


def widen(
    open_roles: Sequence[Requirement],
    *,
    ranked: Sequence[UnitKey],
    class_widens: bool,
    conflicting: Iterable[RevisionKey],
    snapshot: Snapshot,
) -> tuple[Widening, ...]:
    """The documents to take whole, each once, with its first reason; none where the selection covers everything.

    open_roles: the requirements that no unit of the selection fills, overruled claims not counted, in the order of the
    request. ranked: every candidate, best first. conflicting: the revisions of the conflicts that the selection holds,
    in order. Order: open roles, then conflicts, then the class. A role that no usable document could fill widens
    nothing: it stays open, and the answer says so.
    """
    found: dict[RevisionKey, Widening] = {}
    for requirement in open_roles:
        best = _best_candidate(requirement, ranked, snapshot)
        if best is not None:
            found.setdefault(best, Widening(revision=best, because=Because.MISSING_ROLE, role=requirement.role))
    for key in conflicting:
        found.setdefault(key, Widening(revision=key, because=Because.CONFLICT))
    if class_widens and ranked:
        best = ranked[0].revision_key
        found.setdefault(best, Widening(revision=best, because=Because.QUERY_CLASS))
    return tuple(found.values())


def _best_candidate(requirement: Requirement, ranked: Sequence[UnitKey], snapshot: Snapshot) -> RevisionKey | None:
    """The document of the best-ranked unit among those that could fill the role; unranked ones in key order."""
    could = [key for key in matching_revisions(requirement.match, snapshot) if snapshot.is_usable(key)]
    among = set(could)
    return next((unit.revision_key for unit in ranked if unit.revision_key in among), could[0] if could else None)
