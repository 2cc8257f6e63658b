"""Why does a visible revision stand as it does towards a request? (pure)

Useful to an operator who asks why something is missing. Not useful for deciding: `eligibility.judge` decides, and this
finds for each of its verdicts the facts that led to it.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never

from evidence.eligibility import Eligibility, Standing
from evidence.identity import RevisionKey
from evidence.instant import Instant, format_instant
from evidence.revision import RevisionFacts, Status

_PUBLISHED = (Status.CURRENT, Status.SUPERSEDED)


def standing_reasons(
    facts: RevisionFacts, standing: Standing, *, visible: Iterable[RevisionFacts], eligibility: Eligibility
) -> list[str]:
    """One line for each fact that keeps the revision from being used, in a fixed order; none when it is usable.

    standing: what `judge` said of it. visible: every visible revision, in any order.
    """
    match standing:
        case Standing.USABLE:
            return []
        case Standing.STALE:
            return [*_reasons_of_its_own(facts, eligibility), *_displaced_by(facts, visible, eligibility.at)]
        case Standing.REVOKED:
            return ["was revoked"]
        case Standing.INAPPLICABLE:
            return [f"applies to {', '.join(facts.applies_to)}, and the subject is {eligibility.subject}"]
        case Standing.FILTERED:
            return ["the request's own filter leaves it out"]
        case _:
            assert_never(standing)


def _reasons_of_its_own(facts: RevisionFacts, eligibility: Eligibility) -> Iterator[str]:
    if facts.effective_from is not None and facts.effective_from > eligibility.at:
        yield f"is effective from {format_instant(facts.effective_from)} on"
    if facts.effective_to is not None and facts.effective_to <= eligibility.at:
        yield f"was effective until {format_instant(facts.effective_to)}"
    if facts.status is Status.SUPERSEDED and eligibility.as_of is None:
        yield "its publisher marks it as superseded"


def _displaced_by(facts: RevisionFacts, visible: Iterable[RevisionFacts], at: Instant) -> list[str]:
    """The superseders that have begun, then the newest revision of the same source where that is another one."""
    published = sorted((other for other in visible if other.status in _PUBLISHED), key=lambda other: other.key)
    found = [
        f"is superseded by {_named(other.key)}"
        for other in published
        if facts.key in other.supersedes and (other.effective_from is None or other.effective_from <= at)
    ]
    newer = [
        other
        for other in published
        if other.key.source == facts.key.source and _is_effective(other, at) and _age(other) > _age(facts)
    ]
    if newer and facts.status is not Status.DRAFT:
        found.append(f"{_named(max(newer, key=_age).key)} is newer")
    return found


def _age(facts: RevisionFacts) -> tuple[bool, int, str]:
    """Newer is the later start, an open one being the earliest, then the greater revision by code point (R4)."""
    return (facts.effective_from is not None, facts.effective_from or 0, facts.key.revision)


def _is_effective(facts: RevisionFacts, at: Instant) -> bool:
    begun = facts.effective_from is None or facts.effective_from <= at
    return begun and (facts.effective_to is None or at < facts.effective_to)


def _named(key: RevisionKey) -> str:
    return f"{key.namespace}/{key.source_id}@{key.revision}"
