"""What did this caller's catalog hold when the question was asked? (pure)

Only visible revisions come in here, so that nothing made from a snapshot can tell of anything else (R6, R8).
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from evidence.canonical import Json
from evidence.claim_value import plain_value
from evidence.eligibility import Eligibility, Standing, Validity, superseders
from evidence.identity import Namespace, RevisionKey, SourceKey
from evidence.revision import RevisionFacts

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """Every visible revision, and where to find one by name. Made once per scope; the same for every request in it.

    Each tuple of keys is in key order.
    """

    facts: Mapping[RevisionKey, RevisionFacts]
    by_source: Mapping[SourceKey, tuple[RevisionKey, ...]]
    by_family: Mapping[str, tuple[RevisionKey, ...]]
    by_claim: Mapping[str, tuple[RevisionKey, ...]]  # claim key -> the revisions that make the claim
    disputed_claims: frozenset[str]  # claim keys that are claimed with more than one value
    superseders: Mapping[RevisionKey, frozenset[RevisionKey]]  # a revision -> the visible ones that supersede it
    contradicted_by: Mapping[SourceKey, tuple[RevisionKey, ...]]  # a source -> the revisions that contradict it


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What one request sees: the visible catalog, and how each revision in it stands towards the request.

    epoch: a digest of everything the scope depends on (R5).
    recipe: the index recipe's record; recipe_digest: its digest.
    unit_counts: how many units each visible revision has; a revision that is missing here has none.
    usable_units: how many units all usable revisions have together.
    """

    eligibility: Eligibility
    validity: Validity
    catalog_version: str
    epoch: str
    recipe: Mapping[str, Json]
    recipe_digest: str
    visible: Visible
    standings: Mapping[RevisionKey, Standing]
    unit_counts: Mapping[RevisionKey, int]
    usable_units: int

    def is_usable(self, key: RevisionKey) -> bool:
        return self.standings.get(key) is Standing.USABLE

    def is_stale(self, key: RevisionKey) -> bool:
        """Whether the revision is visible and out of date, or revoked.

        One that the caller's own filter or subject leaves out is unusable too, but not for its age: it is no
        stale evidence.
        """
        return self.standings.get(key) in (Standing.STALE, Standing.REVOKED)


def index_visible(facts: Iterable[RevisionFacts]) -> Visible:
    """The lookup tables over every visible revision. `facts` must hold each of them once, in any order."""
    ordered = sorted(facts, key=lambda revision: revision.key)
    return Visible(
        facts={revision.key: revision for revision in ordered},
        by_source=_grouped((revision.key.source, revision.key) for revision in ordered),
        by_family=_grouped((revision.family, revision.key) for revision in ordered if revision.family),
        by_claim=_grouped(
            (claim_key, revision.key)
            for revision in ordered
            for claim_key in sorted({claim.key for claim in revision.claims})
        ),
        disputed_claims=_disputed(ordered),
        superseders=superseders(ordered),
        contradicted_by=_grouped((target, revision.key) for revision in ordered for target in _contradicted(revision)),
    )


def _contradicted(facts: RevisionFacts) -> list[SourceKey]:
    return sorted({SourceKey(Namespace(relation.namespace), relation.source_id) for relation in facts.contradicts})


def _disputed(facts: Iterable[RevisionFacts]) -> frozenset[str]:
    values: dict[str, set[str]] = {}
    for revision in facts:
        for claim in revision.claims:
            values.setdefault(claim.key, set()).add(plain_value(claim.value))
    return frozenset(key for key, claimed in values.items() if len(claimed) > 1)


def _grouped(pairs: Iterable[tuple[Name, RevisionKey]]) -> dict[Name, tuple[RevisionKey, ...]]:
    groups: dict[Name, list[RevisionKey]] = {}
    for name, key in pairs:
        groups.setdefault(name, []).append(key)
    return {name: tuple(keys) for name, keys in groups.items()}
