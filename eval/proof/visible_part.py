"""What of a catalog exists for one principal, by rules of its own? (pure)

Useful where the code that decides what a caller sees is itself on trial: nothing here is shared with it
(`evidence/access.py`, `evidence/eligibility.py`, `evidence/grants.py`), so that a fault there is a difference and not
on both sides. Not useful for answering anybody.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from evidence.access import Principal
from evidence.grants import Dimension, Grant, Revocations, Subject
from evidence.identity import PUBLIC, RevisionKey
from evidence.revision import RevisionFacts


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
    if any(isinstance(one, Subject) for one in taken):
        return []
    held = {
        Dimension.ROLE: {*principal.roles, f"user:{principal.sub}"},
        Dimension.PURPOSE: set(principal.purposes),
        Dimension.REGION: set(principal.regions),
        Dimension.CASE: set(principal.cases),
        Dimension.SCOPE: set(principal.scope),
    }
    for grant in taken:
        if isinstance(grant, Grant):
            held[grant.dimension].discard(grant.value)
    held[Dimension.PURPOSE] &= {view.purpose}  # for this one alone; with None nothing that asks for a purpose
    own = PUBLIC if principal.tenant is None else principal.tenant
    reads_drafts = view.drafts and "ingest" in held[Dimension.SCOPE]
    return [
        facts.key
        for facts in catalog
        if facts.key.namespace in (PUBLIC, own)
        and all(not asked or asked & held[dimension] for dimension, asked in _restrictions(facts))
        and (facts.is_published or (reads_drafts and facts.key.namespace == own))
    ]


def revoked_from(principal: Principal, revocations: Revocations) -> list[Subject | Grant]:
    """What was taken from this principal, everywhere or in its own namespace; in a stated order."""
    spaces = (None, PUBLIC if principal.tenant is None else principal.tenant)
    subjects = [one for one in revocations.subjects if one.sub == principal.sub and one.namespace in spaces]
    grants = [one for one in revocations.grants if one.subject == principal.sub and one.namespace in spaces]
    return [*sorted(subjects, key=str), *sorted(grants, key=str)]


def _restrictions(facts: RevisionFacts) -> list[tuple[Dimension, set[str]]]:
    label = facts.label
    return [
        (Dimension.ROLE, set(label.roles)),
        (Dimension.PURPOSE, set(label.purposes)),
        (Dimension.REGION, set(label.regions)),
        (Dimension.CASE, set(label.cases)),
    ]
