"""Tests of `evidence/standing_reasons.py`: R4, told to an operator."""

import random

from evidence.eligibility import Filter, Standing, Use, judge
from evidence.revision import RevisionFacts, Status
from evidence.standing_reasons import standing_reasons
from tests.builders import eligibility, instant, principal, revision, revision_key

DAYS = ("2024-01-01", "2025-01-01", "2025-06-01", "2026-01-01")


def reasons(facts: RevisionFacts, *others: RevisionFacts, **asked: object) -> list[str]:
    request = eligibility(**asked)  # type: ignore[arg-type]  # each test names the facts of its request
    visible = [facts, *others]
    return standing_reasons(facts, judge(visible, request)[facts.key], visible=visible, eligibility=request)


def test_a_usable_revision_has_none() -> None:
    assert reasons(revision("A")) == []


def test_an_interval_that_has_not_begun_or_is_over_is_named() -> None:
    """R4: the interval is half-open, so that a revision ends on its last moment."""
    assert reasons(revision("A", effective_from="2025-06-02")) == ["is effective from 2025-06-02T00:00:00Z on"]
    assert reasons(revision("A", effective_to="2025-06-01")) == ["was effective until 2025-06-01T00:00:00Z"]


def test_every_reason_is_named() -> None:
    old = revision("A", "1", status=Status.SUPERSEDED, effective_to="2025-01-01")
    new = revision("A", "2", effective_from="2025-01-01", supersedes=[old.key])

    assert reasons(old, new) == [
        "was effective until 2025-01-01T00:00:00Z",
        "its publisher marks it as superseded",
        "is superseded by blue/A@2",
        "blue/A@2 is newer",
    ]


def test_the_newest_of_several_newer_revisions_is_named() -> None:
    newer = [revision("A", number, effective_from=day) for number, day in (("9", "2025-01-01"), ("2", "2025-02-01"))]

    assert reasons(revision("A", "1"), *newer) == ["blue/A@2 is newer"]


def test_what_is_not_yet_effective_displaces_nothing() -> None:
    later = revision("A", "2", effective_from="2026-01-01", supersedes=[revision_key("A")])

    assert reasons(revision("A"), later) == []


def test_what_displaces_nothing_is_no_reason_for_what_is_stale_anyway() -> None:
    over = revision("A", "1", effective_to="2025-01-01")
    draft = revision("A", "0", effective_to="2025-01-01", status=Status.DRAFT)
    ended = revision("A", "2", effective_to="2025-02-01")
    to_come = revision("A", "3", effective_from="2026-01-01", supersedes=[over.key])
    author = principal(scope=("ingest",))

    assert reasons(over, ended, to_come) == ["was effective until 2025-01-01T00:00:00Z"]
    assert reasons(draft, revision("A", "4"), who=author, use=Use.DRAFT) == ["was effective until 2025-01-01T00:00:00Z"]


def test_the_publisher_s_word_of_today_is_no_reason_at_a_moment_of_the_past() -> None:
    """R4: whatever its status now."""
    superseded = revision("A", status=Status.SUPERSEDED, effective_from="2025-03-01")

    assert reasons(superseded, as_of=instant("2025-02-01")) == ["is effective from 2025-03-01T00:00:00Z on"]


def test_revoked_inapplicable_and_filtered_revisions_say_so() -> None:
    assert reasons(revision("A", status=Status.REVOKED)) == ["was revoked"]
    assert reasons(revision("A", applies_to=["k1", "k2"]), subject="k3") == ["applies to k1, k2, and the subject is k3"]
    assert reasons(revision("A"), only=Filter(family=())) == ["the request's own filter leaves it out"]


def test_there_is_a_reason_exactly_where_the_revision_may_not_be_used() -> None:
    """A property over random catalogs: what this module finds is what `judge` decided by."""
    chance = random.Random(7)
    for _ in range(2000):
        visible = _random_catalog(chance)
        as_of = chance.choice([None, instant("2025-02-01")])
        asked = eligibility(use=chance.choice([Use.CURRENT, Use.HISTORICAL]), as_of=as_of)
        standings = judge(visible, asked)
        for facts in visible:
            standing = standings[facts.key]
            found = standing_reasons(facts, standing, visible=visible, eligibility=asked)
            assert bool(found) is (standing is not Standing.USABLE)


def _random_catalog(chance: random.Random) -> list[RevisionFacts]:
    keys = [revision_key(source_id, number) for source_id in "AB" for number in "123"]
    return [
        revision(
            key.source_id,
            key.revision,
            status=chance.choice(list(Status)),
            effective_from=chance.choice([None, *DAYS[:2]]),
            effective_to=chance.choice([None, None, *DAYS[2:]]),
            supersedes=chance.sample([other for other in keys if other != key], k=chance.choice([0, 0, 1])),
        )
        for key in keys
        if chance.random() < 0.8
    ]
