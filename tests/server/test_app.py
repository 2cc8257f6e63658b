"""Tests of `server/app.py`, `server/routes.py` and `server/edge.py`: the server over HTTP, in process."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from index.errors import DamagedCatalog
from server.app import create_app
from server.keys import SigningKey, load_key
from server.opening import open_recorder
from server.responses import CatalogAnswer, PacketAnswer, ProblemShape, SearchAnswer
from server.settings import Settings
from server.tokens import issue
from tests.worlds import build, opened, principal, record

BLUE = principal("blue")
RED = principal("red")
HOSTILE = "\u202eCANARY-7f3a"

RECORDS = [
    record("A", "The upload limit is 25 MB for each file.", tenant="blue", family="policy", title="Uploads"),
    record("A", "The upload limit is 99 MB for each file.", tenant="red", family="policy", title="Uploads"),
    record("B", "How uploads work, in general.", family="guide"),
]


@pytest.fixture(scope="module", name="served")
def fixture_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, SigningKey]]:
    directory = tmp_path_factory.mktemp("app") / "catalog"
    build(directory, RECORDS)
    key = load_key(directory)
    settings = Settings(max_body_bytes=20_000)
    with opened(directory) as pipeline, open_recorder(pipeline.catalog, settings=settings) as recorder:
        app = create_app(settings, pipeline=pipeline, recorder=recorder, key=key)
        with TestClient(app, raise_server_exceptions=False) as client:
            yield client, key


@pytest.fixture(name="client")
def fixture_client(served: tuple[TestClient, SigningKey]) -> TestClient:
    return served[0]


@pytest.fixture(name="blue")
def fixture_blue(served: tuple[TestClient, SigningKey]) -> dict[str, str]:
    return bearer(served[1], BLUE)


def bearer(key: SigningKey, who: Any) -> dict[str, str]:
    token = issue(who, key=key, now_s=int(time.time()), lifetime_s=60)
    return {"authorization": f"Bearer {token}"}


def test_a_search_has_the_shape_of_the_document(client: TestClient, blue: dict[str, str]) -> None:
    answer = client.post("/v1/search", json={"query": "upload limit"}, headers=blue)

    assert answer.status_code == 200
    body = SearchAnswer.model_validate(answer.json())
    assert [hit.source.source_id for hit in body.hits] == ["A", "B"]
    assert "25 MB" in body.hits[0].text


def test_a_packet_has_the_shape_of_the_document(client: TestClient, blue: dict[str, str]) -> None:
    answer = client.post("/v1/packets", json={"query": "upload limit"}, headers=blue)

    assert answer.status_code == 200
    body = PacketAnswer.model_validate(answer.json())
    assert body.disposition == "accepted"
    assert body.rendered is not None
    assert json.loads(body.rendered.body) == answer.json()["packet"]


def test_the_catalog_route_counts_what_is_visible(client: TestClient, blue: dict[str, str]) -> None:
    body = CatalogAnswer.model_validate(client.get("/v1/catalog", headers=blue).json())

    assert (body.sources, body.units, body.families) == (2, 2, {"guide": 1, "policy": 1})


def test_two_tenants_use_one_source_id_and_never_meet(served: tuple[TestClient, SigningKey]) -> None:
    client, key = served

    for who, limit in ((BLUE, "25 MB"), (RED, "99 MB")):
        hits = client.post("/v1/search", json={"query": "limit"}, headers=bearer(key, who)).json()["hits"]
        own = [hit for hit in hits if hit["source"]["source_id"] == "A"]
        assert [hit["namespace"] for hit in own] == [who.tenant]
        assert limit in own[0]["text"]


def test_a_demanded_version_that_is_not_there_is_stale(client: TestClient, blue: dict[str, str]) -> None:
    """R29."""
    body = {"query": "limit", "catalog_version": "sha256:0"}

    search = client.post("/v1/search", json=body, headers=blue)
    packet = client.post("/v1/packets", json=body, headers=blue)
    assert (search.status_code, search.json()["hits"], search.json()["disposition"]) == (200, [], "stale-version")
    assert (packet.status_code, packet.json()["packet"], packet.json()["disposition"]) == (200, None, "stale-version")


def test_the_version_at_hand_may_be_demanded(client: TestClient, blue: dict[str, str]) -> None:
    version = client.get("/v1/catalog", headers=blue).json()["catalog_version"]

    answer = client.post("/v1/search", json={"query": "limit", "catalog_version": version}, headers=blue).json()
    assert answer["disposition"] == "accepted"


@pytest.mark.parametrize("parameter", ["purposes", "public"])
def test_a_parameter_that_the_catalog_route_does_not_know_is_refused(
    client: TestClient, blue: dict[str, str], parameter: str
) -> None:
    answer = client.get("/v1/catalog", params={parameter: "true"}, headers=blue)

    assert (answer.status_code, ProblemShape.model_validate(answer.json()).path) == (422, f"$.{parameter}")


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer x", "Basic YTpi", "Bearer " + "x" * 9000, "Bearer a.b.c"]
)
@pytest.mark.parametrize("route", ["/v1/search", "/v1/packets", "/v1/catalog"])
def test_without_a_genuine_token_nothing_is_answered(client: TestClient, route: str, header: str) -> None:
    method = "GET" if route == "/v1/catalog" else "POST"
    answer = client.request(method, route, headers={"authorization": header}, content=b"{")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    ProblemShape.model_validate(answer.json())


def test_a_token_without_the_scope_is_forbidden(served: tuple[TestClient, SigningKey]) -> None:
    client, key = served
    who = principal("blue", scope=("ingest",))

    assert client.post("/v1/search", json={"query": "x"}, headers=bearer(key, who)).status_code == 403


def test_a_purpose_that_was_not_granted_is_forbidden_whatever_the_catalog_holds(
    client: TestClient, blue: dict[str, str]
) -> None:
    """R1."""
    for route in ("/v1/search", "/v1/packets"):
        answer = client.post(route, json={"query": "x", "purpose": "audit"}, headers=blue)
        assert answer.status_code == 403
    assert client.get("/v1/catalog", params={"purpose": "audit"}, headers=blue).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1",
        b'{"query": "a", "query": "b"}',
        b'{"query": NaN}',
        b'{"query": "\\ud800"}',
        b'{"query": "\xff"}',
        b'{"k": 9007199254740993, "query": "a"}',
        b'\xef\xbb\xbf{"query": "a"}',
        b'{"query": "a"} x',
        b'{"query": ' + b"[" * 2000 + b"]" * 2000 + b"}",
    ],
    ids=lambda body: body[:24],
)
def test_a_body_that_is_no_strict_json_is_a_400(client: TestClient, blue: dict[str, str], body: bytes) -> None:
    answer = client.post("/v1/search", content=body, headers=blue)

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"query": "x" * 8193}, "$.query"),
        ({"query": " ".join(f"w{n}" for n in range(300))}, "$.query"),
        ({"query": "x", "k": 201, "fusion": {"depth": 300}}, "$.k"),
        ({"query": "x", "as_of": "2999-01-01T00:00:00Z"}, "$.as_of"),
        ({"query": "x", "filter": {"tenant": ["red"]}}, "$.filter.tenant"),
    ],
    ids=str,
)
def test_what_is_outside_the_limits_is_a_422_that_names_the_place(
    client: TestClient, blue: dict[str, str], body: dict[str, Any], path: str
) -> None:
    answer = client.post("/v1/search", json=body, headers=blue)

    assert answer.status_code == 422
    assert answer.json()["path"] == path


def test_a_token_limit_without_a_tokenizer_and_an_unknown_one_are_422(client: TestClient, blue: dict[str, str]) -> None:
    """R23: no tokenizer for a token limit is an error; nothing is estimated."""
    for budget in ({"max_tokens": 10}, {"max_tokens": 10, "tokenizer": "gpt-99"}, {"tokenizer": "gpt-99"}):
        answer = client.post("/v1/packets", json={"query": "x", "budget": budget}, headers=blue)
        assert answer.status_code == 422


def test_a_body_beyond_the_limit_is_refused_with_and_without_a_declared_length(
    client: TestClient, blue: dict[str, str]
) -> None:
    whole = b'{"query": "' + b"x" * 30_000 + b'"}'

    assert client.post("/v1/search", content=whole, headers=blue).status_code == 413
    assert client.post("/v1/search", content=iter([whole[:9000], whole[9000:]]), headers=blue).status_code == 413


def test_a_compressed_body_is_refused(client: TestClient, blue: dict[str, str]) -> None:
    answer = client.post("/v1/search", content=b"x", headers={**blue, "content-encoding": "gzip"})

    assert answer.status_code == 415


def test_every_response_has_an_id_of_its_own(client: TestClient, blue: dict[str, str]) -> None:
    ids = {
        client.get(route, headers=blue).headers["x-request-id"]
        for route in ("/v1/catalog", "/v1/catalog", "/health/live", "/absent", "/v1/search")
    }

    assert len(ids) == 5


def test_unknown_routes_and_methods_are_problems(client: TestClient) -> None:
    for answer, status in ((client.get("/v1/absent"), 404), (client.get("/v1/search"), 405)):
        assert answer.status_code == status
        ProblemShape.model_validate(answer.json())


def test_health_needs_no_token(client: TestClient) -> None:
    assert client.get("/health/live").json() == {"status": "live"}
    assert client.get("/health/ready").json() == {"status": "ready"}


def test_nothing_that_was_sent_comes_back_in_an_error(client: TestClient, blue: dict[str, str]) -> None:
    bodies = [
        {"query": HOSTILE, "channel": HOSTILE},
        {"query": HOSTILE * 900},
        {"query": "x", "filter": {HOSTILE: []}},
        {"query": "x", "purpose": HOSTILE},
    ]

    for body in bodies:
        answer = client.post("/v1/search", json=body, headers=blue)
        assert answer.status_code in (403, 422)
        assert "CANARY" not in answer.json()["detail"]


def test_a_failure_inside_is_a_500_without_its_text(
    served: tuple[TestClient, SigningKey], blue: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = served
    pipeline = client.app.state.pipeline  # type: ignore[attr-defined]  # a FastAPI application

    def fail(*_: object) -> None:
        raise RuntimeError("SECRET-CANARY")

    monkeypatch.setattr(pipeline, "search", fail)
    answer = client.post("/v1/search", json={"query": "x"}, headers=blue)
    assert answer.status_code == 500
    assert "SECRET" not in answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_empty_catalog_answers_with_nothing(tmp_path: Path) -> None:
    build(tmp_path / "catalog", [])
    key = load_key(tmp_path / "catalog")

    with (
        opened(tmp_path / "catalog") as pipeline,
        open_recorder(pipeline.catalog, settings=Settings()) as recorder,
        TestClient(create_app(Settings(), pipeline=pipeline, recorder=recorder, key=key)) as client,
    ):
        search = client.post("/v1/search", json={"query": "x"}, headers=bearer(key, BLUE)).json()
        packet = client.post("/v1/packets", json={"query": "x"}, headers=bearer(key, BLUE)).json()
    assert search["hits"] == []
    assert (packet["disposition"], packet["state"]) == ("accepted", "absent")


def test_a_catalog_that_cannot_be_read_is_a_503_that_names_nothing(
    client: TestClient, blue: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R5."""
    pipeline = client.app.state.pipeline  # type: ignore[attr-defined]  # a FastAPI application

    def fail(*_: object, **__: object) -> None:
        raise DamagedCatalog("the text of revision '1' of source 'CANARY' in 'red'")

    monkeypatch.setattr(pipeline, "search", fail)
    answer = client.post("/v1/search", json={"query": "x"}, headers=blue)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert "CANARY" not in answer.text


def test_the_largest_budget_is_answered_and_one_more_is_refused(client: TestClient, blue: dict[str, str]) -> None:
    """R31: a sum of two limits still is an integer of a hashed record."""
    largest = 2**52 - 1
    budget = {"tokenizer": "o200k_base", "window": largest, "reserved_output_tokens": largest}

    answer = client.post("/v1/packets", json={"query": "upload", "budget": budget}, headers=blue)
    assert answer.json()["disposition"] == "refused-budget"
    beyond = {**budget, "window": largest + 1}
    assert client.post("/v1/packets", json={"query": "upload", "budget": beyond}, headers=blue).status_code == 422


def test_fields_of_the_contract_that_are_empty_are_as_if_left_out(client: TestClient, blue: dict[str, str]) -> None:
    empty = {"model": None, "source_id": None, "filter": None, "fusion": None, "requirements": None, "budget": None}

    bare = client.post("/v1/packets", json={"query": "upload"}, headers=blue).json()
    spelled = client.post(
        "/v1/packets", json={"query": "upload", "conversation": [], "tool_results": [], **empty}, headers=blue
    ).json()
    assert bare["packet_id"] == spelled["packet_id"]


def test_two_authorization_headers_are_no_credentials(client: TestClient, blue: dict[str, str]) -> None:
    headers = [("authorization", blue["authorization"]), ("authorization", "Bearer x")]

    assert client.get("/v1/catalog", headers=headers).status_code == 401


def test_a_slash_too_many_is_not_redirected(client: TestClient) -> None:
    answer = client.get("/v1/catalog/", headers={"host": "evil.example"}, follow_redirects=False)

    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_a_problem_does_not_grow_with_what_was_sent(client: TestClient, blue: dict[str, str]) -> None:
    answer = client.post("/v1/search", json={"query": "x", "k" * 5000: 1}, headers=blue)

    assert answer.status_code == 422
    assert len(answer.content) < 1000


def test_a_filter_has_at_most_a_thousand_values(client: TestClient, blue: dict[str, str]) -> None:
    for count, status in ((1000, 200), (1001, 422)):
        body = {"query": "x", "filter": {"source_id": [str(value) for value in range(count)]}}
        assert client.post("/v1/search", json=body, headers=blue).status_code == status


def test_a_host_that_is_not_allowed_gets_a_problem_with_an_id(tmp_path: Path) -> None:
    build(tmp_path / "catalog", [])
    settings = Settings(allowed_hosts=("muniment.example", "*.inside.example"))

    with (
        opened(tmp_path / "catalog") as pipeline,
        open_recorder(pipeline.catalog, settings=settings) as recorder,
    ):
        app = create_app(settings, pipeline=pipeline, recorder=recorder, key=load_key(tmp_path / "catalog"))
        with TestClient(app) as client:
            for host, status in (
                ("muniment.example:8000", 200),
                ("a.inside.example", 200),
                ("inside.example", 400),
                ("evil.example", 400),
            ):
                answer = client.get("/health/live", headers={"host": host})
                assert answer.status_code == status
                assert answer.headers["x-request-id"]


def test_no_work_is_done_for_a_client_that_has_gone(
    client: TestClient, blue: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    worked: list[object] = []

    def gone(_: object) -> bool:
        return True

    monkeypatch.setattr("server.routes.has_left", gone)

    def work(*asked: object) -> dict[str, object]:
        worked.append(asked)
        return {}

    monkeypatch.setattr(client.app.state.pipeline, "search", work)  # type: ignore[attr-defined]  # FastAPI's
    client.post("/v1/search", json={"query": "x"}, headers=blue)
    assert worked == []
    monkeypatch.undo()
    assert client.post("/v1/search", json={"query": "x"}, headers=blue).status_code == 200
