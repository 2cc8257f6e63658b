"""Tests of `index/relatives.py`: what the standing of a revision depends on, found without a statement (R4)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event

from evidence.identity import PUBLIC, RevisionKey, SourceKey
from index.catalog import Catalog
from index.relatives import relatives
from tests.index.catalog_builders import BLUE, catalog, revision


def key(source_id: str, name: str = "1") -> RevisionKey:
    return RevisionKey(BLUE, source_id, name)


def named(held: Catalog, *sources: SourceKey) -> list[RevisionKey]:
    with held.read() as reading:
        return [facts.key for facts in relatives(sources, reading.holdings)]


@pytest.fixture(name="held")
def fixture_held(tmp_path: Path) -> Iterator[Catalog]:
    revisions = [
        revision("b", "one", namespace=BLUE),
        revision("b", "two", namespace=BLUE, revision="2"),
        revision("b", "another tenant's"),
        revision("ba", "a name that begins alike", namespace=BLUE),
        revision("a", "in its place", namespace=BLUE, supersedes=[key("b"), key("b", "2")]),
        revision("z", "of the other one", namespace=BLUE, supersedes=[key("ba")]),
    ]
    with catalog(tmp_path / "catalog", revisions) as made:
        yield made


def test_the_relatives_of_a_source_are_its_revisions_and_what_supersedes_them(held: Catalog) -> None:
    assert named(held, key("b").source) == [key("b"), key("b", "2"), key("a")]
    assert named(held, key("z").source) == [key("z")]
    assert named(held, SourceKey(PUBLIC, "b")) == [RevisionKey(PUBLIC, "b", "1")]
    assert named(held, SourceKey(PUBLIC, "z")) == []


def test_each_is_there_once_however_many_sources_ask_for_it(held: Catalog) -> None:
    sources = [key("b").source, key("a").source, key("b").source]

    assert named(held, *sources) == [key("b"), key("b", "2"), key("a")]


def test_they_are_those_of_the_state_at_hand(held: Catalog) -> None:
    with held.read() as before:
        held.add([revision("b", "three", namespace=BLUE, revision="3", supersedes=[key("b")])], relabel=False)
        held.delete(key("a").source)

        assert named(held, key("b").source) == [key("b"), key("b", "2"), key("b", "3")]
        kept = relatives([key("b").source], before.holdings)
        assert [facts.key for facts in kept] == [key("b"), key("b", "2"), key("a")]


def test_they_cost_no_statement_once_the_facts_are_known(held: Catalog) -> None:
    with held.read() as reading:
        holdings = reading.holdings
        statements: list[object] = []
        event.listen(held._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))

        assert relatives([key("b").source], holdings)
        assert statements == []
