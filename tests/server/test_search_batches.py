"""Tests of `server/search_batches.py` and its route: many searches in one call, each as if alone."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from evidence.grants import Dimension, Grant, Subject
from evidence.identity import Namespace, SourceKey
from index.catalog import Catalog
from server.app import create_app
from server.errors import Forbidden, Invalid, Unauthenticated
from server.keys import load_key
from server.opening import open_recorder
from server.parsing import parse
from server.responses import BatchAnswer, ProblemShape
from server.schemas import MAX_SEARCHES, BatchRequest, SearchRequest
from server.searching import Searcher
from server.settings import Settings
from server.tokens import issue
from tests.worlds import arrive, build, opened, pipeline_over, principal, record

BLUE = principal("blue", purposes=("repair",))
RECORDS = [
    record("A", "The upload limit is 25 MB for each file.", tenant="blue"),
    record("A", "The upload limit is 99 MB for each file.", tenant="red"),
    record("B", "How uploads work, in general."),
]
SEARCHES: list[dict[str, Any]] = [
    {"query": "upload limit"},
    {"query": "uploads", "k": 1, "channel": "lexical"},
    {"query": "upload limit", "catalog_version": "sha256:0"},
    {"query": "nothing of this", "channel": "lexical"},
    {"query": "upload limit"},
]


class Served:
    """The application over a small catalog, and who asks it."""

    def __init__(self, client: TestClient, token: str) -> None:
        self.client = client
        self._headers = {"authorization": f"Bearer {token}"}

    def post(self, path: str, body: object) -> Any:
        return self.client.post(path, json=body, headers=self._headers)

    @property
    def state(self) -> Any:
        return self.client.app.state  # type: ignore[attr-defined]  # a FastAPI application


@pytest.fixture(scope="module", name="directory")
def fixture_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("batches") / "catalog"
    build(directory, RECORDS)
    return directory


@pytest.fixture(name="served")
def fixture_served(directory: Path) -> Iterator[Served]:
    settings = Settings(max_batch_hits=300)
    with (
        opened(directory, max_batch_hits=300) as pipeline,
        open_recorder(pipeline.catalog, settings=settings) as recorder,
    ):
        key = load_key(directory)
        app = create_app(settings, pipeline=pipeline, recorder=recorder, key=key)
        token = issue(BLUE, key=key, now_s=int(time.time()), lifetime_s=60)
        with TestClient(app) as client:
            yield Served(client, token)


def without_times(body: bytes) -> Any:
    answer = msgspec.json.decode(body)
    for one in answer.get("responses", [answer]):
        one["run"]["milliseconds"] = {}
    return answer


def test_each_answer_is_that_of_the_search_alone(served: Served) -> None:
    together = served.post("/v1/search/batch", {"requests": SEARCHES})

    alone = [without_times(served.post("/v1/search", one).content) for one in SEARCHES]
    assert without_times(together.content) == {"responses": alone}
    assert [len(one["hits"]) for one in alone] == [2, 1, 0, 0, 2]
    BatchAnswer.model_validate(together.json())


def test_a_call_without_searches_has_no_answers(served: Served) -> None:
    assert served.post("/v1/search/batch", {"requests": []}).json() == {"responses": []}


@pytest.mark.parametrize(
    ("wrong", "status", "path"),
    [
        ({"query": "x", "k": 0}, 422, "$.requests[3].k"),
        ({"query": "x", "k": 201, "fusion": {"depth": 300}}, 422, "$.requests[3].k"),
        ({"query": "x" * 8193}, 422, "$.requests[3].query"),
        ({"query": " ".join(f"w{n}" for n in range(300))}, 422, "$.requests[3].query"),
        ({"query": "x", "as_of": "2999-01-01T00:00:00Z"}, 422, "$.requests[3].as_of"),
        ({"query": "x", "purpose": "audit"}, 403, "$.requests[3].purpose"),
        ({"query": "x", "filter": {"tenant": ["red"]}}, 422, "$.requests[3].filter.tenant"),
        ({"query": "x", "k": 9, "fusion": {"depth": 8}}, 422, "$.requests[3]"),
        ({}, 422, "$.requests[3].query"),
    ],
    ids=str,
)
def test_one_request_that_cannot_be_answered_refuses_the_call(
    served: Served, wrong: dict[str, Any], status: int, path: str
) -> None:
    answer = served.post("/v1/search/batch", {"requests": [*SEARCHES[:3], wrong, SEARCHES[0]]})

    problem = ProblemShape.model_validate(answer.json())
    assert (answer.status_code, problem.path) == (status, path)
    alone = ProblemShape.model_validate(served.post("/v1/search", wrong).json())
    assert (problem.detail, problem.type) == (alone.detail, alone.type)


def test_a_call_has_at_most_256_searches() -> None:
    parse({"requests": [{"query": "x"}] * MAX_SEARCHES}, BatchRequest)
    with pytest.raises(Invalid) as refused:
        parse({"requests": [{"query": "x"}] * 257}, BatchRequest)

    assert (MAX_SEARCHES, refused.value.path) == (256, "$.requests")


def test_the_hits_of_a_call_are_limited_all_together(served: Served) -> None:
    within = served.post("/v1/search/batch", {"requests": [{"query": "x", "k": 100}] * 3})
    beyond = served.post("/v1/search/batch", {"requests": [{"query": "x", "k": 100}] * 3 + [{"query": "x", "k": 1}]})

    assert within.status_code == 200
    assert (beyond.status_code, beyond.json()["path"]) == (422, "$.requests")
    assert "301 hits" in beyond.json()["detail"]


def test_each_search_of_a_call_is_counted_and_looked_through(served: Served) -> None:
    served.post("/v1/search/batch", {"requests": SEARCHES})

    text = served.state.metrics.text().decode()
    assert 'muniment_searches_total{disposition="accepted"} 4.0' in text
    assert 'muniment_searches_total{disposition="stale-version"} 1.0' in text
    assert 'muniment_containment_checks_total{answer="search"} 4.0' in text


def test_a_call_takes_one_place_and_gives_it_back(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[int] = []
    find = Searcher.find

    def watched(self: Searcher) -> Any:
        inside.append(served.state.admission.inside)
        return find(self)

    monkeypatch.setattr(Searcher, "find", watched)
    served.post("/v1/search/batch", {"requests": SEARCHES})

    assert inside == [1] * len(SEARCHES)
    assert served.state.admission.inside == 0


def test_no_further_search_is_made_for_a_client_that_has_gone(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    find = Searcher.find

    def counted(self: Searcher) -> Any:
        made.append(1)
        return find(self)

    monkeypatch.setattr(Searcher, "find", counted)
    monkeypatch.setattr("server.routes.has_left", lambda _: len(made) == 2)
    served.post("/v1/search/batch", {"requests": SEARCHES})

    assert len(made) == 2


# What moves while a call is worked on (R5)


def moved_after(
    directory: Path, tmp_path: Path, count: int, move: Callable[[Catalog], object], *, purpose: str | None = None
) -> list[dict[str, Any]]:
    """The answers to three searches, equal but for the purpose of the second, where the move is made when so many of
    them stand."""
    copied = shutil.copytree(directory, tmp_path / "catalog")
    requests = [parse({**SEARCHES[0], **({"purpose": purpose} if at == 1 else {})}, SearchRequest) for at in range(3)]
    with Catalog.open(copied) as catalog, Catalog.open(copied) as elsewhere:
        batch = pipeline_over(catalog).search_batch(requests, BLUE)
        for place in range(3):
            if place == count:
                move(elsewhere)
            batch.make(place)
        if count == 3:
            move(elsewhere)
        return batch.finish()


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_no_answer_of_a_call_holds_what_was_taken_out_before_it_left(
    directory: Path, tmp_path: Path, count: int
) -> None:
    answers = moved_after(directory, tmp_path, count, lambda catalog: catalog.delete(SourceKey(Namespace("blue"), "A")))

    assert [[hit["source"]["source_id"] for hit in answer["hits"]] for answer in answers] == [["B"]] * 3


def test_what_only_arrives_meanwhile_changes_no_answer_that_stands(directory: Path, tmp_path: Path) -> None:
    answers = moved_after(
        directory, tmp_path, 3, lambda catalog: arrive(catalog, [record("C", "Another upload limit.", tenant="blue")])
    )

    assert [len(answer["hits"]) for answer in answers] == [2, 2, 2]


def test_a_caller_that_is_revoked_meanwhile_gets_nothing(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(Unauthenticated):
        moved_after(directory, tmp_path, 3, lambda catalog: catalog.revoke(Subject(None, "ann")))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_purpose_that_is_revoked_meanwhile_refuses_the_call_and_names_the_search(
    directory: Path, tmp_path: Path, count: int
) -> None:
    """Also once every answer stood."""
    purpose = Grant(Namespace("blue"), "ann", Dimension.PURPOSE, "repair")

    with pytest.raises(Forbidden) as refused:
        moved_after(directory, tmp_path, count, lambda catalog: catalog.revoke(purpose), purpose="repair")
    assert refused.value.path == "$.requests[1].purpose"


def test_an_authority_that_never_stands_still_ends_in_answers_without_hits(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = shutil.copytree(directory, tmp_path / "catalog")
    requests = [parse(SEARCHES[0], SearchRequest)] * 2
    with Catalog.open(copied) as catalog:
        pipeline = pipeline_over(catalog)
        batch = pipeline.search_batch(requests, BLUE)
        for place in range(2):
            batch.make(place)
        monkeypatch.setattr("server.search_batches.SearchBatch._moved", lambda _: [1])
        answers = batch.finish()

    assert [answer["disposition"] for answer in answers] == ["accepted", "failed-closed"]
    assert answers[1]["hits"] == []
