"""Tests of index/live.py: the second gate agrees with the first one, and asks the authority itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from evidence.access import Label
from evidence.eligibility import Eligibility, Filter, Standing, Use, is_visible, judge
from evidence.grants import Dimension, Grant, Revocations, Subject
from evidence.identity import PUBLIC, RevisionKey, SourceKey
from evidence.instant import parse_instant
from evidence.revision import Status
from index.catalog_read import Holdings, Reading
from index.live import live_standings
from tests.index.catalog_builders import BLUE, RED, catalog, eligibility, revision, scope

ENGINEER = scope(tenant=BLUE, roles=["engineer"], purposes=["service"], purpose="service")
NOBODY = scope()
INGESTER = scope(tenant=BLUE, scopes=["ingest", "search"])

HELD = (
    revision("a", "1", namespace=BLUE, effective_from="2025-01-01T00:00:00Z"),
    revision("a", "2", namespace=BLUE, revision="2", effective_from="2025-05-01T00:00:00Z"),
    revision("a", "3", namespace=BLUE, revision="3", status=Status.DRAFT),
    revision("b", "1", effective_to="2025-02-01T00:00:00Z"),
    revision("b", "2", revision="2", status=Status.SUPERSEDED),
    revision("c", "1", namespace=BLUE, roles=["engineer"]),
    revision("d", "1", namespace=BLUE, purposes=["service"]),
    revision("e", "1", namespace=RED),
    revision("f", "1"),
    revision("g", "1", namespace=BLUE, roles=["engineer"], supersedes=[RevisionKey(PUBLIC, "f", "1")]),
    revision("h", "1", namespace=BLUE, supersedes=[RevisionKey(BLUE, "g", "1")], effective_from="2025-05-31T00:00:00Z"),
    revision("i", "1", status=Status.REVOKED),
    revision("j", "1", namespace=BLUE, supersedes=[RevisionKey(BLUE, "h", "1")], status=Status.DRAFT),
)
KEYS = [one.facts.key for one in HELD]


def by_the_first_gate(reading: Reading, who: Eligibility) -> dict[RevisionKey, Standing]:
    """What a judgement over everything visible says, out of what readers keep in memory."""
    return judge((facts for facts in reading.facts().values() if is_visible(facts, scope=who.scope, use=who.use)), who)


@pytest.mark.parametrize("who", [ENGINEER, NOBODY, INGESTER, scope(tenant=RED)])
@pytest.mark.parametrize("use", list(Use))
@pytest.mark.parametrize("as_of", [None, "2025-01-15T00:00:00Z", "2025-05-15T00:00:00Z"])
def test_both_gates_judge_alike(tmp_path: Path, who: object, use: Use, as_of: str | None) -> None:
    """R5: over every revision, whoever asks, for whatever use and moment."""
    moment = None if as_of is None else parse_instant(as_of)
    asked = eligibility(who, use=use, as_of=moment)  # type: ignore[arg-type]  # a scope
    with catalog(tmp_path / "c", HELD) as made, made.read() as reading:
        found = live_standings(reading, reversed(KEYS), asked)

        assert {key: standing for key, (_, standing) in found.items()} == by_the_first_gate(reading, asked)
        assert list(found) == sorted(found)
        assert all(facts == reading.facts()[key] for key, (facts, _) in found.items())


def test_each_key_asked_alone_stands_as_among_all(tmp_path: Path) -> None:
    asked = eligibility(ENGINEER)
    with catalog(tmp_path / "c", HELD) as made, made.read() as reading:
        together = live_standings(reading, KEYS, asked)
        alone = [live_standings(reading, [key], asked) for key in KEYS]

    assert {key: found for one in alone for key, found in one.items()} == together


def test_the_filter_and_the_subject_hold_here_too(tmp_path: Path) -> None:
    asked = replace(eligibility(ENGINEER), filter=Filter(source_id=("d",)))
    with catalog(tmp_path / "c", HELD) as made, made.read() as reading:
        found = live_standings(reading, [RevisionKey(BLUE, "c", "1"), RevisionKey(BLUE, "d", "1")], asked)

    assert [standing for _, standing in found.values()] == [Standing.FILTERED, Standing.USABLE]


def test_what_the_catalog_does_not_hold_is_not_in_the_result(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", HELD) as made, made.read() as reading:
        assert live_standings(reading, [RevisionKey(BLUE, "nothing", "1")], eligibility(ENGINEER)) == {}
        assert live_standings(reading, [], eligibility(ENGINEER)) == {}


C1 = RevisionKey(BLUE, "c", "1")


@pytest.mark.parametrize(
    "lose",
    [
        lambda made: made.delete(SourceKey(BLUE, "c")),
        lambda made: made.relabel(SourceKey(BLUE, "c"), Label(namespace=BLUE, roles=("auditor",))),
        lambda made: made.revoke(Subject(BLUE, "ada")),
        lambda made: made.revoke(Grant(BLUE, "ada", Dimension.ROLE, "engineer")),
        lambda made: made.revoke(Grant(BLUE, "ada", Dimension.PURPOSE, "service")),
    ],
)
def test_what_was_lost_meanwhile_is_gone(tmp_path: Path, lose: object) -> None:
    """R5: the gate is asked with the principal of before."""
    with catalog(tmp_path / "c", HELD) as made:
        with made.read() as reading:
            assert C1 in live_standings(reading, [C1], eligibility(ENGINEER))
        lose(made)  # type: ignore[operator]  # a change of the catalog

        with made.read() as reading:
            assert live_standings(reading, [C1], eligibility(ENGINEER)) == {}


def test_a_revoked_revision_is_seen_as_revoked(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", HELD) as made:
        made.revoke(C1)

        with made.read() as reading:
            ((facts, standing),) = live_standings(reading, [C1], eligibility(ENGINEER)).values()
    assert (facts.status, standing) == (Status.REVOKED, Standing.REVOKED)


def test_an_invisible_superseder_makes_nothing_stale(tmp_path: Path) -> None:
    """R8: g, which only engineers see, supersedes the public f."""
    f1 = RevisionKey(PUBLIC, "f", "1")
    with catalog(tmp_path / "c", HELD) as made, made.read() as reading:
        found = [live_standings(reading, [f1], eligibility(who))[f1][1] for who in (ENGINEER, NOBODY)]

    assert found == [Standing.STALE, Standing.USABLE]


def test_nothing_that_the_first_gate_keeps_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R5: a first gate that remembers what is no longer true does not open the second one."""
    with catalog(tmp_path / "c", HELD) as made:
        with made.read() as reading:
            remembered: Holdings = reading.holdings
        made.delete(SourceKey(BLUE, "c"))
        made.revoke(Subject(BLUE, "bob"))
        monkeypatch.setattr(Reading, "holdings", property(lambda _: remembered))
        monkeypatch.setattr(Reading, "revocations", property(lambda _: Revocations()))

        with made.read() as reading:
            bob = replace(ENGINEER, principal=replace(ENGINEER.principal, sub="bob"))
            assert live_standings(reading, [C1], eligibility(ENGINEER)) == {}
            assert live_standings(reading, KEYS, eligibility(bob)) == {}
