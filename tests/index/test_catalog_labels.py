"""Tests of index/catalog_labels.py: a source and all its revisions under another label."""

from pathlib import Path

import pytest
from sqlalchemy import text

from evidence.access import Label
from evidence.eligibility import catalog_version
from evidence.identity import PUBLIC, RevisionKey, SourceKey
from evidence.revision import Status
from index.catalog import Catalog
from index.integrity import verify
from tests.index.catalog_builders import BLUE, RED, catalog, revision

ENGINEERS = Label(namespace=BLUE, roles=("engineer",))
S = SourceKey(BLUE, "s")


def held() -> list:  # type: ignore[type-arg]  # of revisions
    return [
        revision("s", "one", namespace=BLUE),
        revision("s", "two", revision="2", namespace=BLUE),
        revision("t", "three", namespace=BLUE),
    ]


def test_all_revisions_of_the_source_and_nothing_else_come_under_the_label(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", held()) as made:
        with made.read() as reading:
            reading.facts()  # so that what is kept in memory has to follow
        done = made.relabel(S, ENGINEERS)

        assert done is not None
        assert (done.label, done.revisions, done.changed) == (ENGINEERS, 2, True)
        with made.read() as reading:
            labels = {(key.source_id, key.revision): facts.label for key, facts in reading.facts().items()}
    assert labels == {("s", "1"): ENGINEERS, ("s", "2"): ENGINEERS, ("t", "1"): Label(namespace=BLUE)}
    assert verify(tmp_path / "c") == []


def test_a_relabelled_catalog_has_the_version_of_one_that_never_had_the_other_label(tmp_path: Path) -> None:
    """R29."""
    with (
        catalog(tmp_path / "c", [revision("s", "one", namespace=BLUE)]) as made,
        catalog(tmp_path / "d", [revision("s", "one", namespace=BLUE, roles=["engineer"])]) as fresh,
    ):
        made.relabel(S, ENGINEERS)

        with made.read() as one, fresh.read() as other:
            assert catalog_version(one.facts().values()) == catalog_version(other.facts().values())


def test_another_process_sees_the_new_label_at_its_next_read(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", held()) as made, Catalog.open(tmp_path / "c") as other:
        with other.read() as reading:
            reading.facts()
        made.relabel(S, ENGINEERS)

        with other.read() as reading:
            assert reading.facts()[RevisionKey(BLUE, "s", "1")].label == ENGINEERS


def test_the_label_that_it_has_already_changes_nothing(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", held()) as made:
        with made.read() as reading:
            before = reading.change
        done = made.relabel(S, Label(namespace=BLUE))

        assert done is not None
        assert not done.changed
        with made.read() as reading:
            assert reading.change == before


def test_a_source_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", held()) as made:
        assert made.relabel(SourceKey(BLUE, "u"), ENGINEERS) is None
        assert made.relabel(SourceKey(RED, "s"), Label(namespace=RED)) is None


def test_a_source_never_moves_to_another_namespace(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", held()) as made, pytest.raises(ValueError, match="cannot have a label of 'public'"):
        made.relabel(S, Label(namespace=PUBLIC))


def test_a_revoked_revision_stays_revoked_under_another_label(tmp_path: Path) -> None:
    key = RevisionKey(BLUE, "s", "1")
    with catalog(tmp_path / "c", held()) as made:
        made.revoke(key)
        made.relabel(S, ENGINEERS)

        with made.read() as reading:
            assert (reading.facts()[key].status, reading.facts()[key].label) == (Status.REVOKED, ENGINEERS)


def test_a_label_that_no_source_has_any_longer_is_gone(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one", namespace=BLUE, roles=["user:ann"])]) as made:
        made.relabel(S, ENGINEERS)

        with made.read() as reading:
            assert reading.connection.execute(text("SELECT digest FROM label")).scalars().all() == [ENGINEERS.digest]
