"""Tests of `server/intake.py` and `server/routes_sources.py`: sources that arrive over HTTP."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evidence.access import Principal
from index.catalog import Catalog
from models.errors import InvalidOutput
from server.app import create_app
from server.keys import SigningKey, load_key
from server.opening import open_recorder
from server.responses import ProblemShape
from server.settings import Settings
from tests.server.test_app import bearer
from tests.worlds import WordEncoder, build, pipeline_over, principal, record

WRITER = principal("blue", scope=("ingest", "search"))
PUBLISHER = principal(None, scope=("ingest-public", "search"))


class Served:
    """A server over a catalog of its own."""

    def __init__(self, client: TestClient, catalog: Catalog, key: SigningKey) -> None:
        self.client = client
        self.catalog = catalog
        self.key = key

    def post(self, *records: Any, who: Principal = WRITER, url: str = "/v1/sources") -> Any:
        lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in records]
        return self.client.post(url, content=b"\n".join(lines), headers=bearer(self.key, who))

    def found(self, query: str, who: Principal = WRITER) -> list[str]:
        answer = self.client.post("/v1/search", json={"query": query}, headers=bearer(self.key, who)).json()
        assert answer["degraded"] == []
        return [hit["source"]["source_id"] for hit in answer["hits"]]

    def revisions(self) -> int:
        with self.catalog.read() as reading:
            return len(reading.facts())


@contextmanager
def serving(directory: Path, *, encoder: Any = None, **chosen: Any) -> Iterator[Served]:
    """A server over a new catalog with one source of blue's."""
    build(directory, [record("A", "The upload limit is 25 MB.", tenant="blue")])
    settings, key = Settings(**chosen), load_key(directory)
    with Catalog.open(directory) as catalog, open_recorder(catalog, settings=settings) as recorder:
        app = create_app(settings, pipeline=pipeline_over(catalog, encoder=encoder), recorder=recorder, key=key)
        with TestClient(app, raise_server_exceptions=False) as client:
            yield Served(client, catalog, key)


@pytest.fixture(name="served")
def fixture_served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "catalog") as served:
        yield served


def test_what_was_acknowledged_is_found(served: Served) -> None:
    answer = served.post(
        record("N", "Inspect the latch of the door.", tenant="blue"), record("M", "A new hinge.", tenant="blue")
    )

    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in ("accepted", "unchanged")} == {"accepted": 2, "unchanged": 0}
    assert answer.json()["ingest_id"].startswith("ingest-")
    assert served.found("latch door")[0] == "N"
    assert served.found("hinge", principal("red")) == []


def test_the_same_lines_again_change_nothing(served: Served) -> None:
    new = record("N", "Inspect the latch.", tenant="blue")
    first = served.post(new).json()

    again = served.post(new).json()
    assert (again["accepted"], again["unchanged"]) == (0, 1)
    assert again["ingest_id"] == first["ingest_id"]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b'{"source_id": "N", ', "$"),
        (b'{"source_id": "N", "source_id": "M"}', "$.source_id"),
        (json.dumps(record("N", "x", tenant="blue", unknown=1)).encode(), "$.unknown"),
        (json.dumps({"source_id": "N", "revision": "1", "text": "x"}).encode(), "$.access"),
        (json.dumps(record("N", "x", tenant="red")).encode(), "$.access"),
        (json.dumps(record("N", "x")).encode(), "$.access"),
        (json.dumps(record("A", "Another limit.", tenant="blue")).encode(), "$.revision"),
        (json.dumps(record("A", "x", tenant="blue", revision="2", access={"roles": ["r"]})).encode(), "$.access"),
        (
            json.dumps(record("N", "x", tenant="blue", supersedes=[{"source_id": "N", "revision": "1"}])).encode(),
            "$.supersedes",
        ),
    ],
)
def test_one_bad_line_refuses_all_and_is_named(served: Served, line: bytes, path: str) -> None:
    """R3. Nothing is written, not even the good line before it."""
    answer = served.post(record("G", "A good line.", tenant="blue"), b"", line)

    assert answer.status_code == 422
    assert ProblemShape.model_validate(answer.json()).line == 3
    assert answer.json()["path"].startswith(path)
    assert served.revisions() == 1


@pytest.mark.parametrize(
    "more", [{}, {"revision": "2", "access": {"roles": ["author"]}}], ids=["other bytes", "another label"]
)
def test_a_refusal_tells_of_a_source_of_the_own_namespace_alone(served: Served, more: dict[str, Any]) -> None:
    """R6, R7: `ingest` is authority over all of its namespace, and learns nothing of another."""
    red = principal("red", scope=("ingest", "search"))

    assert served.post(record("A", "Other words.", tenant="blue", **more)).status_code == 422
    assert served.post(record("A", "Other words.", tenant="red", **more), who=red).status_code == 200


def test_only_the_scope_for_it_writes(served: Served) -> None:
    """R1: `ingest` for the own namespace, `ingest-public` for public, and public only where the call says so."""
    blue, public = record("N", "x", tenant="blue"), record("P", "y")
    reader = principal("blue")

    assert served.post(blue, who=reader).status_code == 403
    assert served.post(public, who=WRITER, url="/v1/sources?public=true").status_code == 403
    assert served.post(public, who=PUBLISHER).status_code == 403
    assert served.client.post("/v1/sources", content=b"{}").status_code == 401
    assert served.revisions() == 1
    assert served.post(public, who=PUBLISHER, url="/v1/sources?public=true").status_code == 200
    assert served.post(blue, who=PUBLISHER, url="/v1/sources?public=true").json()["path"] == "$.access"


def test_an_unknown_parameter_is_refused(served: Served) -> None:
    answer = served.post(record("N", "x", tenant="blue"), url="/v1/sources?relabel=true")

    assert (answer.status_code, answer.json()["path"]) == (422, "$.relabel")


def test_sources_have_a_limit_of_their_own(tmp_path: Path) -> None:
    with serving(tmp_path / "catalog", max_body_bytes=100, max_sources_bytes=1000) as served:
        assert served.post(record("N", "word " * 100, tenant="blue")).status_code == 200
        assert served.post(record("M", "word " * 200, tenant="blue")).status_code == 413


def test_without_the_encoder_of_the_recipe_nothing_is_taken_in(tmp_path: Path) -> None:
    """R10: rows come from the recipe's runtime alone."""

    class Other(WordEncoder):
        runtime = "words-2"

    with serving(tmp_path / "catalog", encoder=Other()) as served:
        assert served.post(record("N", "x", tenant="blue")).status_code == 503
        assert served.revisions() == 1


def test_a_text_that_cannot_be_encoded_leaves_nothing(tmp_path: Path) -> None:
    class Failing(WordEncoder):
        def encode_documents(self, texts: Sequence[str]) -> Any:
            raise InvalidOutput(position=0, problem="not finite")

    with serving(tmp_path / "catalog", encoder=Failing()) as served:
        assert served.post(record("N", "x", tenant="blue")).status_code == 503
        assert served.revisions() == 1


class Slow(WordEncoder):
    """Encodes documents only once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let = threading.Event(), threading.Event()

    def encode_documents(self, texts: Sequence[str]) -> Any:
        self.begun.set()
        assert self.let.wait(timeout=20)
        return super().encode_documents(texts)


def test_sources_that_are_being_encoded_keep_no_question_waiting(tmp_path: Path) -> None:
    """Not even where a single request may run at once; who adds more than may wait is told so."""
    encoder = Slow()
    with serving(tmp_path / "catalog", encoder=encoder, max_running=1, max_waiting_sources_per_tenant=1) as served:
        adding = threading.Thread(target=served.post, args=(record("N", "Inspect the latch.", tenant="blue"),))
        adding.start()
        assert encoder.begun.wait(timeout=60)
        try:
            assert served.found("upload limit") == ["A"]
            assert served.post(record("M", "A hinge.", tenant="blue")).status_code == 429
        finally:
            encoder.let.set()
            adding.join(timeout=60)
        assert set(served.found("latch")) == {"A", "N"}


def test_a_public_record_is_told_what_public_needs(served: Served) -> None:
    detail = served.post(record("P", "y")).json()["detail"]

    assert "`?public=true`" in detail
    assert "scope ingest-public" in detail


def test_another_tenants_record_is_not_told_how_to_publish(served: Served) -> None:
    assert "public" not in served.post(record("P", "y", tenant="red")).json()["detail"]


def test_a_record_without_a_label_is_told_that_access_is_required(served: Served) -> None:
    """R3. There is no default over HTTP, and so no talk of one."""
    answer = served.post({"source_id": "N", "revision": "1", "text": "x"}).json()

    assert answer["path"] == "$.access"
    assert "`access` is required" in answer["detail"]
    assert "default" not in answer["detail"]


def test_other_bytes_of_a_known_revision_are_named_with_what_to_do(served: Served) -> None:
    detail = served.post(record("A", "Another limit.", tenant="blue")).json()["detail"]

    assert "a correction is a new revision" in detail
    assert "revision '1' of source 'A'" in detail
