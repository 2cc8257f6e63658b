"""Tests of `server/logs.py` and of what is written there: each line by packet and request, and no content (R31)."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from starlette.testclient import TestClient

from index.errors import DamagedCatalog, RecordsUnavailable
from index.records import Records
from server.app import create_app
from server.gate import AuthorityMoved
from server.keys import load_key
from server.logs import set_up_logs
from server.opening import open_recorder
from server.ranking import Stage
from server.settings import Settings
from server.tokens import issue
from tests.worlds import build, opened, principal, record

ANN = principal("blue", sub="ann-of-accounting")
BODY = {"query": "zebra crossing", "requirements": [{"role": "warehouse", "match": {"claim": "quagga.count"}}]}
CONTENT = ("zebra", "crossing", "quagga", "SECRET-SOURCE", "ann-of-accounting", "warehouse", "blue")

Lines = Callable[[], list[dict[str, Any]]]
Ask = Callable[[], Any]


@pytest.fixture(name="lines")
def fixture_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """Calls give the lines that were written since the last call; logs are set up as `muniment serve` does it."""
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # libraries keep the logs that they have in tests
    set_up_logs("info")
    yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    structlog.reset_defaults()


@pytest.fixture(name="trouble")
def fixture_trouble() -> list[Exception]:
    """What happens to the next attempts, one each, once their selection has passed the second gate."""
    return []


@pytest.fixture(name="ask")
def fixture_ask(tmp_path: Path, trouble: list[Exception]) -> Iterator[Ask]:
    """Calls ask for a packet over HTTP."""
    directory = tmp_path / "catalog"
    build(directory, [record("SECRET-SOURCE", "A quagga is no zebra.", tenant="blue")])
    key, settings = load_key(directory), Settings()

    def reached(stage: Stage) -> None:
        if stage is Stage.GATED and trouble:
            raise trouble.pop()

    with (
        opened(directory, reached=reached) as pipeline,
        open_recorder(pipeline.catalog, settings=settings) as recorder,
    ):
        app = create_app(settings, pipeline=pipeline, recorder=recorder, key=key)
        headers = {"authorization": f"Bearer {issue(ANN, key=key, now_s=int(time.time()), lifetime_s=60)}"}
        with TestClient(app, raise_server_exceptions=False) as client:
            yield lambda: client.post("/v1/packets", json=BODY, headers=headers)


def test_each_packet_answered_is_one_line_by_its_two_ids_and_how_it_ended(ask: Ask, lines: Lines) -> None:
    lines()

    answer = ask()
    (line,) = lines()
    body = answer.json()
    assert line["event"] == "a packet was answered"
    assert (line["packet_id"], line["request_id"]) == (body["packet_id"], answer.headers["x-request-id"])
    assert (line["disposition"], line["state"]) == ("accepted", "absent")
    assert line["milliseconds"] == body["run"]["milliseconds"]
    assert line.keys() == {
        "event", "level", "timestamp", "packet_id", "request_id", "disposition", "state", "milliseconds"
    }  # fmt: skip


def test_no_line_holds_a_word_of_the_question_the_sources_or_the_caller(
    ask: Ask, lines: Lines, trouble: list[Exception]
) -> None:
    for error in ([], [AuthorityMoved()], [DamagedCatalog("SECRET-SOURCE of blue")]):
        trouble[:] = error
        ask()

    written = json.dumps(lines())
    assert "a packet was answered" in written
    assert [word for word in CONTENT if word in written] == []


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (AuthorityMoved(), "the authority moved while an answer was made"),
        (DamagedCatalog("a checksum"), "the catalog cannot be read"),
        (ZeroDivisionError(), "request failed"),
    ],
)
def test_what_goes_wrong_is_told_with_the_id_of_the_request_whichever_thread_tells_it(
    error: Exception, event: str, ask: Ask, lines: Lines, trouble: list[Exception]
) -> None:
    trouble.append(error)

    answer = ask()
    assert [line["request_id"] for line in lines() if line["event"] == event] == [answer.headers["x-request-id"]]


def test_a_packet_that_cannot_be_recorded_is_told_by_both_ids(
    ask: Ask, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ask()
    lines()

    def full(*_: object) -> int:
        raise RecordsUnavailable("disk full")

    monkeypatch.setattr(Records, "keep", full)
    answer = ask()
    (line,) = lines()
    assert answer.status_code == 503
    assert line["packet_id"] == made.json()["packet_id"]  # the same question gives the same packet
    assert line["request_id"] == answer.headers["x-request-id"]


def test_the_next_request_is_not_told_under_the_id_of_the_last(ask: Ask, lines: Lines) -> None:
    answers = [ask(), ask()]

    told = [line["request_id"] for line in lines() if line["event"] == "a packet was answered"]
    assert told == [answer.headers["x-request-id"] for answer in answers]
    assert structlog.contextvars.get_contextvars() == {}
