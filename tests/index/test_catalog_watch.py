"""Tests of `index/catalog_watch.py`: what is revoked, without reading where nothing was written."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence.grants import Subject
from index.catalog import DATABASE, Catalog
from tests.worlds import RECIPE, cut, record

ANN = Subject(None, "ann")


@pytest.fixture(name="catalog")
def fixture_catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog.create(tmp_path / "catalog", RECIPE) as made:
        yield made


def test_nothing_is_at_hand_before_it_was_read(catalog: Catalog) -> None:
    assert catalog.revocations_at_hand() is None


def test_what_was_read_is_at_hand_while_nothing_is_written(catalog: Catalog) -> None:
    read = catalog.read_revocations()

    assert catalog.revocations_at_hand() is read


def test_a_revocation_of_another_process_is_seen_by_the_next_look(catalog: Catalog) -> None:
    """R1. Another open catalog stands for the other process: it has connections of its own."""
    catalog.read_revocations()
    with Catalog.open(catalog.directory) as elsewhere:
        elsewhere.revoke(ANN)

    assert catalog.revocations_at_hand() is None
    assert catalog.read_revocations().subjects == {ANN}
    assert catalog.revocations_at_hand() == catalog.read_revocations()


def test_a_revocation_of_this_process_is_seen_by_the_next_look(catalog: Catalog) -> None:
    catalog.read_revocations()
    catalog.revoke(ANN)

    assert catalog.revocations_at_hand() is None


def test_a_revocation_while_it_is_read_is_seen_by_the_next_look(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written after the state was pinned, before it is kept."""
    read = catalog.read

    def read_and_revoke() -> object:
        held = read()
        catalog.revoke(ANN)
        return held

    monkeypatch.setattr(catalog, "read", read_and_revoke)
    catalog.read_revocations()
    monkeypatch.undo()

    assert catalog.revocations_at_hand() is None
    assert catalog.read_revocations().subjects == {ANN}


def test_any_other_write_makes_it_read_again(catalog: Catalog) -> None:
    catalog.read_revocations()
    catalog.add(cut([record("A", "Some text.")]), relabel=False)

    assert catalog.revocations_at_hand() is None


def test_a_database_that_cannot_be_opened_leaves_the_telling_to_the_reader(catalog: Catalog) -> None:
    catalog.read_revocations()
    catalog.close()
    (catalog.directory / DATABASE).rename(catalog.directory / "elsewhere")

    assert catalog.revocations_at_hand() is None
    assert not (catalog.directory / DATABASE).exists(), "looking makes no database"
