"""How does a test make units that contradict each other, and ask what comes of it?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from evidence.authority_rules import NO_RULES, AuthorityRule, AuthorityRules
from evidence.conflict import Conflicted, find_conflicts
from evidence.eligibility import Eligibility
from evidence.envelope import Candidate, RetrievalTrace, locate_claims
from evidence.identity import Namespace, RevisionKey, UnitKey
from evidence.revision import Claim, ConflictSide, Contradiction, RevisionFacts
from evidence.snapshot import Snapshot
from tests.builders import BLUE, revision, snapshot, unit

NOT_RANKED = RetrievalTrace(ranks={}, scores={})
MANUFACTURER_FIRST = AuthorityRule(
    name="manufacturer-first", family=None, claim_key=None, order=("manufacturer", "dealer", "forum")
)


def facts_of(
    source_id: str,
    *,
    claims: Iterable[tuple[str, str, str]] = (),
    contradicts: Iterable[Contradiction] = (),
    authority: str = "",
    owner: str = "",
    family: str = "",
    namespace: str = BLUE,
) -> RevisionFacts:
    """Facts of a revision. `claims`: key, value and quote of each."""
    made = tuple(Claim(key=key, value=value, quote=quote) for key, value, quote in claims)
    plain = revision(source_id, contradicts=contradicts, owner=owner, family=family, namespace=namespace)
    return replace(plain, claims=made, authority=authority)


def passages(facts: RevisionFacts, *texts: str) -> tuple[Candidate, ...]:
    """The units of a revision whose text is `texts` put together. None of them was ranked."""
    whole, found, start = "".join(texts), [], 0
    located = locate_claims(facts.claims, text=whole)
    for ordinal, text in enumerate(texts):
        end = start + len(text)
        claims = located.owned_by(start, end)
        passage = unit(facts.key, text, ordinal=ordinal, start=start)
        found.append(Candidate(unit=passage, facts=facts, claims=claims, trace=NOT_RANKED))
        start = end
    return tuple(found)


def saying(
    source_id: str,
    *values: str,
    key: str = "max",
    contradicts: Iterable[Contradiction] = (),
    authority: str = "",
    owner: str = "",
    family: str = "",
    namespace: str = BLUE,
) -> Candidate:
    """The only unit of a source; it makes the claim `key` with each of these values."""
    facts = facts_of(
        source_id,
        claims=[(key, value, value) for value in values],
        contradicts=contradicts,
        authority=authority,
        owner=owner,
        family=family,
        namespace=namespace,
    )
    return passages(facts, f"{source_id} says {' and '.join(values)}")[0]


def contradicting(
    source_id: str, *, here: ConflictSide | None = None, there: ConflictSide | None = None, namespace: str = BLUE
) -> Contradiction:
    return Contradiction(namespace=Namespace(namespace), source_id=source_id, here=here, there=there)


def rules(
    *of: AuthorityRule, family_owners: Mapping[str, str] | None = None, name: str = "house", version: str = "3"
) -> AuthorityRules:
    return AuthorityRules(name=name, version=version, family_owners=family_owners or {}, rules=of)


def keys(candidates: Iterable[Candidate]) -> list[UnitKey]:
    return [candidate.unit.key for candidate in candidates]


def named(units: Iterable[UnitKey]) -> list[str]:
    """Units as `source#ordinal`, in the order given."""
    return [f"{key.source_id}#{key.ordinal}" for key in units]


def seen(
    candidates: Iterable[Candidate], *, beside: Iterable[RevisionFacts] = (), asked: Eligibility | None = None
) -> Snapshot:
    """What the caller sees of a catalog that holds these units, and revisions without one."""
    counts: dict[RevisionKey, int] = {}
    facts: dict[RevisionKey, RevisionFacts] = {}
    for candidate in candidates:
        facts[candidate.facts.key] = candidate.facts
        counts[candidate.facts.key] = counts.get(candidate.facts.key, 0) + 1
    return snapshot([*facts.values(), *beside], asked=asked, units=counts)


def conflicts(
    selection: Sequence[Candidate],
    *others: Candidate,
    ranked: Sequence[UnitKey] | None = None,
    by: AuthorityRules = NO_RULES,
    asked: Eligibility | None = None,
) -> Conflicted:
    """The conflicts of a selection in a catalog that also holds `others`. Ranked is the selection, unless said."""
    everything = [*selection, *others]

    def units_of(revision_key: RevisionKey) -> list[Candidate]:
        found = [
            replace(candidate, trace=NOT_RANKED) for candidate in everything if candidate.facts.key == revision_key
        ]
        return sorted(found, key=lambda candidate: candidate.unit.key)

    return find_conflicts(
        tuple(selection),
        ranked=keys(selection) if ranked is None else ranked,
        snapshot=seen(everything, asked=asked),
        units_of=units_of,
        rules=by,
    )


def groups(conflicted: Conflicted) -> list[list[str]]:
    """The members of each group."""
    return [named(group.members) for group in conflicted.groups]
