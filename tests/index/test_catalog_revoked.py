"""Tests of index/catalog_revoked.py: what was revoked stays revoked when it is taken out and comes in again (R4)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from evidence.identity import RevisionKey, SourceKey
from evidence.revision import RevisionFacts, Status
from index.catalog import Catalog
from index.catalog_revocations import Revoked
from index.catalog_write import NewRevision
from index.errors import DamagedCatalog
from index.integrity import verify
from tests.index.catalog_builders import BLUE, RED, arrive, catalog, revision

S = SourceKey(BLUE, "s")
S1 = RevisionKey(BLUE, "s", "1")


def of_blue(*texts: str, number: str = "1", status: Status = Status.CURRENT, was_draft: bool = False) -> NewRevision:
    return revision("s", *texts, revision=number, namespace=BLUE, status=status, was_draft=was_draft)


def facts_of(made: Catalog, key: RevisionKey = S1) -> RevisionFacts:
    with made.read() as reading:
        return reading.facts()[key]


def delete(made: Catalog) -> None:
    made.delete(S)


def roll_back(made: Catalog) -> None:
    with made.read() as reading:
        ingest_id = reading.ingest_ids()[S1]
    made.roll_back(ingest_id)


@pytest.mark.parametrize("offered", [of_blue("one"), of_blue("other")], ids=["the same bytes", "other bytes"])
@pytest.mark.parametrize("take_out", [delete, roll_back])
def test_a_revoked_revision_that_was_taken_out_is_revoked_when_it_comes_in_again(
    tmp_path: Path, take_out: Callable[[Catalog], None], offered: NewRevision
) -> None:
    with catalog(tmp_path / "c", [of_blue("one")]) as made:
        made.revoke(S1)
        for _ in range(2):
            take_out(made)
            assert arrive(made, offered).accepted == 1
            assert facts_of(made).status is Status.REVOKED

        assert made.revoke(S1) is Revoked.BEFORE
    assert verify(tmp_path / "c") == []


def test_its_source_goes_on_with_a_new_revision(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("one"), revision("s", "red's", namespace=RED)]) as made:
        made.revoke(S1)
        made.delete(S)
        made.add([of_blue("one"), of_blue("two", number="2")], relabel=False)

        assert facts_of(made, RevisionKey(BLUE, "s", "2")).status is Status.CURRENT
        assert facts_of(made, RevisionKey(RED, "s", "1")).status is Status.CURRENT


def test_one_that_came_as_revoked_and_was_deleted_is_revoked_whatever_it_comes_as(tmp_path: Path) -> None:
    """An export says that it was revoked, and deleting that word does not undo it."""
    with catalog(tmp_path / "c", [of_blue("one", status=Status.REVOKED)]) as made:
        before = facts_of(made)
        made.delete(S)
        made.add([of_blue("one")], relabel=False)

        assert facts_of(made) == before
        assert facts_of(made).digest == before.digest  # R29
    assert verify(tmp_path / "c") == []


def test_one_that_came_as_revoked_is_forgotten_with_the_ingest_that_said_so(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("one", status=Status.REVOKED)]) as made:
        roll_back(made)
        made.add([of_blue("one")], relabel=False)

        assert facts_of(made).status is Status.CURRENT
    assert verify(tmp_path / "c") == []


def test_a_revoked_draft_comes_in_again_as_a_revoked_draft(tmp_path: Path) -> None:
    """R3."""
    with catalog(tmp_path / "c", [of_blue("one", status=Status.DRAFT)]) as made:
        made.revoke(S1)
        before = facts_of(made)
        made.delete(S)
        made.add([of_blue("one", status=Status.REVOKED, was_draft=True)], relabel=False)

        assert facts_of(made) == before
        assert not before.is_published


def test_nobody_is_told_that_a_deleted_revision_had_been_revoked(tmp_path: Path) -> None:
    """R6: each call answers as in a catalog that never held the source."""
    with catalog(tmp_path / "c", [of_blue("one")]) as held, catalog(tmp_path / "d") as empty:
        held.revoke(S1)
        held.delete(S)

        calls: list[Callable[[Catalog], object]] = [
            lambda made: made.revoke(S1),
            lambda made: made.delete(S),
            lambda made: made.rehearse([of_blue("other")], relabel=False),
            lambda made: made.add([of_blue("other")], relabel=False),
            lambda made: made.add([of_blue("other")], relabel=False),
        ]
        for call in calls:
            assert call(held) == call(empty)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE revoked_revision SET revision = '9'",
        "UPDATE revoked_revision SET source_id = x'73'",
        "UPDATE revoked_revision SET seal = x'00'",
        "UPDATE revoked_revision SET change = 7",
        "UPDATE revoked_revision SET change = 'x'",
        "DELETE FROM revoked_revision",
        "UPDATE catalog_state SET revoked_revisions = 0",
        "UPDATE catalog_state SET revoked_revisions = 2",
    ],
)
def test_revocations_that_changed_in_the_database_are_found(tmp_path: Path, change: str) -> None:
    """R3: also those of revisions that are gone."""
    with catalog(tmp_path / "c", [of_blue("one")]) as made:
        made.revoke(S1)
        made.delete(S)
        with made.write() as connection:
            connection.execute(text(change))

    assert [found.where for found in verify(tmp_path / "c")] == ["revoked_revision"]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM revoked_revision",
        "UPDATE revoked_revision SET revision = '9'",
        "UPDATE revoked_revision SET seal = x'00'",
        "UPDATE revoked_revision SET change = 7",
    ],
)
def test_nothing_comes_in_over_a_revocation_that_cannot_be_read(tmp_path: Path, change: str) -> None:
    """R3: an error, never an open door."""
    with catalog(tmp_path / "c", [of_blue("one")]) as made:
        made.revoke(S1)
        made.delete(S)
        with made.write() as connection:
            connection.execute(text(change))

        with pytest.raises(DamagedCatalog):
            made.add([of_blue("one")], relabel=False)


def test_a_revocation_that_its_revision_says_nothing_of_is_found(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("one"), of_blue("two", number="2")]) as made:
        made.revoke(S1)
        with made.write() as connection:
            connection.execute(text("DELETE FROM revoked_revision"))
            connection.execute(text("UPDATE catalog_state SET revoked_revisions = 0"))

    (found,) = verify(tmp_path / "c")
    assert (found.where, "revision '1' of source 's'" in found.problem) == ("revoked_revision", True)
