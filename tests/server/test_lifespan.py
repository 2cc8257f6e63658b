"""Tests of `server/app.py`: what runs beside the requests, for as long as the application does."""

import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import server.app
from index.errors import RecordsUnavailable
from server.app import create_app
from server.keys import load_key
from server.opening import open_recorder
from server.settings import Settings
from tests.worlds import build, opened, record


def test_records_are_pruned_by_the_clock_also_where_nobody_asks_and_a_failure_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path / "catalog", [record("A", "The upload limit is 25 MB.")])
    pruned = threading.Semaphore(0)

    def prune() -> None:
        pruned.release()
        raise RecordsUnavailable("the disk is full")

    settings = Settings()
    monkeypatch.setattr(server.app, "PRUNING_EVERY_S", 0.01)
    with opened(tmp_path / "catalog") as pipeline, open_recorder(pipeline.catalog, settings=settings) as recorder:
        monkeypatch.setattr(recorder, "prune", prune)
        app = create_app(settings, pipeline=pipeline, recorder=recorder, key=load_key(tmp_path / "catalog"))
        with TestClient(app) as client:
            assert all(pruned.acquire(timeout=10) for _ in range(2))
            assert client.get("/health/ready").status_code == 200
