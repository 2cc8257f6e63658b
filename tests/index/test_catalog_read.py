from pathlib import Path

import pytest
from sqlalchemy import event, text

from evidence.citations import citation_handle
from evidence.identity import PUBLIC, RevisionKey, SourceKey, UnitKey
from index.catalog import Catalog
from index.errors import DamagedCatalog
from tests.index.catalog_builders import BLUE, catalog, revision

S1 = RevisionKey(PUBLIC, "s", "1")


def unit_key(ordinal: int, source_id: str = "s") -> UnitKey:
    return UnitKey(PUBLIC, source_id, "1", ordinal)


def test_facts_come_back_as_they_went_in_and_in_key_order(tmp_path: Path) -> None:
    offered = [
        revision("s", "two", revision="2", title="Fern", effective_from="2025-01-01T00:00:00Z", supersedes=[S1]),
        revision("s", "one", effective_to="2025-01-01T00:00:00Z"),
        revision("ä", "drei", namespace=BLUE, roles=["b", "a"], purposes=["support"]),
    ]
    with catalog(tmp_path / "c", offered) as made, made.read() as reading:
        facts = reading.facts()

    assert list(facts) == [(BLUE, "ä", "1"), (PUBLIC, "s", "1"), (PUBLIC, "s", "2")]
    assert facts == {offer.facts.key: offer.facts for offer in offered}
    assert {found.digest for found in facts.values()} == {offer.facts.digest for offer in offered}


def test_units_come_back_whole_in_the_order_asked(tmp_path: Path) -> None:
    offered = revision("s", "# Größe\n\n", "𝔘nit \N{ZERO WIDTH JOINER}two", title="Fern")
    with catalog(tmp_path / "c", [offered, revision("t", "x")]) as made, made.read() as reading:
        assert reading.units([unit_key(1), unit_key(0), unit_key(1)]) == [offered.units[n] for n in (1, 0, 1)]
        assert reading.units_of(S1) == offered.units
        assert reading.revision_text(S1) == offered.text
        assert reading.unit_count == 3


@pytest.mark.parametrize("key", [unit_key(2), unit_key(-1), unit_key(0, "absent")])
def test_a_unit_that_is_not_there_is_a_key_error(tmp_path: Path, key: UnitKey) -> None:
    with catalog(tmp_path / "c", [revision("s", "one", "two")]) as made, made.read() as reading:
        assert reading.units([unit_key(0)])
        with pytest.raises(KeyError):
            reading.units([key])


def test_a_revision_without_text_has_no_units(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s")]) as made, made.read() as reading:
        assert reading.units_of(S1) == []
        assert reading.revision_text(S1) == ""


def test_a_reader_sees_one_state_while_a_writer_commits(tmp_path: Path) -> None:
    """The driver's default would show the new revision in the second statement."""
    catalog(tmp_path / "c", [revision("s", "one")]).close()
    with Catalog.open(tmp_path / "c") as made, Catalog.open(tmp_path / "c") as writer, made.read() as reading:
        writer.add([revision("t", "two")], relabel=False)

        assert (reading.unit_count, len(reading.facts())) == (1, 1)
        with made.read() as later:
            assert (later.unit_count, len(later.facts())) == (2, 2)
        assert (reading.unit_count, len(reading.facts())) == (1, 1)


def test_an_open_write_is_not_seen(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one")]) as made, made.write() as connection:
        connection.execute(text("UPDATE catalog_state SET change = 99"))
        with made.read() as reading:
            assert reading.change == 1


def count_facts_read(made: Catalog) -> list[str]:
    statements: list[str] = []

    def listen(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "revision.title" in statement:
            statements.append(statement)

    event.listen(made._engine, "before_cursor_execute", listen)
    return statements


def test_facts_are_read_again_only_after_a_write_and_then_only_the_new_ones(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision(f"s{n}", "x") for n in range(5)]) as made:
        statements = count_facts_read(made)
        for _ in range(3):
            with made.read() as reading:
                held = reading.facts()
        made.add([revision("t", "new")], relabel=False)
        with made.read() as reading:
            assert [key for key in reading.facts() if key not in held] == [(PUBLIC, "t", "1")]
            assert reading.facts()[RevisionKey(PUBLIC, "s0", "1")] is held[RevisionKey(PUBLIC, "s0", "1")]

    assert ["WHERE revision.change" in statement for statement in statements] == [False, True]


def test_a_revision_taken_out_elsewhere_is_gone_from_memory_too(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one"), revision("t", "two")]) as made:
        with made.read() as reading:
            reading.facts()
        with made.write() as connection:
            for table in ("unit", "revision"):
                connection.execute(text(f"DELETE FROM {table} WHERE source_id = 's'"))
            connection.execute(text("UPDATE catalog_state SET change = change + 1, revisions = revisions - 1"))
        made.add([revision("u", "three")], relabel=False)

        with made.read() as reading:
            assert [key.source_id for key in reading.facts()] == ["t", "u"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE unit SET text = 'onE'",
        "UPDATE unit SET prefix = 'x'",
        "UPDATE unit SET heading = '[\"x\"]'",
        'UPDATE unit SET start = 1, "end" = 4',
        "UPDATE unit SET tokens = 2",
        "UPDATE unit SET tokens = 'three'",
        "UPDATE unit SET seal = x'00'",
        "UPDATE unit SET text = x'6f6e65'",
    ],
)
def test_a_unit_that_changed_in_the_database_is_never_returned(tmp_path: Path, change: str) -> None:
    """F4, G5."""
    with catalog(tmp_path / "c", [revision("s", "one")]) as made:
        with made.write() as connection:
            connection.execute(text(change))

        with made.read() as reading, pytest.raises(DamagedCatalog):
            reading.units([unit_key(0)])


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE revision SET title = 'x'",
        "UPDATE revision SET status = 'nonsense'",
        "UPDATE revision SET status = 'draft'",
        "UPDATE revision SET effective_from = 5",
        "UPDATE revision SET units = 2",
        "UPDATE revision SET relations = '{}'",
        "UPDATE revision SET content_digest = 'sha256:0'",
        "UPDATE label SET record = replace(record, 'engineer', 'everyone')",
        "UPDATE label SET record = '['",
        "UPDATE catalog_state SET revisions = 3",
        "UPDATE source SET label_digest = (SELECT digest FROM label WHERE record LIKE '%public%')",
    ],
)
def test_facts_that_changed_in_the_database_are_never_returned(tmp_path: Path, change: str) -> None:
    """F4, G5, R3: a label that cannot be trusted is an error, never an open door."""
    held = [revision("s", "one", namespace=BLUE, roles=["engineer"]), revision("t", "two")]
    with catalog(tmp_path / "c", held) as made:
        with made.write() as connection:
            connection.execute(text(change))

        with made.read() as reading, pytest.raises(DamagedCatalog):
            reading.facts()


def test_a_handle_names_its_unit_and_any_other_text_names_none(tmp_path: Path) -> None:
    """R27, R33."""
    held = [revision("s", "one ", "two"), revision("s", "one ", namespace=BLUE)]
    with catalog(tmp_path / "c", held) as made, made.read() as reading:
        one, two = reading.units([unit_key(0), unit_key(1)])

        assert reading.units_by_handle(citation_handle(two)) == [two]
        assert reading.units_by_handle(citation_handle(one)) == [one]
        assert reading.units_by_handle("") == []
        assert reading.units_by_handle(citation_handle(one).lower()) == []


def test_many_handles_are_looked_up_together_in_one_statement_for_each_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.catalog_read.HANDLES_AT_ONCE", 2)
    with catalog(tmp_path / "c", [revision("s", "one ", "two ", "three")]) as made, made.read() as reading:
        units = reading.units_of(S1)
        handles = [citation_handle(unit) for unit in units]
        statements: list[str] = []
        event.listen(made._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))

        assert reading.units_by_handles([*handles, "EV-0000000000000000", handles[0]]) == {
            handle: [unit] for handle, unit in zip(handles, units, strict=True)
        }
        assert len(statements) == 2
        assert reading.units_by_handles([]) == {}
        assert len(statements) == 2


def test_units_whose_handles_collide_come_in_key_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("index.catalog_rows", "index.catalog_read"):
        monkeypatch.setattr(f"{module}.citation_handle", lambda _: "EV-0000000000000000")
    with (
        catalog(tmp_path / "c", [revision("t", "x"), revision("s", "y", namespace=BLUE), revision("s", "z")]) as made,
        made.read() as reading,
    ):
        found = reading.units_by_handle("EV-0000000000000000")

    assert [unit.key.source_id + unit.key.namespace for unit in found] == ["sblue", "spublic", "tpublic"]


def test_a_unit_under_the_handle_of_another_is_never_returned(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one ", "two")]) as made:
        with made.write() as connection:
            connection.execute(text("UPDATE unit SET handle = 'EV-0000000000000000' WHERE ordinal = 0"))

        with made.read() as reading, pytest.raises(DamagedCatalog):
            reading.units_by_handle("EV-0000000000000000")


def test_after_a_delete_the_facts_that_are_left_are_not_read_again(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision(f"s{n}", "x") for n in range(5)]) as made:
        statements = count_facts_read(made)
        with made.read() as reading:
            held = reading.facts()
        made.delete(SourceKey(PUBLIC, "s2"))

        with made.read() as reading:
            assert list(reading.facts()) == [key for key in held if key.source_id != "s2"]
            assert all(facts is held[key] for key, facts in reading.facts().items())
    assert ["WHERE revision.change" in statement for statement in statements if "source_id = ?" not in statement] == [
        False,
        True,
    ]
