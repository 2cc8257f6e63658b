"""Tests of `server/routes_authority.py`: taking out, relabelling and revoking over HTTP, in force when acknowledged."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evidence.access import Principal
from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey
from index.catalog import Catalog
from index.records import Records
from server.app import create_app
from server.authority_schemas import AccessAnswer, DeletedAnswer, RevocationAnswer
from server.keys import SigningKey, load_key
from server.recording import Recorder
from server.responses import ProblemShape
from server.settings import Settings
from server.tokens import issue, verify
from tests.worlds import NOW, build, opened, pipeline_over, principal, record, without_run

BLUE = Namespace("blue")
WRITER = principal("blue", sub="writer", scope=("ingest", "revoke", "search"))
READER = principal("blue", sub="reader", roles=("engineer",), purposes=("service",))
PUBLISHER = principal("blue", sub="publisher", scope=("ingest-public", "revoke", "search"))
OUTSIDER = principal(None, sub="outsider", scope=("ingest", "ingest-public", "revoke", "search"))

RECORDS = [
    record("A", "The upload limit is 25 MB.", tenant="blue"),
    record("A", "The upload limit is 30 MB.", tenant="blue", revision="2"),
    record("a/b c?", "Slashes are allowed in names.", tenant="blue", access={"roles": ["engineer"]}),
    record("A", "The upload limit is 99 MB.", tenant="red"),
    record("A", "How uploads work.", access={}),
    record("P", "Only for service.", tenant="blue", access={"purposes": ["service"]}),
    record(
        "DRAFT",
        "The upload limit may rise.",
        tenant="blue",
        status="draft",
        claims=[{"key": "upload.plan", "value": "rise", "quote": "may rise"}],
    ),
]


@dataclass(frozen=True)
class World:
    """One catalog, served twice: `here` makes the changes, `elsewhere` had it open all along."""

    here: TestClient
    elsewhere: TestClient
    catalog: Catalog
    key: SigningKey

    def bearer(self, who: Principal, *, token: str | None = None) -> dict[str, str]:
        signed = token or issue(who, key=self.key, now_s=int(time.time()), lifetime_s=60)
        return {"authorization": f"Bearer {signed}"}

    def sources(self, who: Principal, *, purpose: str | None = None) -> int:
        """How many sources `who` sees elsewhere."""
        query = {} if purpose is None else {"purpose": purpose}
        answer = self.elsewhere.get("/v1/catalog", params=query, headers=self.bearer(who))
        assert answer.status_code == 200, answer.text
        return int(answer.json()["sources"])


@pytest.fixture(name="world")
def fixture_world(tmp_path: Path) -> Iterator[World]:
    directory = tmp_path / "catalog"
    build(directory, RECORDS)
    key = load_key(directory)
    with opened(directory) as other, Catalog.open(directory) as catalog, Records.open(directory) as records:
        recorder = Recorder(records, catalog, max_runs=1000, max_days=30, clock=lambda: NOW)
        apps = [
            create_app(Settings(), pipeline=pipeline, recorder=recorder, key=key)
            for pipeline in (pipeline_over(catalog), other)
        ]
        here, elsewhere = (TestClient(app, raise_server_exceptions=False) for app in apps)
        world = World(here=here, elsewhere=elsewhere, catalog=catalog, key=key)
        world.sources(READER)  # so that both have something in memory
        yield world


def test_a_deleted_source_is_gone_in_every_process_and_a_second_delete_finds_nothing(world: World) -> None:
    before = world.sources(READER)
    first = world.here.delete("/v1/sources/A", headers=world.bearer(WRITER))

    assert first.status_code == 200
    body = DeletedAnswer.model_validate(first.json())
    assert (body.namespace, body.source_id, body.revisions, body.units) == ("blue", "A", 2, 2)
    assert world.sources(READER) == before - 1
    assert world.here.delete("/v1/sources/A", headers=world.bearer(WRITER)).status_code == 404


def test_only_the_callers_own_namespace_is_touched(world: World) -> None:
    world.here.delete("/v1/sources/A", headers=world.bearer(WRITER))

    with world.catalog.read() as reading:
        left = [key for key in reading.facts() if key.source_id == "A"]
    assert left == [RevisionKey(PUBLIC, "A", "1"), RevisionKey(Namespace("red"), "A", "1")]


def test_a_name_may_hold_slashes_and_restrictions_do_not_stand_in_the_way(world: World) -> None:
    answer = world.here.delete("/v1/sources/a%2Fb%20c%3F", headers=world.bearer(WRITER))

    assert answer.status_code == 200
    assert answer.json()["source_id"] == "a/b c?"


@pytest.mark.parametrize("method", ["delete", "put", "post"])
def test_absent_and_foreign_sources_end_in_the_same_bytes(world: World, method: str) -> None:
    """R7: A of red is as absent for the writer of blue as a source that never was."""
    green = principal("green", sub="writer", scope=("ingest", "revoke"))

    def ask(source_id: str) -> Any:
        if method == "delete":
            return world.here.delete(f"/v1/sources/{source_id}", headers=world.bearer(green))
        if method == "put":
            body: dict[str, object] = {"tenant": "green"}
            return world.here.put(f"/v1/sources/{source_id}/access", json=body, headers=world.bearer(green))
        body = {"source_id": source_id, "revision": "1"}
        return world.here.post("/v1/revocations", json=body, headers=world.bearer(green))

    foreign, absent = ask("A"), ask("Z")
    assert (foreign.status_code, absent.status_code) == (404, 404)
    assert foreign.content == absent.content
    ProblemShape.model_validate(foreign.json())


def test_public_is_touched_only_where_the_call_says_so_and_the_scope_allows_it(world: World) -> None:
    def delete(who: Principal, query: str = "") -> int:
        return world.here.delete(f"/v1/sources/A{query}", headers=world.bearer(who)).status_code

    assert delete(WRITER, "?public=true") == 403
    assert delete(PUBLISHER) == 403
    assert delete(OUTSIDER) == 403
    assert delete(PUBLISHER, "?public=maybe") == 422
    assert delete(PUBLISHER, "?tenant=red") == 422
    assert delete(READER) == 403
    assert delete(PUBLISHER, "?public=true") == 200
    assert delete(OUTSIDER, "?public=true") == 404
    with world.catalog.read() as reading:
        assert SourceKey(PUBLIC, "A") not in {key.source for key in reading.facts()}


def test_a_relabelled_source_is_seen_by_whom_its_new_label_admits_at_once(world: World) -> None:
    auditor = principal("blue", sub="auditor", roles=("auditor",))
    before = world.sources(auditor)
    label = {"tenant": "blue", "roles": ["auditor"]}
    answer = world.here.put("/v1/sources/A/access", json=label, headers=world.bearer(WRITER))

    assert answer.status_code == 200
    body = AccessAnswer.model_validate(answer.json())
    assert (body.revisions, body.changed, body.access.roles, body.access.tenant) == (2, True, ["auditor"], "blue")
    assert (world.sources(READER), world.sources(auditor)) == (before, before)
    again = world.here.put("/v1/sources/A/access", json=body.access.model_dump(), headers=world.bearer(WRITER))
    assert (again.status_code, again.json()["changed"]) == (200, False)


@pytest.mark.parametrize(
    ("label", "path"),
    [
        ({}, "$"),  # R3: a label that states nothing opens nothing
        ({"roles": ["auditor"]}, "$"),
        ({"public": True, "tenant": "blue"}, "$.tenant"),
        ({"tenant": "red"}, "$.tenant"),
        ({"tenant": "blue", "role": ["auditor"]}, "$.role"),
        ({"tenant": "blue", "roles": "auditor"}, "$.roles"),
        ({"tenant": "blue", "roles": [""]}, "$.roles[0]"),
    ],
)
def test_what_states_no_label_of_the_namespace_is_refused_with_its_path(
    world: World, label: dict[str, object], path: str
) -> None:
    answer = world.here.put("/v1/sources/A/access", json=label, headers=world.bearer(WRITER))

    assert (answer.status_code, answer.json()["path"]) == (422, path)
    assert world.sources(READER) == 3


def test_a_public_label_names_the_public_source_and_never_opens_a_tenants_own(world: World) -> None:
    answer = world.here.put("/v1/sources/P/access", json={"public": True}, headers=world.bearer(PUBLISHER))

    assert answer.status_code == 404  # public has no P; P of blue stays where it is
    assert (
        world.here.put("/v1/sources/P/access", json={"public": True}, headers=world.bearer(WRITER)).status_code == 403
    )
    done = world.here.put("/v1/sources/A/access", json={"public": True}, headers=world.bearer(PUBLISHER))
    assert (done.status_code, done.json()["namespace"]) == (200, "public")


def test_a_revoked_subject_is_nobody_at_once_in_every_process(world: World) -> None:
    token = issue(READER, key=world.key, now_s=int(time.time()), lifetime_s=60)
    assert world.elsewhere.get("/v1/catalog", headers=world.bearer(READER, token=token)).status_code == 200
    answer = world.here.post("/v1/revocations", json={"subject": "reader"}, headers=world.bearer(WRITER))

    assert RevocationAnswer.model_validate(answer.json()).changed
    for who in (world.bearer(READER, token=token), world.bearer(READER)):  # the token at hand, and one made later
        refused = world.elsewhere.get("/v1/catalog", headers=who)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    again = world.here.post("/v1/revocations", json={"subject": "reader"}, headers=world.bearer(WRITER))
    assert (again.status_code, again.json()["changed"]) == (200, False)


def test_a_revoked_token_is_worth_nothing_while_another_of_its_subject_goes_on(world: World) -> None:
    token = issue(READER, key=world.key, now_s=int(time.time()), lifetime_s=60)
    token_id = verify(token, key=world.key, now_s=int(time.time()))["jti"]
    world.here.post("/v1/revocations", json={"token_id": token_id}, headers=world.bearer(WRITER))

    assert world.elsewhere.get("/v1/catalog", headers=world.bearer(READER, token=token)).status_code == 401
    assert world.elsewhere.get("/v1/catalog", headers=world.bearer(READER)).status_code == 200


def test_a_revoked_role_closes_what_it_opened(world: World) -> None:
    before = world.sources(READER)
    grant = {"grant": {"subject": "reader", "role": "engineer"}}
    assert world.here.post("/v1/revocations", json=grant, headers=world.bearer(WRITER)).status_code == 200

    assert world.sources(READER) == before - 1


def test_a_revoked_purpose_is_refused_like_one_that_was_never_granted(world: World) -> None:
    """R1."""
    assert world.sources(READER, purpose="service") == 4
    grant = {"grant": {"subject": "reader", "purpose": "service"}}
    world.here.post("/v1/revocations", json=grant, headers=world.bearer(WRITER))

    answer = world.elsewhere.get("/v1/catalog", params={"purpose": "service"}, headers=world.bearer(READER))
    assert answer.status_code == 403


def test_a_revoked_scope_stops_the_very_next_call(world: World) -> None:
    grant = {"grant": {"subject": "writer", "scope": "revoke"}}
    assert world.here.post("/v1/revocations", json=grant, headers=world.bearer(WRITER)).status_code == 200

    assert world.here.post("/v1/revocations", json=grant, headers=world.bearer(WRITER)).status_code == 403


def test_revocations_reach_the_callers_own_namespace_alone(world: World) -> None:
    """Two tenants may have a subject of the same name."""
    namesake = principal("red", sub="reader")
    world.here.post("/v1/revocations", json={"subject": "reader"}, headers=world.bearer(WRITER))

    assert world.elsewhere.get("/v1/catalog", headers=world.bearer(namesake)).status_code == 200
    world.here.post("/v1/revocations", json={"subject": "outsider"}, headers=world.bearer(OUTSIDER))
    assert world.elsewhere.get("/v1/catalog", headers=world.bearer(OUTSIDER)).status_code == 401


def test_a_revision_is_revoked_in_its_own_namespace(world: World) -> None:
    body = {"source_id": "A", "revision": "1"}
    answer = world.here.post("/v1/revocations", json=body, headers=world.bearer(WRITER))

    assert (answer.status_code, answer.json()) == (200, {"namespace": "blue", "revoked": "revision", "changed": True})
    with world.catalog.read() as reading:
        revoked = [key for key, facts in reading.facts().items() if facts.status == "revoked"]
    assert revoked == [RevisionKey(BLUE, "A", "1")]


def test_revoking_a_draft_changes_not_one_byte_for_whoever_cannot_see_drafts(world: World) -> None:
    """R3, R6: not the version, the counts or the state of a role that names it."""
    roles = [{"claim": "upload.plan"}, {"source_id": "DRAFT"}, {"unit_id": "blue/DRAFT@1#0"}]
    body = {
        "query": "the upload limit",
        "requirements": [{"role": f"role-{number}", "match": match} for number, match in enumerate(roles)],
    }

    def told() -> list[Any]:
        packets = [
            world.elsewhere.post("/v1/packets", json={**body, **more}, headers=world.bearer(READER))
            for more in ({}, {"strategy": "broad"}, {"use": "historical"}, {"use": "draft"})
        ]
        overview = world.elsewhere.get("/v1/catalog", headers=world.bearer(READER))
        return [*(without_run(packet.json()) for packet in packets), overview.content]

    before = told()
    answer = world.here.post(
        "/v1/revocations", json={"source_id": "DRAFT", "revision": "1"}, headers=world.bearer(WRITER)
    )

    assert answer.json()["changed"]
    assert told() == before


def test_a_revoked_revision_that_is_deleted_and_posted_again_is_revoked_still(world: World) -> None:
    """R4: and the one who posts it reads what they would of a source that is new (R6)."""
    body = {"source_id": "A", "revision": "1"}
    world.here.post("/v1/revocations", json=body, headers=world.bearer(WRITER))
    world.here.delete("/v1/sources/A", headers=world.bearer(WRITER))
    assert world.here.post("/v1/revocations", json=body, headers=world.bearer(WRITER)).status_code == 404
    answer = world.here.post("/v1/sources", json=RECORDS[0], headers=world.bearer(WRITER))

    assert (answer.status_code, answer.json()["accepted"]) == (200, 1)
    asked = {"query": "the upload limit", "requirements": [{"role": "limit", "match": {"source_id": "A"}}]}
    packet = world.elsewhere.post("/v1/packets", json=asked, headers=world.bearer(READER)).json()
    assert packet["state"] == "stale"
    assert "25 MB" not in str(packet)


def test_a_public_revision_is_revoked_where_the_call_says_so(world: World) -> None:
    body = {"source_id": "A", "revision": "1"}

    def ask(who: Principal, query: str = "", **more: object) -> int:
        answer = world.here.post(f"/v1/revocations{query}", json={**body, **more}, headers=world.bearer(who))
        return answer.status_code

    assert ask(WRITER, "?public=true") == 403
    assert ask(OUTSIDER) == 403
    assert ask(PUBLISHER, public=True) == 200
    assert ask(OUTSIDER, "?public=true") == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"subject": "reader", "token_id": "x"},
        {"source_id": "A"},
        {"revision": "1"},
        {"subject": ""},
        {"subject": 7},
        {"grant": {"subject": "reader"}},
        {"grant": {"subject": "reader", "scope": "serach"}},
        {"grant": {"subject": "reader", "role": "a", "purpose": "b"}},
        {"grant": {"role": "engineer"}},
        {"grant": {"subject": "reader", "tenant": "red", "role": "engineer"}},
        {"subject": "reader", "tenant": "red"},
    ],
)
def test_what_names_not_exactly_one_thing_is_refused(world: World, body: dict[str, object]) -> None:
    answer = world.here.post("/v1/revocations", json=body, headers=world.bearer(WRITER))

    assert answer.status_code == 422
    assert world.elsewhere.get("/v1/catalog", headers=world.bearer(READER)).status_code == 200


def test_revoking_needs_its_own_scope(world: World) -> None:
    answer = world.here.post("/v1/revocations", json={"subject": "writer"}, headers=world.bearer(READER))

    assert answer.status_code == 403


def test_an_authority_that_cannot_be_read_admits_nobody(world: World) -> None:
    """R3, R5: 503, never an open door."""
    world.here.post("/v1/revocations", json={"subject": "reader"}, headers=world.bearer(WRITER))
    with world.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE revocation SET name = 'nobody'")
        connection.exec_driver_sql("UPDATE catalog_state SET change = change + 1")

    answer = world.elsewhere.get("/v1/catalog", headers=world.bearer(READER))
    assert (answer.status_code, answer.json()["detail"]) == (503, "the catalog cannot be read now")
