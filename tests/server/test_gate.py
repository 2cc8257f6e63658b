"""Tests of `server/gate.py`: what the second gate says of citation handles, and at what cost (R5, R24)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event

from evidence.citations import citation_handle
from evidence.grants import Subject
from evidence.identity import RevisionKey
from index.catalog import Catalog
from index.catalog_read import Reading
from server.gate import AssemblyGate
from server.selecting import unranked
from tests.index.catalog_builders import BLUE, RED, catalog, eligibility, revision, scope

ANN = scope(tenant=BLUE)
MADE_UP = "EV-0000000000000000"


@pytest.fixture(name="held")
def fixture_held(tmp_path: Path) -> Iterator[Catalog]:
    revisions = [
        revision("usable", "one ", "two", namespace=BLUE),
        revision("stale", "old", namespace=BLUE, effective_to="2025-01-01T00:00:00Z"),
        revision("hidden", "for lawyers", namespace=BLUE, roles=["legal"]),
        revision("foreign", "red", namespace=RED),
    ]
    with catalog(tmp_path / "catalog", revisions) as made:
        yield made


def gate(reading: Reading) -> AssemblyGate:
    return AssemblyGate(reading, eligibility(ANN), facts=reading.facts(), trace=unranked, max_units=10)


def handles(reading: Reading) -> dict[str, str]:
    """Source and ordinal -> handle, of every unit."""
    return {
        f"{key.source_id}#{unit.key.ordinal}": citation_handle(unit)
        for key in reading.facts()
        for unit in reading.units_of(RevisionKey(*key))
    }


def test_a_handle_is_unusable_when_its_unit_is_stale_hidden_foreign_or_was_never_there(held: Catalog) -> None:
    """R7: all of them alike."""
    with held.read() as reading:
        known = handles(reading)
        unusable = {known["stale#0"], known["hidden#0"], known["foreign#0"], MADE_UP}

        assert gate(reading).unusable([*known.values(), MADE_UP]) == unusable
        assert gate(reading).unusable([known["usable#1"]]) == frozenset()
        assert gate(reading).unusable([]) == frozenset()


def test_no_handle_is_usable_once_the_caller_is_revoked(held: Catalog) -> None:
    held.revoke(Subject(BLUE, ANN.principal.sub))

    with held.read() as reading:
        known = handles(reading)
        assert gate(reading).unusable(known.values()) == frozenset(known.values())


def test_many_handles_cost_one_lookup_and_one_reading_of_the_revocations(held: Catalog) -> None:
    with held.read() as reading:
        known = handles(reading)
        statements: list[str] = []
        event.listen(held._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))

        gate(reading).unusable([*known.values(), *(f"EV-{number:016d}" for number in range(200))])
    assert sum("FROM unit" in statement for statement in statements) == 1
    assert sum("FROM revocation" in statement and "count" not in statement for statement in statements) == 1
