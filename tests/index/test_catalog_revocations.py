"""Tests of index/catalog_revocations.py: what was revoked is revoked in every process, and stays so."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from evidence.eligibility import Standing, Use, catalog_version, judge
from evidence.grants import Dimension, Grant, Revocations, Subject, Token
from evidence.identity import RevisionKey
from evidence.revision import Status
from index.catalog import Catalog
from index.catalog_revocations import Revoked
from index.compartments import Visible, see
from index.errors import DamagedCatalog, RevisionChanged
from index.live import live_standings
from tests.index.catalog_builders import BLUE, RED, build_index, catalog, eligibility, revision, scope

NAMES = (
    Subject(BLUE, "ann"),
    Subject(None, "bob"),
    Token(BLUE, "token-1"),
    Grant(BLUE, "ann", Dimension.PURPOSE, "service"),
    Grant(None, "ann", Dimension.ROLE, "user:ann"),
)
S1 = RevisionKey(BLUE, "s", "1")


def revoked_in(made: Catalog) -> Revocations:
    with made.read() as reading:
        return reading.revocations


def test_everything_revoked_is_read_as_it_was_said(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        assert [made.revoke(what) for what in NAMES] == [Revoked.NOW] * 5

        assert revoked_in(made) == Revocations(
            subjects=frozenset(NAMES[:2]), token_ids=frozenset(NAMES[2:3]), grants=frozenset(NAMES[3:])
        )


def test_a_revocation_is_in_force_in_a_process_that_has_read_before(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made, Catalog.open(tmp_path / "c") as other:
        assert revoked_in(other) == Revocations()
        made.revoke(NAMES[0])

        assert revoked_in(other).subjects == {NAMES[0]}


@pytest.mark.parametrize("what", NAMES)
def test_revoking_again_changes_nothing(tmp_path: Path, what: Subject | Token | Grant) -> None:
    with catalog(tmp_path / "c") as made:
        made.revoke(what)
        with made.read() as reading:
            before = reading.change

        assert made.revoke(what) is Revoked.BEFORE
        with made.read() as reading:
            assert reading.change == before


def test_a_reader_that_began_before_sees_its_own_state(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made, made.read() as reading:
        made.revoke(NAMES[0])

        assert reading.revocations == Revocations()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE revocation SET name = 'eve'",
        "UPDATE revocation SET namespace = ''",
        "UPDATE revocation SET kind = 'token'",
        "UPDATE revocation SET kind = 'x'",
        "UPDATE revocation SET seal = x'00'",
        "UPDATE revocation SET name = x'616e6e'",
        "DELETE FROM revocation",
        "UPDATE catalog_state SET revocations = 2",
    ],
)
def test_revocations_that_changed_in_the_database_are_never_returned(tmp_path: Path, change: str) -> None:
    """R3: what was revoked and cannot be read is an error, never an open door."""
    with catalog(tmp_path / "c") as made:
        made.revoke(NAMES[0])
        with made.write() as connection:
            connection.execute(text(change))

        with made.read() as reading, pytest.raises(DamagedCatalog):
            _ = reading.revocations


def test_a_revoked_revision_is_never_usable_and_its_source_goes_on(tmp_path: Path) -> None:
    """R4."""
    held = [revision("s", "one", namespace=BLUE), revision("s", "two", revision="2", namespace=BLUE)]
    with catalog(tmp_path / "c", held) as made:
        assert made.revoke(RevisionKey(BLUE, "s", "2")) is Revoked.NOW

        with made.read() as reading:
            standings = judge(reading.facts().values(), eligibility(scope(tenant=BLUE)))
    assert {key.revision: standing for key, standing in standings.items()} == {
        "1": Standing.USABLE,
        "2": Standing.REVOKED,
    }


def test_a_revoked_revision_has_the_version_of_one_that_came_as_revoked(tmp_path: Path) -> None:
    """R29."""
    with (
        catalog(tmp_path / "c", [revision("s", "one", namespace=BLUE)]) as made,
        catalog(tmp_path / "d", [revision("s", "one", namespace=BLUE, status=Status.REVOKED)]) as fresh,
    ):
        made.revoke(S1)

        with made.read() as one, fresh.read() as other:
            assert catalog_version(one.facts().values()) == catalog_version(other.facts().values())


def test_the_same_bytes_offered_again_are_unchanged_and_stay_revoked(tmp_path: Path) -> None:
    offered = revision("s", "one", namespace=BLUE)
    as_exported = replace(offered, facts=replace(offered.facts, status=Status.REVOKED))
    with catalog(tmp_path / "c", [offered]) as made:
        made.revoke(S1)

        assert made.add([offered], relabel=False).unchanged == 1
        assert made.add([as_exported], relabel=False).unchanged == 1
        with made.read() as reading:
            assert reading.facts()[S1].status is Status.REVOKED


def test_other_bytes_under_the_name_of_a_revoked_revision_are_refused(tmp_path: Path) -> None:
    offered = revision("s", "one", namespace=BLUE)
    as_superseded = replace(offered, facts=replace(offered.facts, status=Status.SUPERSEDED))
    other_text = revision("s", "two", namespace=BLUE, status=Status.REVOKED)
    with catalog(tmp_path / "c", [offered]) as made:
        made.revoke(S1)

        for wrong in (as_superseded, other_text):
            with pytest.raises(RevisionChanged):
                made.add([wrong], relabel=False)


def test_a_revision_that_is_not_there_is_absent_in_every_namespace_alike(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one", namespace=BLUE)]) as made:
        found = [made.revoke(key) for key in (RevisionKey(RED, "s", "1"), RevisionKey(BLUE, "s", "2"))]

    assert found == [Revoked.ABSENT, Revoked.ABSENT]


def test_revoking_a_revision_again_changes_nothing(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one", namespace=BLUE)]) as made:
        made.revoke(S1)

        assert made.revoke(S1) is Revoked.BEFORE


@pytest.mark.parametrize("change", ["UPDATE revision SET revoked = NULL", "UPDATE revision SET revoked = 7"])
def test_a_revocation_cannot_be_taken_back_behind_the_catalogs_back(tmp_path: Path, change: str) -> None:
    with catalog(tmp_path / "c", [revision("s", "one", namespace=BLUE)]) as made:
        made.revoke(S1)
        with made.write() as connection:
            connection.execute(text(change))

        with made.read() as reading, pytest.raises(DamagedCatalog):
            reading.facts()


def test_the_published_rows_of_a_revoked_revision_are_still_its_own(tmp_path: Path) -> None:
    """A revocation needs no reindex: the content is what was indexed, only its standing is another."""
    with catalog(tmp_path / "c", [revision("s", "one", namespace=BLUE)]) as made:
        with made.read() as reading:
            before = dict(reading.holdings.content_digests)
        first = build_index(made).generation
        made.revoke(S1)

        with made.read() as reading:
            assert reading.holdings.content_digests == before
        assert build_index(made).generation == first


DRAFT = revision("s", "not yet", namespace=BLUE, status=Status.DRAFT)
READER = scope(tenant=BLUE)
AUTHOR = scope(tenant=BLUE, scopes=("ingest", "search"))


def seen(made: Catalog, *, author: bool) -> Visible:
    with made.read() as reading:
        return see(reading.holdings, scope=AUTHOR if author else READER, use=Use.DRAFT)


def test_revoking_a_draft_publishes_nothing(tmp_path: Path) -> None:
    """R3, R6: whoever could not see the draft sees the same catalog, at either gate."""
    with catalog(tmp_path / "c", [DRAFT, revision("t", "out", namespace=BLUE)]) as made:
        before = seen(made, author=False)
        made.revoke(S1)

        assert seen(made, author=False) == before
        with made.read() as reading:
            for use in Use:
                assert live_standings(reading, [S1], eligibility(READER, use=use)) == {}


def test_the_author_of_a_revoked_draft_sees_that_it_was_revoked(tmp_path: Path) -> None:
    """R4."""
    with catalog(tmp_path / "c", [DRAFT]) as made:
        made.revoke(S1)

        with made.read() as reading:
            ((facts, standing),) = live_standings(reading, [S1], eligibility(AUTHOR, use=Use.DRAFT)).values()
    assert (facts.status, facts.is_published, standing) == (Status.REVOKED, False, Standing.REVOKED)


def test_a_revoked_draft_has_the_version_of_one_that_came_as_that(tmp_path: Path) -> None:
    """R29."""
    came = revision("s", "not yet", namespace=BLUE, status=Status.REVOKED, was_draft=True)
    with catalog(tmp_path / "c", [DRAFT]) as made, catalog(tmp_path / "d", [came]) as fresh:
        made.revoke(S1)

        assert seen(made, author=True) == seen(fresh, author=True)
        assert seen(made, author=False) == seen(fresh, author=False)
        assert made.add([came], relabel=False).unchanged == 1
        assert fresh.revoke(S1) is Revoked.NOW  # its publisher's word becomes the catalog's own
        assert seen(fresh, author=True) == seen(made, author=True)


def test_a_revoked_draft_cannot_be_offered_as_one_that_was_published(tmp_path: Path) -> None:
    published = revision("s", "not yet", namespace=BLUE, status=Status.REVOKED)
    with catalog(tmp_path / "c", [DRAFT]) as made:
        made.revoke(S1)

        with pytest.raises(RevisionChanged):
            made.add([published], relabel=False)


@pytest.mark.parametrize(
    "change", ["UPDATE revision SET was_draft = 0", "UPDATE revision SET was_draft = 1, status = 'current'"]
)
def test_a_draft_cannot_be_published_behind_the_catalogs_back(tmp_path: Path, change: str) -> None:
    came = revision("s", "not yet", namespace=BLUE, status=Status.REVOKED, was_draft=True)
    with catalog(tmp_path / "c", [came]) as made:
        with made.write() as connection:
            connection.execute(text(change))

        with made.read() as reading, pytest.raises(DamagedCatalog):
            reading.facts()
