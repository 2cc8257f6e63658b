"""Tests of `server/metrics.py` and `server/admin.py`: counters by outcome, on a listener of their own."""

import http.client
import json
import re
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from starlette.testclient import TestClient

import server.serving
from server.admin import admin_listener
from server.app import create_app
from server.containment import AnswerKind, Checked
from server.errors import StartError
from server.keys import SigningKey, load_key
from server.metrics import Metrics
from server.opening import open_recorder
from server.settings import Settings
from server.tokens import issue
from tests.worlds import build, opened, principal, record

CANARY = "canaryword"
RECORDS = [
    record("A", "The upload limit is 25 MB for each file.", tenant=f"{CANARY}-tenant", family=f"{CANARY}-family"),
    record("B", f"How uploads work, in general, {CANARY}-text."),
]
WHO = principal(f"{CANARY}-tenant", sub=f"{CANARY}-sub")


@pytest.fixture(name="served")
def fixture_served(tmp_path: Path) -> Iterator[tuple[TestClient, SigningKey, Metrics]]:
    build(tmp_path / "catalog", RECORDS)
    key, settings = load_key(tmp_path / "catalog"), Settings()
    with opened(tmp_path / "catalog") as pipeline, open_recorder(pipeline.catalog, settings=settings) as recorder:
        app = create_app(settings, pipeline=pipeline, recorder=recorder, key=key)
        with TestClient(app) as client:
            yield client, key, app.state.metrics


def post(served: tuple[TestClient, SigningKey, Metrics], path: str, **body: Any) -> Any:
    client, key, _ = served
    token = issue(WHO, key=key, now_s=int(time.time()), lifetime_s=60)
    answer = client.post(path, json={"query": "upload limit", **body}, headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def counted(metrics: Metrics) -> dict[str, int]:
    """Counter with its labels -> number, of those that are not zero. When a counter began is left away, and so are
    the checks, which every answer goes through."""
    numbers = numbers_of(metrics)
    return {name: number for name, number in numbers.items() if number and "_containment_checks_" not in name}


def numbers_of(metrics: Metrics) -> dict[str, int]:
    lines = re.findall(r"^(muniment_\w+_total(?:\{.*\})?) (.+)$", metrics.text().decode(), re.MULTILINE)
    return {name: int(float(number)) for name, number in lines}


def read(url: str, *, path: str | None = None, method: str = "GET") -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request(method, path or parts.path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_a_packet_is_counted_by_what_became_of_it(served: tuple[TestClient, SigningKey, Metrics]) -> None:
    post(served, "/v1/packets")
    post(served, "/v1/packets")
    post(served, "/v1/packets", catalog_version="another")

    assert counted(served[2]) == {
        'muniment_packets_total{disposition="accepted",state="unassessed"}': 2,
        'muniment_packets_total{disposition="stale-version",state="absent"}': 1,
    }


def test_a_packet_whose_evidence_was_cut_is_counted_with_what_is_missing(
    served: tuple[TestClient, SigningKey, Metrics],
) -> None:
    """Both passages do not fit, one does."""
    whole = post(served, "/v1/packets")["rendered"]["bytes"]
    post(served, "/v1/packets", budget={"max_bytes": whole - 1}, on_overflow="omit-optional")

    assert counted(served[2]) == {
        'muniment_packets_total{disposition="accepted",state="unassessed"}': 2,
        "muniment_packets_cut_total": 1,
        'muniment_units_left_out_total{reason="omitted-budget"}': 1,
    }


def test_a_refusal_is_counted_by_its_limit_and_leaves_nothing_out(
    served: tuple[TestClient, SigningKey, Metrics],
) -> None:
    post(served, "/v1/packets", budget={"max_bytes": 1})

    assert counted(served[2]) == {
        'muniment_packets_total{disposition="refused-budget",state="unassessed"}': 1,
        'muniment_packets_refused_total{measure="bytes"}': 1,
    }


def test_searches_are_counted(served: tuple[TestClient, SigningKey, Metrics]) -> None:
    post(served, "/v1/search")
    post(served, "/v1/search", catalog_version="another")

    assert counted(served[2]) == {
        'muniment_searches_total{disposition="accepted"}': 1,
        'muniment_searches_total{disposition="stale-version"}': 1,
    }


def test_an_answer_that_was_given_up_is_counted_as_such() -> None:
    metrics = Metrics()
    given_up = {"disposition": "failed-closed", "state": "absent", "packet": None, "refusal": None}
    metrics.packet({**given_up, "manifest": {"omissions": {"counts": {}}}})
    metrics.search({"disposition": "failed-closed"})

    assert counted(metrics) == {
        'muniment_packets_total{disposition="failed-closed",state="absent"}': 1,
        'muniment_searches_total{disposition="failed-closed"}': 1,
        'muniment_failed_closed_total{answer="packet"}': 1,
        'muniment_failed_closed_total{answer="search"}': 1,
    }


def test_an_answer_that_was_held_back_is_counted_beside_those_that_were_looked_through() -> None:
    """A rate of violations needs the number of checks beside it."""
    metrics = Metrics()
    for outside in (0, 0, 2):
        metrics.checked(Checked(answer=AnswerKind.PACKET, named=3, outside=outside))
    metrics.checked(Checked(answer=AnswerKind.MANIFEST, named=3, outside=0))

    assert {name: number for name, number in numbers_of(metrics).items() if "_containment_" in name} == {
        **{
            f'muniment_containment_checks_total{{answer="{answer}"}}': 0
            for answer in ("search", "citations", "catalog")
        },
        **{
            f'muniment_containment_violations_total{{answer="{answer}"}}': 0
            for answer in ("search", "citations", "manifest", "catalog")
        },
        'muniment_containment_checks_total{answer="packet"}': 3,
        'muniment_containment_checks_total{answer="manifest"}': 1,
        'muniment_containment_violations_total{answer="packet"}': 1,
    }


def test_no_counter_tells_who_asked_for_what(served: tuple[TestClient, SigningKey, Metrics]) -> None:
    post(served, "/v1/packets", query=CANARY, requirements=[{"role": CANARY, "match": {"claim": CANARY}}])
    post(served, "/v1/search", query=CANARY)

    assert CANARY not in served[2].text().decode()


def test_every_outcome_is_there_before_it_happens() -> None:
    """So that the first one shows in a rate. 5 dispositions by 6 states; 9 measures."""
    text = Metrics().text().decode()

    assert len(re.findall(r"^muniment_packets_total\{", text, re.MULTILINE)) == 5 * 6
    assert len(re.findall(r"^muniment_packets_refused_total\{", text, re.MULTILINE)) == 9


def test_the_public_listener_never_serves_the_counters(served: tuple[TestClient, SigningKey, Metrics]) -> None:
    client, key, _ = served
    token = issue(principal(None, scope=("admin",)), key=key, now_s=int(time.time()), lifetime_s=60)

    assert client.get("/metrics").status_code == 404
    assert client.get("/metrics", headers={"authorization": f"Bearer {token}"}).status_code == 404
    assert "metrics" not in json.dumps(client.get("/openapi.json").json())


def test_the_admin_listener_serves_the_counters_and_nothing_else() -> None:
    metrics = Metrics()
    metrics.search({"disposition": "accepted"})

    with admin_listener(metrics, port=0) as url:
        assert url is not None
        assert url.startswith("http://127.0.0.1:")
        assert read(url) == (200, metrics.text().decode())
        assert read(url, path="/")[0] == 404
        assert read(url, path="/metrics/x")[0] == 404
        assert read(url, method="POST")[0] == 501


def test_the_admin_listener_is_gone_at_the_end() -> None:
    with admin_listener(Metrics(), port=0) as url:
        assert url is not None

    with pytest.raises(ConnectionRefusedError):
        read(url)


def test_without_a_port_there_is_no_admin_listener() -> None:
    assert Settings().admin_port is None
    with admin_listener(Metrics(), port=None) as url:
        assert url is None


def test_a_taken_admin_port_ends_the_start_with_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        with (
            pytest.raises(StartError, match="choose another admin_port"),
            admin_listener(Metrics(), port=taken.getsockname()[1]),
        ):
            pass


def test_a_reader_that_hangs_up_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with admin_listener(Metrics(), port=0) as url:
        assert url is not None
        host, port = urlsplit(url).netloc.split(":")
        with socket.create_connection((host, int(port))) as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets
            reader.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert read(url)[0] == 200

    assert capfd.readouterr().err == ""


def test_the_server_serves_its_counters_beside_its_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but the waiting for requests, and the models, is the real start."""
    build(tmp_path / "catalog", RECORDS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    seen: list[tuple[int, str]] = []
    monkeypatch.setattr(server.serving, "set_up_logs", lambda _: None)
    monkeypatch.setattr(server.serving, "open_pipeline", lambda directory, settings: opened(directory))
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: seen.append(read(f"http://127.0.0.1:{port}/metrics")))

    server.serving.serve(tmp_path / "catalog", settings=Settings(port=0, admin_port=port), on_ready=lambda _: None)
    assert [status for status, _ in seen] == [200]
    assert "muniment_packets_total" in seen[0][1]
