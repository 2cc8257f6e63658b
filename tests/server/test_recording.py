"""Tests of `server/recording.py`: on record before it leaves, or it does not leave."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from evidence.canonical import Json
from evidence.identity import UnitKey
from index import records_connection
from index.catalog import Catalog
from index.records import DATABASE
from server import recording
from server.errors import Unavailable
from server.recording import Recorder
from tests.builders import BLUE, NOW, RED, claim, principal, requires
from tests.index.catalog_builders import catalog, revision
from tests.server.recorded import answer, keep, recorder, sealing

ANN = principal()
UNIT = UnitKey(BLUE, "A", "1", 0)


@pytest.fixture(name="held")
def fixture_held(tmp_path: Path) -> Iterator[Catalog]:
    with catalog(tmp_path / "catalog", [revision("A", "25 MB", namespace=BLUE, roles=["legal"])]) as made:
        yield made


@pytest.fixture(name="kept_by")
def fixture_kept_by(held: Catalog) -> Iterator[Recorder]:
    made = recorder(held.directory, held)
    with made.records:
        yield made


def runs(kept_by: Recorder, body: Mapping[str, Json]) -> list[dict[str, Any]]:
    packet_id = body["packet_id"]
    assert isinstance(packet_id, str)
    return [json.loads(run) for run in kept_by.records.runs_of(packet_id, namespace=None, after=None, limit=100)]


def test_an_answer_is_on_record_before_it_leaves(kept_by: Recorder) -> None:
    body = answer(UNIT)
    kept_by.begin("r-1").keep(body, sealing(ANN))

    (run,) = runs(kept_by, body)
    assert (run["delivery"], run["unauthorized"]) == ("prepared", None)
    assert run["hashes"] == body["manifest"]["hashes"]  # type: ignore[index,call-overload]  # a record of ours
    assert run["run"] == {"device": "cpu", "fallback": None, "microseconds": {"total": 1500}}
    assert (run["request_id"], run["query_code"]) == ("r-1", "01ff")


def test_the_manifest_is_kept_as_it_was_answered(kept_by: Recorder) -> None:
    body = answer(UNIT)
    packet_id = keep(kept_by, body, ANN)

    kept = kept_by.records.manifest_of(packet_id)
    assert kept is not None
    assert json.loads(kept.manifest) == body["manifest"]
    assert (kept.namespace, kept.sub) == ("blue", "ann")


def test_once_it_has_left_the_record_says_so_and_what_was_found(kept_by: Recorder) -> None:
    body = answer(roles={"limit": "absent"})
    keep(kept_by, body, ANN, [requires("limit", claim("limit"))])

    assert [(run["delivery"], run["unauthorized"]) for run in runs(kept_by, body)] == [("handed-over", [])]


def test_an_answer_that_was_made_again_is_on_record_as_withdrawn(kept_by: Recorder) -> None:
    """R5: the authority moved between the first and the second."""
    first, second = answer(UNIT), answer()
    recorded = kept_by.begin("r-1")
    recorded.keep(first, sealing(ANN))
    recorded.keep(second, sealing(ANN))
    recorded.seal()

    assert [run["delivery"] for run in runs(kept_by, first)] == ["withdrawn"]
    assert [run["delivery"] for run in runs(kept_by, second)] == ["handed-over"]


def test_sealing_what_was_never_kept_does_nothing(kept_by: Recorder) -> None:
    kept_by.begin("r-1").seal()


def test_an_answer_that_cannot_be_recorded_is_refused(
    kept_by: Recorder, held: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails closed: another process holds the records."""
    monkeypatch.setattr(records_connection, "_PRAGMAS", ("PRAGMA busy_timeout = 20",))
    impatient = recorder(held.directory, held)
    blocker = sqlite3.connect(held.directory / DATABASE, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")

    with impatient.records, pytest.raises(Unavailable, match="could not be recorded"):
        impatient.begin("r-1").keep(answer(UNIT), sealing(ANN))
    blocker.close()


def test_a_lookup_that_fails_leaves_the_answer_and_says_that_nothing_was_looked_up(
    kept_by: Recorder, held: Catalog
) -> None:
    body = answer(roles={"limit": "absent"})
    recorded = kept_by.begin("r-1")
    recorded.keep(body, sealing(ANN, requires("limit", claim("limit"))))
    (held.directory / "catalog.sqlite").write_bytes(b"no database")
    for beside in held.directory.glob("catalog.sqlite-*"):
        beside.unlink()
    held.close()
    recorded.seal()

    assert [(run["delivery"], run["unauthorized"]) for run in runs(kept_by, body)] == [("handed-over", None)]


def test_pruning_happens_by_itself_every_so_many_runs(held: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "RUNS_BETWEEN_PRUNING", 3)
    kept_by = recorder(held.directory, held, max_runs=2)
    body = answer(UNIT)

    with kept_by.records:
        for number in range(3):
            keep(kept_by, body, ANN, request_id=f"r-{number}")
        assert [run["request_id"] for run in runs(kept_by, body)] == ["r-1", "r-2"]
        assert kept_by.retention(BLUE) == {
            "max_runs": 2,
            "max_days": 30,
            "removed_runs": 1,
            "removed_manifests": 0,
            "removed_up_to": "2025-06-01T00:00:00Z",
        }


def test_what_others_ask_takes_nothing_from_the_records_of_a_namespace(
    held: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R6: a manifest that is gone, and the numbers in `retention`, can be seen."""
    monkeypatch.setattr(recording, "RUNS_BETWEEN_PRUNING", 3)
    kept_by = recorder(held.directory, held, max_runs=1)
    body, of_others = answer(UNIT), answer(query="what do others ask?")

    with kept_by.records:
        for number in range(2):
            keep(kept_by, body, ANN, request_id=f"r-{number}")
        before = kept_by.retention(BLUE)
        for number in range(9):
            keep(kept_by, of_others, principal(RED, sub="rex"), request_id=f"o-{number}")
        assert [run["request_id"] for run in runs(kept_by, body)] == ["r-0", "r-1"]
        assert kept_by.retention(BLUE) == before


def test_what_is_older_than_its_days_is_let_go_at_start(kept_by: Recorder, held: Catalog) -> None:
    body = answer(UNIT)
    keep(kept_by, body, ANN)

    day = 24 * 3600 * 1_000_000
    for days, left in ((30, 1), (31, 0)):
        later = recorder(held.directory, held, now=NOW + days * day)  # type: ignore[arg-type]  # a moment later
        with later.records:
            later.prune()
        assert len(runs(kept_by, body)) == left
