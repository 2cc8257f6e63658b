from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine, inspect, make_url, select
from sqlalchemy.schema import CreateTable

from evidence.citations import citation_handle
from evidence.identity import PUBLIC, RevisionKey, UnitKey
from evidence.revision import Status
from index.catalog import Catalog
from index.catalog_connection import migrate, open_engine, writing
from index.catalog_read import Reading
from index.catalog_tables import METADATA
from index.integrity import verify
from tests.index.catalog_builders import BLUE, catalog, revision


def test_migrations_make_exactly_the_tables_that_queries_use(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made, made.read() as reading:
        context = MigrationContext.configure(reading.connection, opts={"compare_type": True})

        assert compare_metadata(context, METADATA) == []


def test_migrations_make_the_same_constraints_too(tmp_path: Path) -> None:
    """Alembic compares no primary keys: columns, keys and indexes are compared with SQLAlchemy's own tables."""
    plain = create_engine("sqlite://")
    METADATA.create_all(plain)
    expected = inspect(plain)
    with catalog(tmp_path / "c") as made, made.read() as reading:
        found = inspect(reading.connection)
        for table in METADATA.tables:
            assert found.get_pk_constraint(table) == expected.get_pk_constraint(table)
            assert found.get_foreign_keys(table) == expected.get_foreign_keys(table)
            assert found.get_unique_constraints(table) == expected.get_unique_constraints(table)
    plain.dispose()


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    engine = open_engine(tmp_path / "x.sqlite")
    for _ in range(2):
        with writing(engine) as connection:
            migrate(connection)
    with writing(engine) as connection:
        assert set(inspect(connection).get_table_names()) == {*METADATA.tables, "alembic_version"}
    engine.dispose()


def test_a_first_catalog_is_brought_up_to_date_with_handles_and_superseders(tmp_path: Path) -> None:
    """R27: the handle of a passage does not depend on when it came in."""
    target = RevisionKey(BLUE, "s", "1")
    offered = [
        revision("s", "one ", "two", namespace=BLUE),
        revision("s", "three", revision="2", namespace=BLUE, supersedes=[target, RevisionKey(PUBLIC, "gone", "1")]),
    ]
    with catalog(tmp_path / "c", offered) as made:
        with made.read() as reading:
            expected = everything(reading)
        with made.write() as connection:
            downgrade(connection, "0001")

    with Catalog.open(tmp_path / "c") as opened, opened.read() as reading:
        assert everything(reading) == expected
        (found,) = reading.units_by_handle(citation_handle(reading.units([UnitKey(*target, 1)])[0]))
        assert found.text == "two"
    assert verify(tmp_path / "c") == []


def test_what_was_revoked_in_an_older_catalog_stays_revoked_when_it_is_deleted(tmp_path: Path) -> None:
    """R4."""
    key = RevisionKey(BLUE, "s", "1")
    offered = revision("s", "one", namespace=BLUE)
    with catalog(tmp_path / "c", [offered, revision("t", "two")]) as made:
        made.revoke(key)
        with made.write() as connection:
            downgrade(connection, "0003")

    assert verify(tmp_path / "c") == []
    with Catalog.open(tmp_path / "c") as opened:
        opened.delete(key.source)
        opened.add([offered], relabel=False)
        with opened.read() as reading:
            assert reading.facts()[key].status is Status.REVOKED
    assert verify(tmp_path / "c") == []


def everything(reading: Reading) -> list[list[object]]:
    """All rows of the tables that the second format filled, and of those that it may not change."""
    tables = ("unit", "superseder", "revision", "source", "label", "ingest", "relabelling", "revocation")
    return [list(reading.connection.execute(select(METADATA.tables[name]))) for name in tables]


def downgrade(connection: Connection, format_name: str) -> None:
    config = Config()
    config.set_main_option("script_location", "index:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.downgrade(config, format_name)


def test_keys_compare_by_code_point_on_postgresql_too() -> None:
    """R11."""
    dialect = make_url("postgresql+psycopg://").get_dialect()()
    unit = str(CreateTable(METADATA.tables["unit"]).compile(dialect=dialect))

    assert 'source_id TEXT COLLATE "C" NOT NULL' in unit
    assert "number BIGSERIAL NOT NULL" in unit
