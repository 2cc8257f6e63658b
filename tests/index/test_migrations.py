from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, inspect, make_url
from sqlalchemy.schema import CreateTable

from index.catalog_connection import migrate, open_engine, writing
from index.catalog_tables import METADATA
from tests.index.catalog_builders import catalog


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


def test_keys_compare_by_code_point_on_postgresql_too() -> None:
    """R11."""
    dialect = make_url("postgresql+psycopg://").get_dialect()()
    unit = str(CreateTable(METADATA.tables["unit"]).compile(dialect=dialect))

    assert 'source_id TEXT COLLATE "C" NOT NULL' in unit
    assert "number BIGSERIAL NOT NULL" in unit
