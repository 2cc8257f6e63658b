"""Tests of `server/routes_records.py`: records over HTTP, in process."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from evidence.access import Principal
from evidence.canonical import digest
from evidence.identity import PUBLIC, UnitKey
from server.admission import Admission
from server.bearers import Bearers
from server.edge import Edge
from server.keys import SigningKey, create_key, load_key
from server.metrics import Metrics
from server.recording import Recorder
from server.responses import ProblemShape
from server.responses_records import AuditAnswer, ReviewAnswer, ReviewsAnswer
from server.routes_records import router
from server.tokens import issue
from tests.builders import principal, requires, source
from tests.index.catalog_builders import BLUE, catalog, revision
from tests.server.recorded import HANDLE, answer, keep, recorder

ANN = principal()
EVE = principal(sub="eve", scope=["audit"])
OPEN, RESTRICTED = UnitKey(PUBLIC, "open", "1", 0), UnitKey(BLUE, "restricted", "1", 0)


class Served:
    """The routes over a small catalog and its records."""

    def __init__(self, client: TestClient, key: SigningKey, kept_by: Recorder) -> None:
        self.client, self.key, self.kept_by = client, key, kept_by

    def get(self, path: str, who: Principal) -> Any:
        return self.client.get(path, headers=self._bearer(who))

    def post(self, path: str, who: Principal, body: Any) -> Any:
        return self.client.post(path, headers=self._bearer(who), json=body)

    def _bearer(self, who: Principal) -> dict[str, str]:
        return {"authorization": f"Bearer {issue(who, key=self.key, now_s=int(time.time()), lifetime_s=60)}"}


@pytest.fixture(scope="module", name="served")
def fixture_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("records") / "catalog"
    held = [revision("open", "in general"), revision("restricted", "25 MB", namespace=BLUE, roles=["legal"])]
    with catalog(directory, held) as made:
        create_key(directory)
        kept_by = recorder(directory, made)
        app = FastAPI()
        app.state.pipeline, app.state.key = SimpleNamespace(catalog=made), load_key(directory)
        app.state.bearers, app.state.recorder = Bearers(), kept_by
        app.state.metrics = Metrics()
        app.state.admission = Admission(
            max_running=2, max_running_per_tenant=2, max_waiting=2, max_waiting_per_tenant=4
        )
        app.include_router(router)
        app.add_middleware(Edge, max_body_bytes=20_000)
        with kept_by.records, TestClient(app, raise_server_exceptions=False) as client:
            yield Served(client, app.state.key, kept_by)


@pytest.fixture(scope="module", name="packet_id")
def fixture_packet_id(served: Served) -> str:
    return keep(served.kept_by, answer(OPEN), ANN)


def test_a_caller_reads_their_own_manifest(served: Served, packet_id: str) -> None:
    assert served.get(f"/v1/manifests/{packet_id}", ANN).json() == answer(OPEN)["manifest"]


def test_a_manifest_that_may_not_be_seen_has_the_bytes_of_one_that_never_was(served: Served, packet_id: str) -> None:
    """R7, R35: another caller's, one with a unit that is invisible now, an unknown one, and no packet id at all."""
    hidden = keep(served.kept_by, answer(RESTRICTED), ANN)
    refused = [
        served.get(f"/v1/manifests/{packet_id}", principal(sub="bob")),
        served.get(f"/v1/manifests/{hidden}", ANN),
        served.get(f"/v1/manifests/{digest('never')}", ANN),
        served.get("/v1/manifests/x", ANN),
    ]

    assert {(response.status_code, response.content) for response in refused} == {(404, refused[0].content)}
    assert ProblemShape.model_validate(refused[0].json()).type == "urn:muniment:problem:not-found"


def test_an_audit_has_the_shape_of_the_document(served: Served) -> None:
    body = answer(roles={"limit": "absent"}, query="with a finding")
    packet_id = keep(served.kept_by, body, ANN, [requires("limit", source("restricted"))])

    read = AuditAnswer.model_validate(served.get(f"/v1/audit/{packet_id}", EVE).json())
    assert [run.packet_id for run in read.runs] == [packet_id]
    assert read.runs[0].unauthorized is not None
    assert read.runs[0].unauthorized[0].reason == "unauthorized"


@pytest.mark.parametrize("path", ["/v1/audit/x", "/v1/reviews"])
def test_records_of_others_need_the_scope_audit(path: str, served: Served) -> None:
    assert served.get(path, ANN).status_code == 403
    assert served.post("/v1/reviews", ANN, {}).status_code == 403
    assert served.post("/v1/reviews/RV-1", ANN, {}).status_code == 403


@pytest.mark.parametrize(
    ("query", "place"),
    [("limit=0", "$.limit"), ("limit=1001", "$.limit"), ("limit=many", "$.limit"), ("depth=1", "$.depth")],
)
def test_a_parameter_that_is_not_allowed_is_named(query: str, place: str, served: Served) -> None:
    for path in ("/v1/audit/x", "/v1/reviews"):
        response = served.get(f"{path}?{query}", EVE)
        assert response.status_code == 422
        assert ProblemShape.model_validate(response.json()).path == place


def test_a_dispute_is_opened_decided_and_listed(served: Served, packet_id: str) -> None:
    body = {"packet_id": packet_id, "handle": HANDLE, "claim": "in general, yes", "authority": "brand-safety"}

    opened = ReviewAnswer.model_validate(served.post("/v1/reviews", EVE, body).json())
    decision = {"state": "unresolved", "authority": "brand-safety"}
    decided = ReviewAnswer.model_validate(served.post(f"/v1/reviews/{opened.review_id}", EVE, decision).json())
    assert decided.state == "unresolved"
    listed = ReviewsAnswer.model_validate(served.get(f"/v1/reviews?packet_id={packet_id}&limit=5", EVE).json())
    assert listed.reviews == [decided]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"packet_id": "x", "handle": "y", "claim": "", "authority": "z"},
        {"packet_id": "x", "handle": "y", "claim": "c", "authority": "z", "span": [5, 5]},
        {"packet_id": "x", "handle": "y", "claim": "c", "authority": "z", "state": "supported"},
    ],
)
def test_a_dispute_outside_the_schema_is_refused(body: dict[str, Any], served: Served) -> None:
    assert served.post("/v1/reviews", EVE, body).status_code == 422


def test_a_decision_on_a_review_of_another_tenant_is_refused_like_one_on_none(served: Served, packet_id: str) -> None:
    body = {"packet_id": packet_id, "handle": HANDLE, "claim": "in general, no", "authority": "brand-safety"}
    review_id = served.post("/v1/reviews", EVE, body).json()["review_id"]

    red, decision = principal("red", scope=["audit"]), {"state": "supported", "authority": "red"}
    foreign = served.post(f"/v1/reviews/{review_id}", red, decision)
    none = served.post("/v1/reviews/RV-none", red, decision)
    assert (foreign.status_code, foreign.content) == (none.status_code, none.content) == (404, none.content)
