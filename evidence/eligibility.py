"""Which visible revisions may be used, for this use, at this moment? (pure)

The one eligibility object every channel, route and endpoint takes (R2). Visibility (label, purpose, draft) comes
first and alone decides which revisions exist for this caller; usability (status, time, currency, subject, filter)
is judged over the visible ones only, so that nothing invisible can change the outcome (R4, R6, R8).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from evidence.access import Scope, admits
from evidence.canonical import Json, digest
from evidence.identity import RevisionKey, SourceKey
from evidence.instant import Instant, format_instant
from evidence.revision import RevisionFacts, Status

_ALWAYS_BEFORE = Instant(-(2**62))
_ALWAYS_AFTER = Instant(2**62)


class Use(StrEnum):
    """What the caller wants evidence for (R4)."""

    CURRENT = "current"
    HISTORICAL = "historical"
    DRAFT = "draft"  # the caller's own namespace's drafts beside current use; needs scope `ingest` (R3)


class Standing(StrEnum):
    """How a visible revision stands towards one request."""

    USABLE = "usable"
    STALE = "stale"  # out of its interval, superseded, or no longer current
    REVOKED = "revoked"
    INAPPLICABLE = "inapplicable"  # another subject
    FILTERED = "filtered"  # the caller's own filter leaves it out


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The caller's typed filter: any-of per field, all fields together. An empty tuple matches nothing (R3)."""

    family: tuple[str, ...] | None = None
    source_id: tuple[str, ...] | None = None
    owner: tuple[str, ...] | None = None
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (field, allowed values), sorted by field

    def record(self) -> dict[str, Json]:
        """The filter as a canonical record; fields that were not given are left out."""
        given: dict[str, Json] = {
            name: values
            for name, values in (("family", self.family), ("source_id", self.source_id), ("owner", self.owner))
            if values is not None
        }
        if self.metadata:
            given["metadata"] = dict(self.metadata)
        return given

    def matches(self, facts: RevisionFacts) -> bool:
        """Whether a revision passes. A metadata list passes when any of its values does."""
        if self.family is not None and facts.family not in self.family:
            return False
        if self.source_id is not None and facts.key.source_id not in self.source_id:
            return False
        if self.owner is not None and facts.owner not in self.owner:
            return False
        if not self.metadata:
            return True
        held = json.loads(facts.metadata)
        return all(not _as_texts(held.get(name)).isdisjoint(allowed) for name, allowed in self.metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """Who may use what, when and for what. `at` is the moment judged: `as_of` when it was given, else now.

    Never hash or show `at` where `as_of` is None: answers carry the `valid` interval instead (R30).
    """

    scope: Scope
    use: Use
    at: Instant
    as_of: Instant | None
    subject: str | None
    filter: Filter

    def record(self) -> dict[str, Json]:
        """What the request asked for, without the clock."""
        return {
            "scope": self.scope.record(),
            "use": self.use.value,
            "as_of": None if self.as_of is None else format_instant(self.as_of),
            "subject": self.subject,
            "filter": self.filter.record(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """The interval `[start, end)` around now in which no visible revision starts or stops being effective."""

    start: Instant | None
    end: Instant | None

    def record(self) -> list[Json]:
        return [None if edge is None else format_instant(edge) for edge in (self.start, self.end)]


def is_visible(facts: RevisionFacts, *, scope: Scope, use: Use) -> bool:
    """Whether the revision exists for this caller. A draft does only under `use: draft`, with scope `ingest`,
    in the caller's own namespace (R3); one that was revoked as a draft exists for the same callers and no others."""
    if not admits(facts.label, scope):
        return False
    if facts.is_published:
        return True
    principal = scope.principal
    return use is Use.DRAFT and "ingest" in principal.scope and facts.key.namespace == principal.namespace


def judge(visible: Iterable[RevisionFacts], eligibility: Eligibility) -> dict[RevisionKey, Standing]:
    """How each visible revision stands. `visible` must hold every visible revision and nothing else.

    Current use: status `current`, effective at `at`, and no newer effective revision of the same source and no
    superseder that has begun among the visible ones. With `as_of`: the same at that moment, whatever the status is now.
    Historical use without `as_of`: interval, status and currency are waived. Revoked is never usable.
    A revoked or draft revision makes no other one stale.
    """
    revisions = list(visible)
    stale = _not_current(revisions, eligibility.at)
    waived = eligibility.use is Use.HISTORICAL and eligibility.as_of is None
    standings: dict[RevisionKey, Standing] = {}
    for facts in revisions:
        if facts.status is Status.REVOKED:
            standing = Standing.REVOKED
        elif not waived and _is_stale(facts, eligibility, stale):
            standing = Standing.STALE
        elif eligibility.subject is not None and facts.applies_to and eligibility.subject not in facts.applies_to:
            standing = Standing.INAPPLICABLE
        elif not eligibility.filter.matches(facts):
            standing = Standing.FILTERED
        else:
            standing = Standing.USABLE
        standings[facts.key] = standing
    return standings


def validity(visible: Iterable[RevisionFacts], *, at: Instant) -> Validity:
    """The interval around `at` between the nearest effective-time edges of the visible revisions."""
    edges = {edge for facts in visible for edge in (facts.effective_from, facts.effective_to) if edge is not None}
    return Validity(
        start=max((edge for edge in edges if edge <= at), default=None),
        end=min((edge for edge in edges if edge > at), default=None),
    )


def catalog_version(visible: Iterable[RevisionFacts]) -> str:
    """A digest of everything visible: facts, text digests, labels, relations (R29).

    Equal for any order and for rebuilt and incremental catalogs. Drafts count only where they are visible.
    """
    return digest(sorted([*facts.key, facts.digest] for facts in visible))


def superseders(visible: Iterable[RevisionFacts]) -> Mapping[RevisionKey, frozenset[RevisionKey]]:
    """Which visible revisions declare that they supersede a given one."""
    found: dict[RevisionKey, set[RevisionKey]] = {}
    for facts in visible:
        for target in facts.supersedes:
            found.setdefault(target, set()).add(facts.key)
    return {target: frozenset(by) for target, by in found.items()}


def _is_stale(facts: RevisionFacts, eligibility: Eligibility, not_current: frozenset[RevisionKey]) -> bool:
    if not _effective(facts, eligibility.at) or facts.key in not_current:
        return True
    return eligibility.as_of is None and facts.status is Status.SUPERSEDED


def _not_current(revisions: list[RevisionFacts], at: Instant) -> frozenset[RevisionKey]:
    """The revisions that a newer effective one of the same source, or a superseder, displaces.

    A superseder counts from its start on, also when it has ended: what it replaced does not come back by itself.
    """
    published = [facts for facts in revisions if facts.status in (Status.CURRENT, Status.SUPERSEDED)]
    newest: dict[SourceKey, RevisionFacts] = {}
    for facts in published:
        if not _effective(facts, at):
            continue
        held = newest.get(facts.key.source)
        if held is None or _age(facts) > _age(held):
            newest[facts.key.source] = facts
    superseded = {target for facts in published if _start(facts) <= at for target in facts.supersedes}
    return frozenset(
        facts.key
        for facts in revisions
        if facts.key in superseded
        or (facts.status is not Status.DRAFT and _is_older(facts, newest.get(facts.key.source)))
    )


def _is_older(facts: RevisionFacts, newest: RevisionFacts | None) -> bool:
    return newest is not None and newest.key != facts.key and _age(newest) > _age(facts)


def _age(facts: RevisionFacts) -> tuple[Instant, str]:
    """Newer is the later `effective_from`, then the greater revision by code point (R4)."""
    return (_start(facts), facts.key.revision)


def _start(facts: RevisionFacts) -> Instant:
    return _ALWAYS_BEFORE if facts.effective_from is None else facts.effective_from


def _effective(facts: RevisionFacts, at: Instant) -> bool:
    end = _ALWAYS_AFTER if facts.effective_to is None else facts.effective_to
    return _start(facts) <= at < end


def _as_texts(value: object) -> frozenset[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return frozenset(("true" if item else "false") if isinstance(item, bool) else str(item) for item in values)
