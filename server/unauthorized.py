"""Which of the things that a request named exactly are there, and not for its caller to see?

Looked up by exact name, over everything that the catalog holds, after the answer has left: the one exception to the
rule that nothing ineligible is touched (R7, R2). What is found goes into the sealed record and nowhere else. A draft
is never found, nor one that was revoked as a draft: it is not published, which is another matter than whom it is for
(R3).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evidence.access import Scope, admits
from evidence.canonical import Json
from evidence.claim_value import same_value
from evidence.eligibility import Eligibility
from evidence.identity import PUBLIC, RevisionKey, SourceKey
from evidence.request import PacketRequest
from evidence.requirements import ClaimMatch, FamilyMatch, Match, Requirement, SourceMatch, UnitMatch
from evidence.revision import RevisionFacts
from evidence.sealed import Finding
from evidence.state import RoleState
from index.catalog_read import Reading
from index.exact_lookup import revisions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedExactly:
    """What a request named, where its answer left a question open. No source is named twice."""

    requirements: tuple[Requirement, ...]
    sources: tuple[SourceKey, ...]
    handles: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.requirements or self.sources or self.handles)


def named_exactly(request: PacketRequest, eligibility: Eligibility, role_states: Mapping[str, str]) -> NamedExactly:
    """What is worth looking up: the roles that the answer left unfilled, the source, those of the filter, the handles.

    A filter says no namespace: each of its ids names a source of the caller's own and a public one.
    """
    own = eligibility.scope.principal.namespace
    filtered = [
        SourceKey(namespace, source_id)
        for source_id in eligibility.filter.source_id or ()
        for namespace in (own, PUBLIC)
    ]
    filled = {name for name, state in role_states.items() if state == RoleState.FILLED}
    return NamedExactly(
        requirements=tuple(requirement for requirement in request.requirements if requirement.role not in filled),
        sources=tuple(dict.fromkeys([*(() if request.source is None else (request.source,)), *filtered])),
        handles=tuple(sorted(request.handles())),
    )


def find_unauthorized(named: NamedExactly, *, scope: Scope, reading: Reading) -> tuple[Finding, ...]:
    """What is there and invisible in `scope`: the requirements in their order, then the sources, then the handles.

    A claim key or a family costs one pass over the facts of all revisions; a source and a unit one lookup
    each, all handles together one for each batch of them.
    """
    found = [
        _finding(requirement.role, requirement.match.record(), _matching(requirement.match, reading), scope)
        for requirement in named.requirements
    ]
    for source in named.sources:
        asked: dict[str, Json] = {"source_id": source.source_id, "public": source.namespace == PUBLIC}
        found.append(_finding(None, asked, _facts(reading, revisions_of(reading, source)), scope))
    units = reading.units_by_handles(named.handles)
    for handle in named.handles:
        keys = (unit.key.revision_key for unit in units.get(handle, ()))
        found.append(_finding(None, {"handle": handle}, _facts(reading, keys), scope))
    return tuple(finding for finding in found if finding is not None)


def _matching(match: Match, reading: Reading) -> Iterator[RevisionFacts]:
    """Every revision that holds what would fill a role with this match."""
    held = reading.holdings
    match match:
        case ClaimMatch():
            return (facts for facts in held.facts.values() if facts.claims and _claims(facts, match))
        case FamilyMatch():
            return (facts for facts in held.facts.values() if match.family != "" and facts.family == match.family)
        case SourceMatch():
            return _facts(reading, revisions_of(reading, match.source))
        case UnitMatch():
            unit = match.key
            there = unit is not None and unit.ordinal < held.unit_counts.get(unit.revision_key, 0)
            return _facts(reading, [unit.revision_key] if unit is not None and there else [])


def _claims(facts: RevisionFacts, match: ClaimMatch) -> bool:
    return any(
        claim.key == match.key and (match.value is None or same_value(claim.value, match.value))
        for claim in facts.claims
    )


def _facts(reading: Reading, keys: Iterable[RevisionKey]) -> Iterator[RevisionFacts]:
    held = reading.holdings.facts
    return (held[key] for key in keys)


def _finding(
    role: str | None, named: Mapping[str, Json], there: Iterable[RevisionFacts], scope: Scope
) -> Finding | None:
    """What to say of the revisions that are there under one name; None when the caller may see all of them."""
    hidden = {facts.key.namespace for facts in there if facts.is_published and not admits(facts.label, scope)}
    return Finding(role=role, named=named, namespaces=tuple(sorted(hidden))) if hidden else None
