"""Which visible revisions may be used: now, as of a moment, for history, as drafts."""

import pytest

from evidence.access import Scope
from evidence.eligibility import Standing, Use, is_visible
from evidence.instant import Instant
from evidence.revision import Status
from tests.builders import BLUE, RED, eligibility, instant, label, principal, revision, revision_key
from tests.evidence.standings import standing, usable

# Current use


def test_a_current_revision_without_an_interval_is_usable() -> None:
    assert standing(revision("A")) is Standing.USABLE


def test_the_interval_holds_its_start_and_not_its_end() -> None:
    """R4: `[from, to)`. Now is 2025-06-01T00:00:00Z."""
    assert standing(revision("A", effective_from="2025-06-01")) is Standing.USABLE
    assert standing(revision("A", effective_from="2025-06-02")) is Standing.STALE
    assert standing(revision("A", effective_to="2025-06-01")) is Standing.STALE
    assert standing(revision("A", effective_to="2025-06-02")) is Standing.USABLE


def test_a_revision_that_its_publisher_calls_superseded_is_stale_for_current_use() -> None:
    """R4."""
    assert standing(revision("A", status=Status.SUPERSEDED)) is Standing.STALE


def test_a_newer_effective_revision_of_the_same_source_makes_the_older_one_stale() -> None:
    """R4: newer is the later `effective_from`; the numbers play no part where the dates differ."""
    older = revision("A", "9", effective_from="2024-01-01")
    newer = revision("A", "1", effective_from="2025-01-01")

    assert usable([older, newer]) == ["A@1"]


def test_between_equal_dates_the_revision_that_is_greater_by_code_point_is_newer() -> None:
    """R4: `9` comes after `10`."""
    assert usable([revision("A", "9"), revision("A", "10")]) == ["A@9"]


def test_a_revision_without_a_start_is_older_than_one_with_a_start() -> None:
    assert usable([revision("A", "2"), revision("A", "1", effective_from="2024-01-01")]) == ["A@1"]


def test_a_newer_revision_that_is_not_effective_yet_displaces_nothing() -> None:
    """R4."""
    assert usable([revision("A", "1"), revision("A", "2", effective_from="2025-06-02")]) == ["A@1"]


def test_a_newer_revision_that_has_ended_leaves_the_older_one_current() -> None:
    older = revision("A", "1", effective_from="2024-01-01")
    ended = revision("A", "2", effective_from="2025-01-01", effective_to="2025-05-31")

    assert usable([older, ended]) == ["A@1"]


def test_a_newer_revision_that_is_superseded_itself_still_displaces_the_older_one() -> None:
    assert usable([revision("A", "1"), revision("A", "2", status=Status.SUPERSEDED)]) == []


def test_a_visible_superseder_makes_a_revision_of_another_source_stale() -> None:
    """R4."""
    superseded = revision("A", "2")
    superseder = revision("B", "7", supersedes=[revision_key("A", "2")])

    assert usable([superseded, superseder]) == ["B@7"]


def test_a_superseder_that_is_not_effective_yet_displaces_nothing() -> None:
    superseder = revision("B", effective_from="2025-06-02", supersedes=[revision_key("A")])

    assert usable([revision("A"), superseder]) == ["A@1"]


def test_what_was_superseded_does_not_come_back_when_its_superseder_ends() -> None:
    """R4: a visible superseder, effective or ended."""
    old = revision("A")
    ended = revision("B", effective_to="2025-05-01", supersedes=[revision_key("A")])

    assert usable([old, ended]) == []


def test_only_the_revision_that_is_named_is_superseded() -> None:
    superseder = revision("B", supersedes=[revision_key("A", "1")])

    assert usable([revision("A", "2"), superseder]) == ["A@2", "B@1"]


def test_a_superseder_means_the_source_of_its_namespace_only() -> None:
    superseder = revision("B", supersedes=[revision_key("A", namespace="public")])

    assert usable([revision("A"), superseder]) == ["A@1", "B@1"]


def test_the_same_source_id_in_two_namespaces_is_two_sources() -> None:
    """A newer public revision does not displace the tenant's own."""
    own = revision("A", "1")
    public = revision("A", "2", namespace="public", effective_from="2025-01-01")

    assert usable([own, public]) == ["A@1", "A@2"]


@pytest.mark.parametrize("status", [Status.REVOKED, Status.DRAFT])
def test_a_revoked_or_a_draft_revision_makes_no_other_one_stale(status: Status) -> None:
    """R3, R4: no other answer depends on a draft."""
    newer = revision("A", "2", effective_from="2025-01-01", status=status)
    superseder = revision("B", supersedes=[revision_key("A")], status=status)

    assert standing(revision("A"), newer, superseder) is Standing.USABLE


@pytest.mark.parametrize("use", list(Use))
@pytest.mark.parametrize("as_of", [None, instant("2025-01-01")])
def test_a_revoked_revision_is_never_usable(use: Use, as_of: Instant | None) -> None:
    """R4."""
    asked = eligibility(use=use, as_of=as_of)

    assert standing(revision("A", status=Status.REVOKED), asked=asked) is Standing.REVOKED


# As of a moment, and historical use


def test_as_of_takes_the_revision_effective_then_whatever_its_status_is_now() -> None:
    """R4."""
    old = revision("A", "1", effective_from="2024-01-01", effective_to="2025-01-01", status=Status.SUPERSEDED)
    new = revision("A", "2", effective_from="2025-01-01")

    assert usable([old, new], eligibility(as_of=instant("2024-06-01"))) == ["A@1"]
    assert usable([old, new], eligibility(as_of=instant("2025-01-01"))) == ["A@2"]
    assert usable([old, new]) == ["A@2"]


def test_as_of_sees_two_open_revisions_as_they_followed_each_other() -> None:
    """An older revision with no end was in force until the newer one began."""
    old, new = revision("A", "1", effective_from="2024-01-01"), revision("A", "2", effective_from="2025-01-01")

    assert usable([old, new], eligibility(as_of=instant("2024-12-31"))) == ["A@1"]
    assert usable([old, new], eligibility(as_of=instant("2025-01-01"))) == ["A@2"]


def test_as_of_before_anything_was_in_force_finds_nothing() -> None:
    assert usable([revision("A", effective_from="2024-01-01")], eligibility(as_of=instant("2023-01-01"))) == []


def test_as_of_ignores_a_superseder_that_came_later() -> None:
    superseder = revision("B", effective_from="2025-01-01", supersedes=[revision_key("A")])
    superseded = revision("A", status=Status.SUPERSEDED)

    assert usable([superseded, superseder], eligibility(as_of=instant("2024-06-01"))) == ["A@1"]


def test_historical_use_waives_interval_status_and_currency() -> None:
    """R4."""
    ended = revision("A", "1", effective_to="2024-01-01", status=Status.SUPERSEDED)
    newer = revision("A", "2", effective_from="2024-01-01")
    future = revision("A", "3", effective_from="2026-01-01")

    assert usable([ended, newer, future], eligibility(use=Use.HISTORICAL)) == ["A@1", "A@2", "A@3"]


def test_historical_use_with_a_moment_is_judged_at_that_moment() -> None:
    """R4: only `use: historical` without `as_of` waives anything."""
    ended = revision("A", effective_to="2024-01-01")

    assert usable([ended], eligibility(use=Use.HISTORICAL, as_of=instant("2025-01-01"))) == []


def test_labels_and_grants_have_no_history() -> None:
    """R4: `as_of` is judged with the scope of now; visibility does not read it."""
    facts = revision("A", under=label(roles=["legal"]), effective_from="2024-01-01")

    assert not is_visible(facts, scope=eligibility(as_of=instant("2024-06-01")).scope, use=Use.CURRENT)


# Drafts


def draft_is_visible(*, namespace: str = BLUE, tenant: str | None = BLUE, scopes: str, use: Use) -> bool:
    scope = Scope(principal=principal(tenant, scope=scopes.split()), purpose=None)
    return is_visible(revision("A", namespace=namespace, status=Status.DRAFT), scope=scope, use=use)


def test_a_draft_is_seen_only_for_draft_use_with_scope_ingest_in_its_own_namespace() -> None:
    """R3."""
    assert draft_is_visible(scopes="ingest search", use=Use.DRAFT)
    assert not draft_is_visible(scopes="search", use=Use.DRAFT)
    assert not draft_is_visible(scopes="ingest search", use=Use.CURRENT)
    assert not draft_is_visible(scopes="ingest search", use=Use.HISTORICAL)
    assert not draft_is_visible(namespace="public", scopes="ingest search", use=Use.DRAFT)
    assert not draft_is_visible(namespace=RED, scopes="ingest search", use=Use.DRAFT)
    assert draft_is_visible(namespace="public", tenant=None, scopes="ingest search", use=Use.DRAFT)


def test_a_revoked_draft_is_seen_by_whom_the_draft_was_and_used_by_nobody() -> None:
    """R3, R4: revoking publishes nothing."""
    facts = revision("A", status=Status.REVOKED, was_draft=True)
    author, reader = (
        Scope(principal=principal(scope=scopes), purpose=None) for scopes in (["ingest", "search"], ["search"])
    )

    assert [is_visible(facts, scope=scope, use=use) for scope in (author, reader) for use in Use] == [
        *(use is Use.DRAFT for use in Use),
        *(False for _ in Use),
    ]
    assert usable([facts], eligibility(author.principal, use=Use.DRAFT)) == []


def test_a_draft_needs_its_label_to_admit_as_any_revision_does() -> None:
    scope = Scope(principal=principal(scope=["ingest"]), purpose=None)
    facts = revision("A", status=Status.DRAFT, under=label(roles=["legal"]))

    assert not is_visible(facts, scope=scope, use=Use.DRAFT)


def test_a_draft_stands_beside_the_current_revision_for_draft_use() -> None:
    drafted = revision("A", "2", status=Status.DRAFT)

    assert usable([revision("A", "3"), drafted], eligibility(use=Use.DRAFT)) == ["A@2", "A@3"]
