import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from evidence.access import Label
from evidence.grants import Subject
from evidence.identity import PUBLIC, RevisionKey, SourceKey
from index.catalog import DATABASE, Catalog
from index.errors import NotACatalog
from index.generation import CURRENT, GENERATIONS, Generation, current_name, open_generation
from index.generation_check import broken_promises
from index.generation_format import ARRAYS, MANIFEST, RUNS
from index.integrity import Damage, verify
from index.postings import Postings
from index.publishing import Contents, publish, publisher_lock
from tests.index.catalog_builders import BLUE, DIMENSION, build_index, catalog, recipe, revision

ROOT = Path(__file__).parents[2]

HELD = (
    revision("s", "# Fern\n\n", "one two", title="Notes"),
    revision("s", "# Fern\n\n", "one three", title="Notes", revision="2", supersedes=[RevisionKey(PUBLIC, "s", "1")]),
    revision("t", "moss", namespace=BLUE, roles=["engineer"]),
    revision("empty"),
    revision("gone"),
)


def whole(directory: Path) -> Path:
    """A catalog with an index in which nothing is damaged."""
    with catalog(directory, HELD) as made:
        build_index(made)
        made.revoke(RevisionKey(PUBLIC, "gone", "1"))
        made.revoke(Subject(BLUE, "bob"))
    return directory


def change(directory: Path, *statements: str) -> list[Damage]:
    """The damage found after `statements` were run behind the catalog's back."""
    with Catalog.open(directory) as made, made.write() as connection:
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        for statement in statements:
            connection.execute(text(statement))
    return verify(directory)


def test_a_whole_catalog_has_no_damage(tmp_path: Path) -> None:
    assert verify(whole(tmp_path / "c")) == []


def test_what_is_not_encoded_or_indexed_yet_is_no_damage(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", HELD[:1]) as made:
        assert verify(tmp_path / "c") == []
        build_index(made)
        made.add(HELD[1:], relabel=False)
    (tmp_path / "c" / GENERATIONS / ".unfinished-1").mkdir()

    assert verify(tmp_path / "c") == []


def test_a_relabelled_source_is_no_damage(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", HELD) as made:
        build_index(made)
        made.add([revision("t", "moss", namespace=BLUE)], relabel=True)

    assert verify(tmp_path / "c") == []


def test_what_was_taken_out_revoked_or_put_under_another_label_is_no_damage(tmp_path: Path) -> None:
    with Catalog.open(whole(tmp_path / "c")) as made:
        made.delete(SourceKey(PUBLIC, "s"))
        made.relabel(SourceKey(BLUE, "t"), Label(namespace=BLUE))
        made.add(HELD[:1], relabel=False)

    assert verify(tmp_path / "c") == []


def test_a_directory_that_is_no_catalog_is_an_error_and_no_damage(tmp_path: Path) -> None:
    with pytest.raises(NotACatalog):
        verify(tmp_path)


@pytest.mark.parametrize("part", [*ARRAYS, RUNS, MANIFEST])
def test_a_flipped_bit_of_any_file_is_found(tmp_path: Path, part: str) -> None:
    """G5: one bit in each of a dozen bytes, the first among them, spread over the file."""
    directory = whole(tmp_path / "c")
    file = directory / GENERATIONS / current_name(directory) / part
    data = file.read_bytes()

    for place in range(0, len(data), max(1, len(data) // 12)):
        file.write_bytes(data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :])
        assert [damage.where for damage in verify(directory)] == [f"{GENERATIONS}/{file.parent.name}/{part}"]


@pytest.mark.parametrize("part", [*ARRAYS, RUNS, MANIFEST])
@pytest.mark.parametrize("damage", [lambda file: file.write_bytes(file.read_bytes()[:-1]), Path.unlink])
def test_a_cut_or_missing_file_is_found(tmp_path: Path, part: str, damage: Callable[[Path], None]) -> None:
    directory = whole(tmp_path / "c")
    damage(directory / GENERATIONS / current_name(directory) / part)

    assert [part in found.where for found in verify(directory)] == [True]


def test_a_file_that_does_not_belong_is_found(tmp_path: Path) -> None:
    directory = whole(tmp_path / "c")
    (directory / GENERATIONS / current_name(directory) / "extra.bin").write_bytes(b"x")
    (directory / GENERATIONS / "notes").mkdir()

    assert [found.problem for found in verify(directory)] == ["belongs to no generation", "is no generation"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "is missing"),
        (b"", "does not name a generation"),
        (b"g-" + b"0" * 32 + b"\n", "which is missing"),
    ],
)
def test_a_current_that_leads_nowhere_is_found(tmp_path: Path, content: bytes | None, problem: str) -> None:
    directory = whole(tmp_path / "c")
    if content is None:
        (directory / CURRENT).unlink()
    else:
        (directory / CURRENT).write_bytes(content)

    (found,) = [found for found in verify(directory) if found.where == CURRENT]
    assert problem in found.problem


@pytest.mark.parametrize(
    ("statement", "where", "problem"),
    [
        ("UPDATE unit SET text = 'one twO' WHERE text = 'one two'", "unit", "does not match its digest"),
        ("UPDATE unit SET tokens = tokens + 1 WHERE text = 'moss'", "unit", "does not match its digest"),
        ("UPDATE unit SET ordinal = 7 WHERE text = 'one two'", "unit", "does not match its digest"),
        ("UPDATE unit SET ordinal = x'07' WHERE text = 'one two'", "unit", "does not match its digest"),
        ("DELETE FROM unit WHERE text = 'one two'", "unit", "has 1 units, had 2"),
        ("UPDATE revision SET title = 'x' WHERE source_id = 't'", "revision", "do not match their digest"),
        ("UPDATE revision SET units = 'x' WHERE source_id = 't'", "revision", "do not match their digest"),
        ("UPDATE revision SET status = 'x' WHERE source_id = 't'", "revision", "cannot be read"),
        ("UPDATE label SET record = '{}' WHERE record LIKE '%engineer%'", "label", "cannot be read"),
        ("UPDATE code SET codes = zeroblob(16) WHERE namespace = 'blue'", "code", "does not match its digest"),
        ("UPDATE code SET codes = x'00' WHERE namespace = 'blue'", "code", "does not match its digest"),
        ("DELETE FROM code WHERE namespace = 'blue'", "codes.int8", "has no code for it"),
        ("UPDATE unit SET handle = 'EV-0000000000000000' WHERE text = 'moss'", "unit", "the handle of unit 0"),
        ("UPDATE revision SET revoked = 1 WHERE source_id = 't'", "revision", "do not match their digest"),
        ("UPDATE revision SET revoked = NULL WHERE source_id = 'gone'", "revision", "do not match their digest"),
        ("DELETE FROM superseder", "superseder", "revision '2' of source 's' in 'public'"),
        ("UPDATE superseder SET of_revision = '9'", "superseder", "is not what its facts state"),
        ("UPDATE revocation SET name = 'eve'", "revocation", "does not match its digest"),
        ("UPDATE revocation SET name = x'ff'", "revocation", "cannot be read"),
        ("DELETE FROM revocation", "revocation", "has 0 revocations, had 1"),
        ("DELETE FROM revoked_revision", "revoked_revision", "remembers 0 revoked revisions, had 1"),
        ("UPDATE revoked_revision SET source_id = 't'", "revoked_revision", "does not match its digest"),
        ("UPDATE revision SET was_draft = 1 WHERE source_id = 't'", "revision", "cannot be read"),
    ],
)
def test_whatever_changed_in_the_database_is_found(tmp_path: Path, statement: str, where: str, problem: str) -> None:
    """F4, G5."""
    found = change(whole(tmp_path / "c"), statement)

    assert [damage for damage in found if damage.where.endswith(where) and problem in damage.problem]


def test_damage_is_listed_whole_and_names_no_content(tmp_path: Path) -> None:
    directory = whole(tmp_path / "c")
    (directory / GENERATIONS / current_name(directory) / "lengths.int32").write_bytes(b"")
    found = change(directory, "UPDATE unit SET text = 'secret word'")

    assert [damage.where.rpartition("/")[2] for damage in found] == ["lengths.int32", *["unit"] * 5]
    assert not any("secret" in str(damage) or "\n" in str(damage) for damage in found)


def test_a_broken_reference_is_found(tmp_path: Path) -> None:
    directory = whole(tmp_path / "c")
    with Catalog.open(directory) as made:
        raw = made._engine.raw_connection()
        raw.cursor().execute("PRAGMA foreign_keys = OFF")
        raw.cursor().execute("DELETE FROM source WHERE source_id = 't'")
        raw.close()

    assert "a row of revision refers to a missing row of source" in [found.problem for found in verify(directory)]


@pytest.mark.parametrize("start", [0, 16, 4096, 3 * 4096])
def test_an_overwritten_stretch_of_the_database_is_found(tmp_path: Path, start: int) -> None:
    directory = whole(tmp_path / "c")
    data = bytearray((directory / DATABASE).read_bytes())
    data[start : start + 300] = b"\xa5" * 300
    (directory / DATABASE).write_bytes(data)

    assert DATABASE in {found.where for found in verify(directory)}


def test_a_mutated_database_is_refused_or_right_and_never_crashes(tmp_path: Path) -> None:
    """F4: read by child processes, whose end by a signal would show."""
    whole(tmp_path / "c")
    done = subprocess.run(
        [sys.executable, "-m", "tests.index.mutated_databases", str(tmp_path / "c"), "150"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert set(outcomes) == {"refused", "right"}
    assert sum(outcomes.values()) == 150


def generation(directory: Path, documents: Iterable[tuple[RevisionKey, list[str]]]) -> Generation:
    with catalog(directory, [revision(key.source_id, " ".join(words)) for key, words in documents]) as made:
        build_index(made)
        return open_generation(directory, current_name(directory), recipe=made.recipe)


@pytest.fixture
def sound(tmp_path: Path) -> Generation:
    documents = [(RevisionKey(PUBLIC, name, "1"), words) for name, words in (("a", ["fern", "moss"]), ("b", ["fern"]))]
    return generation(tmp_path / "c", documents)


def test_a_sound_generation_keeps_its_promises(sound: Generation) -> None:
    assert list(broken_promises(sound)) == []


def with_postings(sound: Generation, **arrays: list[int]) -> Generation:
    held = sound.postings
    given = {name: np.array(values, dtype=getattr(held, name).dtype) for name, values in arrays.items()}
    return replace(
        sound,
        postings=Postings(
            terms=held.terms,
            offsets=given.get("offsets", held.offsets),
            posting_rows=given.get("posting_rows", held.posting_rows),
            frequencies=given.get("frequencies", held.frequencies),
        ),
    )


@pytest.mark.parametrize(
    ("broken", "part"),
    [
        (lambda held: with_postings(held, posting_rows=[1, 0, 0]), "posting_rows.int32"),  # fern: 0, 1; moss: 0
        (lambda held: with_postings(held, posting_rows=[0, 0, 0]), "posting_rows.int32"),
        (lambda held: with_postings(held, posting_rows=[0, 2, 0]), "posting_rows.int32"),
        (lambda held: with_postings(held, posting_rows=[0, 1, 1]), "lengths.int32"),
        (lambda held: with_postings(held, frequencies=[1, 1, 2]), "lengths.int32"),
        (lambda held: with_postings(held, frequencies=[1, 0, 1]), "posting_frequencies.int32"),
        (lambda held: with_postings(held, offsets=[0, 0, 3]), "posting_offsets.int64"),
        (lambda held: replace(held, order=held.order[::-1]), RUNS),
        (lambda held: replace(held, runs=held.runs[::-1]), RUNS),
        (lambda held: replace(held, runs=held.runs[:1], run_of={}), RUNS),
        (lambda held: replace(held, rows=3), RUNS),
    ],
)
def test_a_broken_promise_is_found(sound: Generation, broken: Callable[[Generation], Generation], part: str) -> None:
    assert part in {where for where, _ in broken_promises(broken(sound))}


def test_rows_that_disagree_with_the_catalog_are_found_though_every_digest_holds(tmp_path: Path) -> None:
    """A mistake of the program that published, not of the disk."""
    directory = whole(tmp_path / "c")
    with Catalog.open(directory) as made:
        held = open_generation(directory, current_name(directory), recipe=made.recipe)
        contents = Contents(
            recipe=recipe(),
            runs=held.runs,
            codes=[np.zeros((held.rows, DIMENSION), dtype=np.int8)],
            postings=held.postings,
            lengths=held.lengths,
        )
        with publisher_lock(directory) as lock:
            publish(contents, lock=lock)

    found = verify(directory)
    assert len(found) == held.rows
    assert all(damage.where.endswith("codes.int8") and "not the catalog's" in damage.problem for damage in found)
