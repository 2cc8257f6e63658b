"""Tests of `index/records.py` and `index/records_connection.py`: what is kept, and what happens when it cannot be."""

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from evidence.canonical import digest
from evidence.identity import Namespace
from evidence.instant import Instant
from index import records_connection
from index.errors import DamagedRecords, RecordsUnavailable
from index.records import DATABASE, Answered, Records, packet_bytes
from index.records_tables import manifest, run

BLUE, RED = Namespace("blue"), Namespace("red")


def answered(
    name: str, request_id: str = "r-1", *, namespace: Namespace = BLUE, at: int = 1000, size: int = 0
) -> Answered:
    """An answer whose packet id is the digest of `name`; `size` more bytes in its manifest."""
    return Answered(
        packet_id=digest(name),
        manifest=json.dumps({"name": name, "filler": "x" * size}).encode(),
        namespace=namespace,
        sub="ann",
        at=Instant(at),
        request_id=request_id,
        sealed=json.dumps({"request_id": request_id}).encode(),
    )


def run_ids(records: Records, name: str, *, namespace: Namespace | None = None, after: str | None = None) -> list[str]:
    runs = records.runs_of(digest(name), namespace=namespace, after=after, limit=100)
    return [json.loads(sealed)["request_id"] for sealed in runs]


@pytest.fixture(name="records")
def fixture_records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path) as records:
        yield records


def test_a_manifest_comes_back_byte_for_byte_with_whose_it_is(records: Records) -> None:
    one = answered("a")
    records.keep(one)

    kept = records.manifest_of(one.packet_id)
    assert kept is not None
    assert (kept.manifest, kept.namespace, kept.sub) == (one.manifest, "blue", "ann")


def test_a_manifest_is_kept_once_and_each_of_its_runs_in_order(records: Records) -> None:
    for request_id in ("r-1", "r-2", "r-1"):
        records.keep(answered("a", request_id))

    with records.reading() as connection:
        assert len(connection.execute(select(manifest)).all()) == 1
    assert run_ids(records, "a") == ["r-1", "r-2", "r-1"]


def test_runs_are_listed_for_a_namespace_or_for_all_and_from_a_given_one_on(records: Records) -> None:
    for request_id, namespace in (("r-1", BLUE), ("r-2", RED), ("r-3", BLUE)):
        records.keep(answered("a", request_id, namespace=namespace))

    assert run_ids(records, "a", namespace=BLUE) == ["r-1", "r-3"]
    assert run_ids(records, "a", after="r-1") == ["r-2", "r-3"]
    assert run_ids(records, "a", after="r-9") == []
    assert len(records.runs_of(digest("a"), namespace=None, after=None, limit=2)) == 2


def test_a_completed_run_holds_what_it_was_completed_with_and_no_other_run_does(records: Records) -> None:
    first = records.keep(answered("a", "r-1"))
    records.keep(answered("a", "r-2"))

    records.complete(first, b'{"request_id": "completed"}')
    assert run_ids(records, "a") == ["completed", "r-2"]


def test_the_latest_run_is_the_last_one_of_that_namespace(records: Records) -> None:
    for request_id, namespace in (("r-1", BLUE), ("r-2", BLUE), ("r-3", RED)):
        records.keep(answered("a", request_id, namespace=namespace))

    assert records.latest_run_of(digest("a"), namespace=BLUE) == b'{"request_id": "r-2"}'
    assert records.latest_run_of(digest("b"), namespace=BLUE) is None


@pytest.mark.parametrize("text", ["", "sha256:", "sha256:" + "g" * 64, "sha256:" + "A" * 64, digest("a") + "0", "\x00"])
def test_a_text_that_is_no_packet_id_names_nothing(text: str, records: Records) -> None:
    records.keep(answered("a"))

    assert packet_bytes(text) is None
    assert records.manifest_of(text) is None
    assert records.runs_of(text, namespace=None, after=None, limit=5) == []


def test_records_are_readable_by_their_owner_alone(records: Records, tmp_path: Path) -> None:
    records.keep(answered("a"))

    assert {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {
        DATABASE: "0o600",
        f"{DATABASE}-wal": "0o600",
        f"{DATABASE}-shm": "0o600",
    }


def test_two_processes_worth_of_records_see_each_others_answers(records: Records, tmp_path: Path) -> None:
    with Records.open(tmp_path) as other:
        records.keep(answered("a", "r-1"))
        other.keep(answered("a", "r-2"))

        assert run_ids(records, "a") == run_ids(other, "a") == ["r-1", "r-2"]


def test_threads_that_keep_at_once_lose_nothing(records: Records) -> None:
    def keep(thread: int) -> None:
        for number in range(20):
            records.keep(answered(f"packet {number}", f"{thread}-{number}"))

    threads = [threading.Thread(target=keep, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(len(run_ids(records, f"packet {number}")) for number in range(20)) == [4] * 20


KEEP_AND_DIE = """
import os, sys
from pathlib import Path
from index.records import Records
from tests.index.test_records import answered
records = Records.open(Path(sys.argv[1]))
records.keep(answered("a"))
os.kill(os.getpid(), 9)
"""


def test_what_was_kept_survives_a_killed_process(tmp_path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", KEEP_AND_DIE, str(tmp_path)], check=False)

    assert died.returncode == -9
    with Records.open(tmp_path) as records:
        assert run_ids(records, "a") == ["r-1"]


def test_a_file_that_another_process_writes_to_is_refused_after_a_bounded_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_connection, "_PRAGMAS", ("PRAGMA busy_timeout = 50",))
    with Records.open(tmp_path) as records:
        blocker = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")

        with pytest.raises(RecordsUnavailable, match="another process is writing"):
            records.keep(answered("a"))
        blocker.close()
        records.keep(answered("a", "r-2"))
        assert run_ids(records, "a") == ["r-2"]


def test_a_full_disk_keeps_nothing_of_an_answer_and_says_so(records: Records) -> None:
    """A page limit gives SQLite's own SQLITE_FULL."""
    records.keep(answered("a"))
    with records.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    large = answered("b", size=0)
    noise = bytes(range(256)) * 8192  # 2 MiB that zlib still leaves more than a page of

    with pytest.raises(RecordsUnavailable, match="the disk is full"):
        records.keep(
            Answered(
                packet_id=large.packet_id,
                manifest=noise,
                namespace=BLUE,
                sub="ann",
                at=Instant(1),
                request_id="r-9",
                sealed=b"{}",
            )
        )
    assert records.manifest_of(large.packet_id) is None
    with records.reading() as connection:
        assert len(connection.execute(select(run)).all()) == 1


def test_a_file_that_is_no_database_is_named_as_damaged(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"not a database, and longer than a header" * 100)

    with pytest.raises(DamagedRecords):
        Records.open(tmp_path)


def test_a_directory_that_is_not_there_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(RecordsUnavailable, match="No such file or directory"):
        Records.open(tmp_path / "gone")


def test_a_file_of_a_later_format_is_not_touched(tmp_path: Path) -> None:
    Records.open(tmp_path).close()
    with sqlite3.connect(tmp_path / DATABASE) as later:
        later.execute("PRAGMA user_version = 99")
    later.close()

    with pytest.raises(RecordsUnavailable, match="format 99"):
        Records.open(tmp_path)


def test_a_record_that_cannot_be_unpacked_is_damage_and_no_answer(records: Records) -> None:
    one = answered("a")
    records.keep(one)
    with records.writing() as connection:
        connection.exec_driver_sql("UPDATE manifest SET body = x'0011'")

    with pytest.raises(DamagedRecords):
        records.manifest_of(one.packet_id)
