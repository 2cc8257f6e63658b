import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evidence.identity import PUBLIC, RevisionKey
from index.errors import DamagedGeneration, NoGeneration, PublisherBusy, PublishFailed
from index.generation import CURRENT, GENERATIONS, current_name, open_current
from index.generation_format import ARRAYS, MANIFEST, RUNS, RevisionRun, identity_order
from index.postings import build_postings
from index.publishing import Contents, publish, publisher_lock
from tests.index.catalog_builders import recipe

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here cuts the power; which calls are made, and in which order, has tests of its own."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def contents(*documents: list[str], dimension: int = 4) -> Contents:
    """One revision for each document, with codes that count up."""
    postings, lengths = build_postings(documents)
    codes = np.arange(len(documents) * dimension, dtype=np.int8).reshape(-1, dimension)
    runs = [
        RevisionRun(
            key=RevisionKey(PUBLIC, f"s{row}", "1"),
            facts_digest="sha256:facts",
            label_digest="sha256:label",
            start=row,
            end=row + 1,
        )
        for row in range(len(documents))
    ]
    return Contents(recipe=recipe(dimension=dimension), runs=runs, codes=[codes], postings=postings, lengths=lengths)


def published(directory: Path, made: Contents) -> str:
    with publisher_lock(directory) as lock:
        return publish(made, lock=lock)


def test_what_was_published_is_what_is_opened(tmp_path: Path) -> None:
    made = contents(["fern", "moss", "fern"], ["moss"])
    name = published(tmp_path, made)

    opened = open_current(tmp_path, made.recipe)
    assert (opened.name, opened.rows, opened.dimension) == (name, 2, 4)
    assert opened.codes.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert opened.lengths.tolist() == [3, 1]
    assert dict(opened.postings.terms) == {"fern": 0, "moss": 1}
    assert opened.postings.offsets.tolist() == [0, 1, 3]
    assert opened.postings.posting_rows.tolist() == [0, 0, 1]
    assert opened.postings.frequencies.tolist() == [2, 1, 1]
    assert list(opened.runs) == made.runs
    assert not opened.codes.flags.writeable


def test_a_generation_without_rows_can_be_published_and_opened(tmp_path: Path) -> None:
    published(tmp_path, contents())

    opened = open_current(tmp_path, recipe(dimension=4))
    assert (opened.rows, opened.codes.shape, len(opened.postings.terms)) == (0, (0, 4), 0)
    assert opened.keys_of([]) == []


def test_equal_contents_have_an_equal_name_anywhere(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    assert published(tmp_path / "a", contents(["fern"])) == published(tmp_path / "b", contents(["fern"]))
    assert published(tmp_path / "a", contents(["fern"])) != published(tmp_path / "b", contents(["moss"]))


@pytest.mark.parametrize(
    "other",
    [
        replace(contents(["fern"]), recipe=recipe(dimension=4, runtime="hash 2")),
        replace(contents(["fern"]), codes=[np.array([[0, 1, 2, 4]], dtype=np.int8)]),
        replace(contents(["fern"]), runs=[replace(contents(["fern"]).runs[0], label_digest="sha256:other")]),
    ],
)
def test_other_contents_have_another_name(tmp_path: Path, other: Contents) -> None:
    assert published(tmp_path, contents(["fern"])) != published(tmp_path, other)


def test_publishing_the_same_again_changes_nothing_on_the_disk(tmp_path: Path) -> None:
    published(tmp_path, contents(["fern"]))
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / GENERATIONS).rglob("*.*")}

    published(tmp_path, contents(["fern"]))
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / GENERATIONS).rglob("*.*")} == before


def test_publishing_again_repairs_a_damaged_generation(tmp_path: Path) -> None:
    name = published(tmp_path, contents(["fern"]))
    (tmp_path / GENERATIONS / name / "codes.int8").write_bytes(b"????")

    assert published(tmp_path, contents(["fern"])) == name
    assert open_current(tmp_path, recipe(dimension=4)).codes.tolist() == [[0, 1, 2, 3]]


def test_the_current_and_the_previous_generation_are_kept_and_no_older_one(tmp_path: Path) -> None:
    names = [published(tmp_path, contents([word])) for word in ("fern", "moss", "yew")]

    assert {folder.name for folder in (tmp_path / GENERATIONS).iterdir()} == set(names[1:])


def test_an_open_generation_outlives_its_directory(tmp_path: Path) -> None:
    """G8: a reader is never broken by publishing."""
    published(tmp_path, contents(["fern"]))
    opened = open_current(tmp_path, recipe(dimension=4))
    for word in ("moss", "yew"):
        published(tmp_path, contents([word]))

    assert not (tmp_path / GENERATIONS / opened.name).exists()
    assert opened.codes.tolist() == [[0, 1, 2, 3]]
    assert opened.postings.terms["fern"] == 0


def test_a_second_publisher_is_told_at_once(tmp_path: Path) -> None:
    """G9."""
    with publisher_lock(tmp_path), pytest.raises(PublisherBusy), publisher_lock(tmp_path):
        pass
    with publisher_lock(tmp_path):
        pass


def test_the_lock_ends_with_a_publisher_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import pathlib, time\nfrom index.publishing import publisher_lock\n"
        f"with publisher_lock(pathlib.Path({str(tmp_path)!r})): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(PublisherBusy), publisher_lock(tmp_path):
            pass
        holder.kill()

    with publisher_lock(tmp_path):
        pass


def test_what_a_dead_publisher_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / GENERATIONS / ".unfinished-1").mkdir(parents=True)
    (tmp_path / GENERATIONS / ".unfinished-1" / "codes.int8").write_bytes(b"half")

    name = published(tmp_path, contents(["fern"]))
    assert [folder.name for folder in (tmp_path / GENERATIONS).iterdir()] == [name]


def test_before_the_first_publishing_there_is_no_generation(tmp_path: Path) -> None:
    with pytest.raises(NoGeneration):
        open_current(tmp_path, recipe())


@pytest.mark.parametrize("content", [b"", b"g-0", b"../../etc\n", b"g-" + b"0" * 32, b"\xff\n"])
def test_a_current_that_names_no_generation_is_damage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CURRENT).write_bytes(content)

    with pytest.raises(DamagedGeneration):
        open_current(tmp_path, recipe())


@pytest.mark.parametrize("part", [*ARRAYS, RUNS, MANIFEST])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data[:-1] + bytes([data[-1] ^ 128]),
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"",
        None,
    ],
    ids=["first bit", "last bit", "cut", "longer", "emptied", "missing"],
)
def test_a_damaged_file_is_found_before_it_is_used(
    tmp_path: Path, part: str, damage: Callable[[bytes], bytes] | None
) -> None:
    """G5."""
    file = tmp_path / GENERATIONS / published(tmp_path, contents(["fern"], ["moss"])) / part
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))

    with pytest.raises(DamagedGeneration, match=part):
        open_current(tmp_path, recipe(dimension=4))


SYNCS = len(ARRAYS) + len((RUNS, MANIFEST, "their directory, twice", "2", GENERATIONS, CURRENT, "the catalog's own"))


@pytest.mark.parametrize("wanted", range(1, SYNCS + 1))
def test_a_disk_that_fails_to_sync_ends_the_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: int
) -> None:
    """G3: at every sync there is. Only the last one comes after CURRENT was replaced."""
    old = published(tmp_path, contents(["fern"]))
    calls = 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == wanted:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(PublishFailed, match="Input/output error"):
        published(tmp_path, contents(["moss"]))
    assert calls == wanted
    assert (current_name(tmp_path) == old) == (wanted < SYNCS)
    assert open_current(tmp_path, recipe(dimension=4)).rows == 1

    published(tmp_path, contents(["moss"]))
    assert dict(open_current(tmp_path, recipe(dimension=4)).postings.terms) == {"moss": 0}


def test_a_crash_at_any_step_leaves_the_old_generation_or_the_new_one(tmp_path: Path) -> None:
    """G1: a child process is ended before and after every call that changes the disk."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.index.crashing_publisher", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    outcomes = json.loads(done.stdout)

    assert {outcome["state"] for outcome in outcomes} == {"old", "new"}
    assert all(outcome["next"] == "new" for outcome in outcomes)
    assert len(outcomes) > 50
    assert {outcome["call"] for outcome in outcomes} == {"fsync", "mkdir", "rename", "replace", "rmdir", "unlink"}


def test_the_order_of_rows_follows_keys_and_not_the_layout() -> None:
    """R11: by hand; `b` lies first, in the compartment whose label comes first."""
    runs = [
        RevisionRun(key=RevisionKey(PUBLIC, source, number), facts_digest="", label_digest="", start=start, end=end)
        for source, number, start, end in (("b", "1", 0, 2), ("a", "10", 2, 3), ("a", "9", 3, 5), ("c", "1", 5, 5))
    ]

    assert identity_order(runs, 5).tolist() == [3, 4, 0, 1, 2]
