from pathlib import Path

import pytest
from sqlalchemy import text

from index.catalog import DATABASE, Catalog
from index.errors import CatalogBusy, DamagedCatalog, DirectoryNotEmpty, NewerFormat, NotACatalog
from tests.index.catalog_builders import catalog, recipe, revision


def test_a_new_catalog_keeps_its_recipe(tmp_path: Path) -> None:
    Catalog.create(tmp_path / "c", recipe(runtime="hash 7")).close()

    with Catalog.open(tmp_path / "c") as opened:
        assert opened.recipe == recipe(runtime="hash 7")


def test_a_catalog_is_made_in_an_empty_directory_that_exists(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()

    with Catalog.create(tmp_path / "c", recipe()) as made, made.read() as reading:
        assert reading.unit_count == 0


def test_a_directory_with_anything_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "notes.txt").write_text("mine")

    with pytest.raises(DirectoryNotEmpty):
        Catalog.create(tmp_path / "c", recipe())
    assert [file.name for file in tmp_path.rglob("*")] == ["c", "notes.txt"]


def test_nothing_half_made_is_left_when_making_fails(tmp_path: Path) -> None:
    def fail(directory: Path) -> None:
        (directory / "keys").mkdir()
        raise OSError("no entropy")

    with pytest.raises(OSError, match="no entropy"):
        Catalog.create(tmp_path / "c", recipe(), prepare=fail)
    assert list(tmp_path.iterdir()) == []


def test_what_is_prepared_is_in_the_catalog_from_its_first_moment(tmp_path: Path) -> None:
    Catalog.create(tmp_path / "c", recipe(), prepare=lambda directory: (directory / "keys").mkdir()).close()

    assert (tmp_path / "c" / "keys").is_dir()


@pytest.mark.parametrize("content", [None, "directory", "file"])
def test_opening_what_is_no_catalog_says_so(tmp_path: Path, content: str | None) -> None:
    if content == "directory":
        (tmp_path / "c").mkdir()
    elif content == "file":
        (tmp_path / "c").write_text("x")

    with pytest.raises(NotACatalog, match="holds no catalog"):
        Catalog.open(tmp_path / "c")


def test_a_catalog_of_a_later_version_is_refused_with_both_formats(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made, made.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))

    with pytest.raises(NewerFormat, match=r"format 0999.*up to 000\d"):
        Catalog.open(tmp_path / "c")


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to look like one" * 40])
def test_a_file_that_is_no_database_is_a_damaged_catalog(tmp_path: Path, content: bytes) -> None:
    (tmp_path / DATABASE).write_bytes(content)

    with pytest.raises(DamagedCatalog):
        Catalog.open(tmp_path)


def test_quick_check_finds_a_broken_page_when_the_catalog_is_opened(tmp_path: Path) -> None:
    catalog(tmp_path / "c", [revision(f"s{n}", "word " * 400) for n in range(50)]).close()
    file = tmp_path / "c" / DATABASE
    pages = bytearray(file.read_bytes())
    pages[20 * 4096 : 20 * 4096 + 64] = b"\xff" * 64
    file.write_bytes(pages)

    with pytest.raises(DamagedCatalog):
        Catalog.open(tmp_path / "c")


def test_every_connection_is_hardened(tmp_path: Path) -> None:
    """F4."""
    with catalog(tmp_path / "c") as made, made.read() as reading:
        found = {
            name: reading.connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "trusted_schema", "cell_size_check", "synchronous")
        }

    assert found == {
        "journal_mode": "wal",
        "foreign_keys": 1,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "synchronous": 2,  # FULL
    }


def test_a_second_writer_that_waits_too_long_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.catalog_connection.BUSY_TIMEOUT_S", 0.01)
    with catalog(tmp_path / "c") as one, Catalog.open(tmp_path / "c") as other:
        with one.write(), pytest.raises(CatalogBusy):
            other.add([revision("s", "text")], relabel=False)
        assert other.add([revision("s", "text")], relabel=False).accepted == 1
