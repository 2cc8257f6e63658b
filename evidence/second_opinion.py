"""Does a revision exist for a principal, by a second set of rules? (pure)

Written apart from the rules that serve (`access`, `grants`, `eligibility`) and sharing no code with them, so that a
fault in one of the two shows. Useful for looking through a finished answer, and for building the catalog of what one
principal may see. Not useful for answering anybody, nor for whether what exists may be used now.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evidence.access import Principal
from evidence.grants import Dimension, Grant, Revocations, Subject, Token
from evidence.identity import PUBLIC, Namespace
from evidence.revision import RevisionFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a principal holds for one purpose. own: its namespace. drafts: whether it reads those of its own."""

    own: Namespace
    values: Mapping[Dimension, frozenset[str]]
    drafts: bool


def held_by(principal: Principal, *, revocations: Revocations, purpose: str | None, drafts: bool) -> Held | None:
    """What is left of `principal`; None where its subject or token was revoked. revocations: of anybody's.

    purpose: the one asked for; of a purpose that is not held nothing is left. drafts: whether they are asked for.
    """
    own = PUBLIC if principal.tenant is None else Namespace(principal.tenant)
    spaces = (None, own)
    if any(Subject(space, principal.sub) in revocations.subjects for space in spaces):
        return None
    if any(Token(space, principal.token_id or "") in revocations.token_ids for space in spaces):
        return None
    values = {
        dimension: frozenset(
            value
            for value in granted
            if all(Grant(space, principal.sub, dimension, value) not in revocations.grants for space in spaces)
        )
        for dimension, granted in _granted(principal).items()
    }
    values[Dimension.PURPOSE] &= {purpose}
    return Held(own=own, values=values, drafts=drafts and "ingest" in values[Dimension.SCOPE])


def exists_for(facts: RevisionFacts, held: Held) -> bool:
    """Whether whoever holds this may know of the revision."""
    if facts.key.namespace not in (PUBLIC, held.own):
        return False
    if not facts.is_published and not (held.drafts and facts.key.namespace == held.own):
        return False
    label = facts.label
    asked = {
        Dimension.ROLE: label.roles,
        Dimension.PURPOSE: label.purposes,
        Dimension.REGION: label.regions,
        Dimension.CASE: label.cases,
    }
    return all(not wanted or held.values[dimension].intersection(wanted) for dimension, wanted in asked.items())


def _granted(principal: Principal) -> dict[Dimension, tuple[str, ...]]:
    personal = (f"user:{principal.sub}",) if principal.personal else ()
    return {
        Dimension.ROLE: (*principal.roles, *personal),
        Dimension.PURPOSE: principal.purposes,
        Dimension.REGION: principal.regions,
        Dimension.CASE: principal.cases,
        Dimension.SCOPE: principal.scope,
    }
