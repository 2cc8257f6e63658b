"""Does each condition of the evidence lead to its own outcome, with the request held fixed? (R7, R28)

Five catalogs and one request. The prose is nearly the same in all of them: it is the facts about a source that decide.
"""

import hashlib
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.evidence_contract.answers import Answer, needs, outcome, role_states, sources
from tests.evidence_contract.mosaic import (
    AUDITOR,
    BLUE,
    CURRENT_TEXT,
    INSPECTION,
    QUERY,
    bulletin,
    contrary_bulletin,
    foreign_bulletin,
    guide,
    old_bulletin,
)
from tests.evidence_contract.over_http import Caller, as_sent, served_all
from tests.worlds import principal

REQUEST = {"query": QUERY, "requirements": [needs("inspection", INSPECTION)]}

CONDITIONS: dict[str, list[dict[str, Any]]] = {
    "supporting": [guide(), bulletin()],
    "conflicting": [guide(), bulletin(), contrary_bulletin()],
    "stale": [guide(), bulletin(status="superseded")],
    "absent": [guide()],
    "unauthorized": [guide(), bulletin(access={"roles": ["supervisor"]})],
}

# condition -> (state, behaviour, disposition), the role's state, the sources handed over
PRESCRIBED: dict[str, tuple[tuple[str, str, str], str, set[str]]] = {
    "supporting": (("supported", "answer", "accepted"), "filled", {"GUIDE-1", "SB-A-7"}),
    "conflicting": (("conflicting", "escalate", "accepted"), "conflicting", {"GUIDE-1", "SB-A-7", "SB-C-1"}),
    "stale": (("stale", "abstain", "accepted"), "stale", {"GUIDE-1"}),
    "absent": (("absent", "abstain", "accepted"), "absent", {"GUIDE-1"}),
    "unauthorized": (("absent", "abstain", "accepted"), "absent", {"GUIDE-1"}),
}

# what puts the bulletin out of Blue's reach -> the label that does it
BARRIERS: dict[str, dict[str, Any]] = {
    "role": {"access": {"roles": ["supervisor"]}},
    "purpose": {"access": {"purposes": ["repair"]}},  # Ann holds it and does not ask for it
    "region": {"access": {"regions": ["us"]}},
    "case": {"access": {"cases": ["c-2"]}},
    "everything": {"access": {"roles": ["x"], "purposes": ["y"], "regions": ["z"], "cases": ["w"]}},
}


@pytest.fixture(scope="module", name="junction")
def fixture_junction(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Caller]]:
    worlds = {
        **CONDITIONS,
        **{f"barred by {name}": [guide(), bulletin(**label)] for name, label in BARRIERS.items()},
        "barred by tenant": [guide(), foreign_bulletin()],
        "barred as draft": [guide(), bulletin(status="draft")],
        "expired": [guide(), bulletin(effective_to="2026-01-01T00:00:00Z")],
        "superseded near-duplicate": [guide(), old_bulletin()],
    }
    with served_all(tmp_path_factory.mktemp("junction"), worlds) as callers:
        yield callers


def answer(junction: dict[str, Caller], condition: str, **more: Any) -> Answer:
    return junction[condition].packet(BLUE, {**REQUEST, **more})


@pytest.mark.parametrize("condition", PRESCRIBED)
def test_each_condition_has_its_prescribed_outcome(junction: dict[str, Caller], condition: str) -> None:
    found = answer(junction, condition)

    assert (outcome(found), role_states(found)["inspection"], set(sources(found))) == PRESCRIBED[condition]


def test_what_is_visible_differs_between_the_five_and_what_is_asked_does_not(junction: dict[str, Caller]) -> None:
    """R29, R30, R32: of the five catalogs only four can be told apart by what the caller may see."""
    manifests = {condition: answer(junction, condition)["manifest"] for condition in PRESCRIBED}

    assert {manifest["request"]["query"] for manifest in manifests.values()} == {QUERY}
    for asked in ("request", "scope_digest", "recipe", "query_class"):
        assert len({json.dumps(manifest[asked]) for manifest in manifests.values()}) == 1, asked
    for layer, different in (("policy", 1), ("query", 1), ("corpus", 4)):
        assert len({manifest["layers"][layer] for manifest in manifests.values()}) == different, layer
    versions = {condition: manifest["catalog_version"] for condition, manifest in manifests.items()}
    assert len(set(versions.values())) == 4
    assert versions["absent"] == versions["unauthorized"]


def test_a_conflict_keeps_both_sides_and_names_both_owners(junction: dict[str, Caller]) -> None:
    """R18."""
    packet = answer(junction, "conflicting")["packet"]

    (group,) = packet["conflict_groups"]
    members = {item["source_id"]: item for item in packet["evidence"] if item["conflict_group"] == group["id"]}
    assert set(members) == {"SB-A-7", "SB-C-1"}
    assert {item["support_role"] for item in members.values()} == {"conflicting"}
    assert (group["key"], group["owners"], group["resolution"]) == (
        INSPECTION,
        ["brand-safety", "field-engineering"],
        None,
    )


@pytest.mark.parametrize("condition", ["stale", "expired", "superseded near-duplicate"])
def test_stale_evidence_is_named_without_its_content(junction: dict[str, Caller], condition: str) -> None:
    """R16, R28."""
    found = answer(junction, condition)

    assert outcome(found) == ("stale", "abstain", "accepted")
    (stale,) = [item for item in found["manifest"]["omissions"]["items"] if item["reason"] == "stale"]
    assert set(stale) == {"reason", "namespace", "source_id", "revision"}
    assert CURRENT_TEXT[:20] not in str(found)


def test_a_historical_question_may_use_what_is_stale_now(junction: dict[str, Caller]) -> None:
    """R4: under another contract the record counts."""
    found = answer(junction, "stale", use="historical")

    assert outcome(found) == ("supported", "answer", "accepted")
    assert [item["status"] for item in found["packet"]["evidence"] if item["source_id"] == "SB-A-7"] == ["superseded"]


@pytest.mark.parametrize("barrier", [*BARRIERS, "tenant"])
def test_to_the_caller_unauthorized_is_byte_for_byte_absent(junction: dict[str, Caller], barrier: str) -> None:
    """R6, R7."""
    absent = junction["absent"].post(BLUE, "/v1/packets", REQUEST)
    barred = junction[f"barred by {barrier}"].post(BLUE, "/v1/packets", REQUEST)

    assert as_sent(barred) == as_sent(absent)


def test_a_draft_is_byte_for_byte_absent(junction: dict[str, Caller]) -> None:
    """R3."""
    absent = junction["absent"].post(BLUE, "/v1/packets", REQUEST)

    assert as_sent(junction["barred as draft"].post(BLUE, "/v1/packets", REQUEST)) == as_sent(absent)


@pytest.mark.parametrize(
    "match", [{"claim": INSPECTION}, {"source_id": "SB-A-7"}, {"unit_id": "blue/SB-A-7@7#0"}, {"family": "bulletin"}]
)
def test_whatever_way_a_requirement_names_it_the_caller_learns_nothing(
    junction: dict[str, Caller], match: dict[str, str]
) -> None:
    """R7."""
    request = {"query": QUERY, "requirements": [{"role": "inspection", "match": match}]}

    absent = junction["absent"].post(BLUE, "/v1/packets", request)
    assert as_sent(junction["unauthorized"].post(BLUE, "/v1/packets", request)) == as_sent(absent)


@pytest.mark.parametrize("barrier", BARRIERS)
def test_the_sealed_record_says_unauthorized_and_that_of_an_absent_role_does_not(
    junction: dict[str, Caller], barrier: str
) -> None:
    """R7."""
    sealed = {}
    for condition in ("absent", f"barred by {barrier}"):
        packet_id = answer(junction, condition)["packet_id"]
        sealed[condition] = junction[condition].runs(AUDITOR, packet_id)[-1]

    assert sealed["absent"]["unauthorized"] == []
    (finding,) = sealed[f"barred by {barrier}"]["unauthorized"]
    assert finding["reason"] == "unauthorized"
    assert finding["named"] == {"claim": INSPECTION, "value": None}
    assert finding["namespaces"] == ["blue"]


def test_a_finding_in_another_tenant_is_told_to_an_auditor_of_all_and_to_none_of_one_tenant(
    junction: dict[str, Caller],
) -> None:
    """R7: that Red holds something is not for Blue's auditor to learn either."""
    packet_id = answer(junction, "barred by tenant")["packet_id"]
    of_all = principal(None, sub="root", scope=("search", "audit"))

    runs = [junction["barred by tenant"].runs(who, packet_id)[-1]["unauthorized"] for who in (AUDITOR, of_all)]
    assert runs[0] == []
    assert [finding["namespaces"] for finding in runs[1]] == [["red"]]


def test_the_stored_manifest_of_an_unauthorized_role_is_that_of_an_absent_one(junction: dict[str, Caller]) -> None:
    """R7, R31: nothing of the sealed record comes back to the caller."""
    stored = []
    for condition in ("absent", "unauthorized"):
        packet_id = answer(junction, condition)["packet_id"]
        stored.append(as_sent(junction[condition].get(BLUE, f"/v1/manifests/{packet_id}")))

    assert stored[0][0] == 200
    assert stored[0] == stored[1]


def test_a_supervisor_gets_what_the_technician_may_not_see(junction: dict[str, Caller]) -> None:
    supervisor = principal("blue", roles=("supervisor",))

    found = junction["unauthorized"].packet(supervisor, REQUEST)
    assert outcome(found) == ("supported", "answer", "accepted")


@pytest.mark.parametrize("condition", ["absent", "unauthorized"])
def test_where_absence_means_failing_closed_the_class_says_so(junction: dict[str, Caller], condition: str) -> None:
    """R28: the behaviour is the query class's."""
    found = answer(junction, condition, query_class="decision")

    assert outcome(found) == ("absent", "fail-closed", "accepted")


def test_no_outcome_has_an_effect(junction: dict[str, Caller], monkeypatch: pytest.MonkeyPatch) -> None:
    """R39: whatever the condition, nothing is called, nothing is started, and nothing is changed but the records."""

    def effect(*_: object, **__: object) -> None:
        pytest.fail("an answer reached out of the server")

    for owner, name in ((socket.socket, "connect"), (subprocess.Popen, "__init__"), (os, "system")):
        monkeypatch.setattr(owner, name, effect)
    for condition in PRESCRIBED:
        before = held_by(junction[condition])
        answer(junction, condition)
        assert held_by(junction[condition]) == before


def held_by(caller: Caller) -> dict[str, str]:
    """Every file of the server's catalog but its records, with a digest of it."""
    directory: Path = caller.client.app.state.pipeline.catalog.directory  # type: ignore[attr-defined]  # a FastAPI application
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.startswith("records.sqlite") and not path.name.endswith("-shm")
    }
