"""Tests of what `server/containment.py` does to answers over HTTP: held back, counted, logged without content."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

import server.citing
import server.recalling
from evidence.access import Label
from evidence.identity import SourceKey
from index.catalog import Catalog
from server.logs import set_up_logs
from tests.evidence_contract.over_http import Caller, served
from tests.noninterference.barriers import Barrier, broken
from tests.server.kinds_held_back import ANN, ASKED, BLUE, CANARY, HELD_BACK, RED, admitted, build_kinds, everything
from tests.worlds import principal


@pytest.fixture(scope="module", name="directory")
def fixture_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kinds(tmp_path_factory.mktemp("kinds") / "catalog")


@pytest.fixture(name="caller")
def fixture_caller(directory: Path) -> Iterator[Caller]:
    """A server of its own for each test, so that its counters begin at zero."""
    with served(directory) as caller:
        yield caller


def numbers(caller: Caller) -> dict[str, int]:
    """`checks` and `violations` by answer -> number, of those that are not zero."""
    found = re.findall(r'^muniment_containment_(\w+)_total{answer="(\w+)"} (\S+)$', caller.metrics(), re.MULTILINE)
    return {f"{what} {answer}": int(float(number)) for what, answer, number in found if float(number)}


@pytest.fixture(name="lines")
def fixture_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Calls give the log lines about what was held back; logs are set up as `muniment serve` does it."""
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # libraries keep the logs that they have in tests
    set_up_logs("info")

    def read() -> list[dict[str, Any]]:
        written = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
        return [line for line in written if "held back" in line["event"]]

    yield read
    structlog.reset_defaults()


def citation(packet: dict[str, Any]) -> dict[str, Any]:
    occurrences = [{"handle": item["handle"], "quote": "is reset"} for item in packet["evidence"]]
    return {"packet": packet, "occurrences": occurrences, "purpose": "repair"}


def test_each_kind_of_answer_is_counted_once_it_was_looked_through(caller: Caller) -> None:
    packet = caller.packet(ANN, ASKED)
    assert caller.post(ANN, "/v1/search", ASKED).json()["hits"]
    assert caller.get(ANN, f"/v1/manifests/{packet['packet_id']}").status_code == 200
    found = caller.post(ANN, "/v1/citations/validate", citation(packet["packet"])).json()

    assert {result["verdict"] for result in found["results"]} == {"valid"}
    assert caller.get(ANN, "/v1/catalog").json()["sources"]
    assert numbers(caller) == {
        f"checks {answer}": 1 for answer in ("search", "packet", "citations", "manifest", "catalog")
    }


def test_a_replay_is_looked_through_and_counted_as_the_packet_that_it_makes(caller: Caller) -> None:
    manifest = caller.packet(ANN, ASKED)["manifest"]
    found = caller.post(ANN, "/v1/manifests/replay", {"manifest": manifest}).json()

    assert found["verdict"] == "identical"
    assert numbers(caller) == {"checks packet": 2}


def test_a_catalog_that_would_count_what_is_hidden_is_held_back(
    caller: Caller, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    """The gate before ranking is what it is counted by."""
    lines()

    with broken(Barrier.RANKING):
        response = caller.get(ANN, "/v1/catalog")

    assert response.status_code == 500
    assert CANARY not in response.text
    assert numbers(caller) == {"checks catalog": 1, "violations catalog": 1}
    assert [line["answer"] for line in lines()] == ["catalog"]


@pytest.mark.parametrize(("path", "answer"), [("/v1/search", "search"), ("/v1/packets", "packet")])
def test_what_was_held_back_is_counted_logged_by_its_request_and_on_record_nowhere(
    caller: Caller, lines: Callable[[], list[dict[str, Any]]], path: str, answer: str
) -> None:
    """R31, and a 200 as for every disposition (R28)."""
    lines()

    with admitted(HELD_BACK["another tenant's"]):
        response = caller.post(ANN, path, {**ASKED, "k": 50})
    (line,) = lines()
    assert (response.status_code, response.json()["disposition"]) == (200, "failed-closed")
    assert CANARY not in response.text
    assert numbers(caller)[f"violations {answer}"] == 1
    assert f'muniment_failed_closed_total{{answer="{answer}"}} 1.0' in caller.metrics()
    assert line.keys() == {"event", "level", "timestamp", "request_id", "answer", "named", "outside"}
    assert line["request_id"] == response.headers["x-request-id"]
    for file in caller.client.app.state.pipeline.catalog.directory.glob("records*"):  # type: ignore[attr-defined]  # a FastAPI application
        assert f"{CANARY}-foreign".encode() not in file.read_bytes()


def test_a_verdict_that_tells_of_a_passage_which_may_not_be_used_becomes_the_one_that_tells_nothing(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7, R33: with the gate of citations wide open."""
    eve = principal(RED, purposes=("repair",))
    theirs = citation(caller.packet(eve, {**ASKED, "subject": None})["packet"])
    assert caller.post(eve, "/v1/citations/validate", theirs).json()["results"][0]["verdict"] == "valid"
    closed = caller.post(ANN, "/v1/citations/validate", theirs)
    monkeypatch.setattr(server.citing, "live_standings", everything)

    held_back = caller.post(ANN, "/v1/citations/validate", theirs)
    assert held_back.json() == closed.json()
    assert {result["verdict"] for result in held_back.json()["results"]} == {"no-longer-eligible"}
    assert numbers(caller)["violations citations"] == 1


def test_a_manifest_that_names_what_may_not_be_seen_is_not_found(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R35: with the gate of manifests wide open."""
    packet_id = caller.packet(ANN, ASKED)["packet_id"]
    never = caller.get(ANN, "/v1/manifests/sha256:never")
    catalog: Catalog = caller.client.app.state.pipeline.catalog  # type: ignore[attr-defined]  # a FastAPI application
    monkeypatch.setattr(server.recalling, "live_standings", everything)
    assert caller.get(ANN, f"/v1/manifests/{packet_id}").status_code == 200
    catalog.relabel(SourceKey(BLUE, "OWN"), Label(namespace=BLUE, roles=("surgeon",)))

    try:
        held_back = caller.get(ANN, f"/v1/manifests/{packet_id}")
    finally:
        catalog.relabel(SourceKey(BLUE, "OWN"), Label(namespace=BLUE, roles=("technician",)))
    assert (held_back.status_code, held_back.json()) == (404, never.json())
    assert numbers(caller)["violations manifest"] == 1
