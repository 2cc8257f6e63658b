"""What of a catalog exists for one principal, by rules of its own? (pure)

By `evidence/second_opinion.py`, since the rules that decide what a caller is served are on trial here: a fault in them
is then a difference, and not on both sides.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from evidence.access import Principal
from evidence.grants import Grant, Revocations, Subject
from evidence.identity import PUBLIC, RevisionKey
from evidence.revision import RevisionFacts
from evidence.second_opinion import exists_for, held_by


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What visibility depends on besides the principal. drafts: whether the request says `use: draft`."""

    purpose: str | None
    drafts: bool


def visible_part(
    catalog: Iterable[RevisionFacts], principal: Principal, *, revoked: Iterable[Subject | Grant], view: View
) -> list[RevisionKey]:
    """The revisions that exist for `principal`, in the order given. `revoked`: what was taken from it."""
    taken = list(revoked)
    revocations = Revocations(
        subjects=frozenset(one for one in taken if isinstance(one, Subject)),
        grants=frozenset(one for one in taken if isinstance(one, Grant)),
    )
    held = held_by(principal, revocations=revocations, purpose=view.purpose, drafts=view.drafts)
    return [] if held is None else [facts.key for facts in catalog if exists_for(facts, held)]


def revoked_from(principal: Principal, revocations: Revocations) -> list[Subject | Grant]:
    """What was taken from this principal, everywhere or in its own namespace; in a stated order."""
    spaces = (None, PUBLIC if principal.tenant is None else principal.tenant)
    subjects = [one for one in revocations.subjects if one.sub == principal.sub and one.namespace in spaces]
    grants = [one for one in revocations.grants if one.subject == principal.sub and one.namespace in spaces]
    return [*sorted(subjects, key=str), *sorted(grants, key=str)]
