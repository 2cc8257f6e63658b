"""Tests of making a part of a catalog a catalog of its own: what is in it, how it can be found, and what is not."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence.grants import Dimension, Grant, Revocations
from evidence.identity import PUBLIC, Namespace, RevisionKey
from evidence.revision import Status
from index.catalog import Catalog
from index.catalog_codes import codes_of
from index.errors import DamagedCatalog, RecipeMismatch
from index.reindex import reindex
from index.snapshot import Snapshot, Snapshots
from index.visible_copy import copy_part
from tests.noninterference.encoder import FastEncoder
from tests.worlds import ANALYZER, DIMENSION, RECIPE, arrive, extend, record

BLUE, RED = Namespace("blue"), Namespace("red")
CANARY = "zanzibar"
GRANT = Grant(BLUE, "ann", Dimension.ROLE, "technician")
PUBLISHED, REPLACED, REVOKED = RevisionKey(BLUE, "A", "1"), RevisionKey(PUBLIC, "A", "1"), RevisionKey(BLUE, "B", "1")
DRAFT, LATER, AGAIN = RevisionKey(BLUE, "C", "1"), RevisionKey(BLUE, "D", "1"), RevisionKey(BLUE, "E", "1")
WAITING, RETURNED = RevisionKey(BLUE, "F", "1"), RevisionKey(BLUE, "G", "1")
PART = frozenset({PUBLISHED, REPLACED, REVOKED, DRAFT, LATER, AGAIN, WAITING, RETURNED})


@pytest.fixture(scope="module", name="whole")
def fixture_whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of which PART is to be copied; every text of the rest holds the canary."""
    directory = tmp_path_factory.mktemp("visible_copy") / "whole"
    with Catalog.create(directory, RECIPE) as catalog:
        extend(
            catalog,
            [
                record("A", "The drum latch.", tenant="blue", title="Latch"),
                record("A", "The drum latch.", tenant="red", title=f"Latch {CANARY}"),
                record("A", "The public latch. " * 40, supersedes=[{"source_id": "Z", "revision": "9"}]),
                record("B", "A bolt that was revoked.", tenant="blue"),
                record("C", "A draft that was revoked.", tenant="blue", status="draft"),
                record("E", "It goes, and comes again with other words.", tenant="blue"),
                record("G", "It goes, and comes again as it was.", tenant="blue"),
                *(record(f"H{number}", f"The {CANARY} latch.", tenant="blue") for number in range(3)),
            ],
        )
        catalog.delete(AGAIN.source)
        extend(catalog, [record("E", "First words.", tenant="blue")])
        reindex(catalog, encoder=FastEncoder(), analyzer=ANALYZER, progress=lambda _: None)
        catalog.delete(AGAIN.source)
        catalog.delete(RETURNED.source)
        late = [record("D", "The drum latch.", tenant="blue"), record("H9", f"{CANARY} late", tenant="red")]
        arrive(catalog, [*late, record("E", "Other words than before.", tenant="blue")], encoder=FastEncoder())
        extend(catalog, [record("F", "The drum latch.", tenant="blue"), record("H10", f"{CANARY} waits")])
        extend(catalog, [record("G", "It goes, and comes again as it was.", tenant="blue")])
        for key in (REVOKED, DRAFT, RevisionKey(BLUE, "H1", "1")):
            catalog.revoke(key)
        catalog.revoke(Grant(BLUE, "bob", Dimension.ROLE, CANARY))
    return directory


def copied(whole: Path, directory: Path, *, keys: Collection[RevisionKey] = PART, **more: Any) -> Path:
    """The copy of `keys`."""
    told = {"revoked": [GRANT], "analyzer": ANALYZER, "encoder": None, "progress": lambda *_: None, **more}
    with pinned(whole) as snapshot:
        copy_part(snapshot, directory, recipe=RECIPE, keys=keys, prepare=lambda _: None, **told)
    return directory


@contextmanager
def pinned(directory: Path) -> Iterator[Snapshot]:
    with Catalog.open(directory) as catalog, Snapshots(catalog).pin() as snapshot:
        yield snapshot


def held_by(runs: Collection[RevisionKey] | None) -> set[RevisionKey]:
    return set(runs or ()) & PART


@pytest.fixture(scope="module", name="copy")
def fixture_copy(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(whole, tmp_path_factory.mktemp("visible_copy") / "copy")


def test_the_copy_holds_the_facts_and_texts_of_the_part_and_no_others(whole: Path, copy: Path) -> None:
    with pinned(whole) as one, pinned(copy) as other:
        assert set(other.reading.facts()) == PART
        for key in PART:
            assert other.reading.facts()[key] == one.reading.facts()[key]
            assert other.reading.units_of(key) == one.reading.units_of(key)


def test_what_was_published_came_later_or_waits_does_so_in_the_copy(whole: Path, copy: Path) -> None:
    with pinned(whole) as one, pinned(copy) as other:
        for snapshot in (one, other):
            delta = snapshot.segments.delta
            assert delta is not None
            published = held_by(snapshot.segments.base.run_of) - {AGAIN, RETURNED}
            assert published == {PUBLISHED, REPLACED, REVOKED, DRAFT}
            assert held_by(delta.run_of) == {LATER, AGAIN}
            assert PART - snapshot.reading.holdings.coded == {WAITING, RETURNED}
        assert {AGAIN, RETURNED} <= one.segments.base.run_of.keys()  # with the rows that they had before
        assert not {AGAIN, RETURNED} & other.segments.base.run_of.keys()


def test_revocations_of_the_part_and_those_given_are_in_the_copy_and_no_others(copy: Path) -> None:
    with pinned(copy) as snapshot:
        facts = snapshot.reading.facts()
        assert {key for key in PART if facts[key].status is Status.REVOKED} == {REVOKED, DRAFT}
        assert facts[DRAFT].was_draft
        assert snapshot.reading.revocations == Revocations(grants=frozenset({GRANT}))


def test_codes_are_the_same(whole: Path, copy: Path) -> None:
    with pinned(whole) as one, pinned(copy) as other:
        for key in PART - {WAITING, RETURNED}:
            units = one.reading.holdings.unit_counts[key]
            codes = [
                codes_of(snapshot.reading.connection, key, units=units, dimension=DIMENSION)
                for snapshot in (one, other)
            ]
            assert np.array_equal(codes[0], codes[1])


def test_no_file_of_the_copy_holds_a_byte_of_the_rest(whole: Path, copy: Path) -> None:
    """Neither texts nor titles, nor the name of a source, a role or a tenant."""
    hidden = (CANARY.encode(), b"red")
    everything = b"".join(path.read_bytes() for path in whole.rglob("*") if path.is_file())
    assert all(word in everything for word in hidden)

    for path in copy.rglob("*"):
        if path.is_file():
            assert not any(word in path.read_bytes() for word in hidden), path.name


def test_revisions_are_taken_in_in_another_order_than_they_are_stored(copy: Path) -> None:
    connection = sqlite3.connect(f"file:{copy / 'catalog.sqlite'}?mode=ro", uri=True)
    try:
        stored = connection.execute("SELECT namespace, source_id, revision FROM unit ORDER BY number").fetchall()
    finally:
        connection.close()
    published = [
        key
        for key in dict.fromkeys(RevisionKey(*row) for row in stored)
        if key not in (LATER, AGAIN, WAITING, RETURNED)
    ]

    assert published != sorted(published)


def test_a_part_of_nothing_is_a_published_catalog_of_nothing(whole: Path, tmp_path: Path) -> None:
    with pinned(copied(whole, tmp_path / "copy", keys=())) as snapshot:
        assert (len(snapshot.reading.facts()), snapshot.segments.rows) == (0, 0)


def test_codes_made_again_are_those_of_the_texts(whole: Path, copy: Path, tmp_path: Path) -> None:
    again = copied(whole, tmp_path / "copy", encoder=FastEncoder())

    with pinned(copy) as one, pinned(again) as other:
        assert one.segments.name == other.segments.name


def test_a_damaged_code_is_refused(whole: Path, tmp_path: Path) -> None:
    broken = copied(whole, tmp_path / "broken")
    connection = sqlite3.connect(broken / "catalog.sqlite")
    connection.execute("UPDATE code SET codes = zeroblob(64)")
    connection.commit()
    connection.close()

    with pytest.raises(DamagedCatalog, match="code"):
        copied(broken, tmp_path / "copy")


def test_an_analyzer_of_another_recipe_is_refused(whole: Path, tmp_path: Path) -> None:
    class Other:
        name = "other"

    with pytest.raises(RecipeMismatch, match="analyzer"):
        copied(whole, tmp_path / "copy", analyzer=Other())
