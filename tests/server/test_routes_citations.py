"""Tests of `server/routes_citations.py`: citations over HTTP, from the packet to the verdict."""

from collections.abc import Iterator
from typing import Any

import pytest

from server.citation_schemas import CitationAnswer, NativeAnswer
from server.responses import ProblemShape
from tests.evidence_contract.over_http import Caller, served
from tests.worlds import build, principal, record

BLUE, RED = principal("blue"), principal("red")
RECORDS = [
    record("LIMIT", "Uploads are limited to 25 MB.", tenant="blue", citable_for=["limit"]),
    record("NOTE", "Uploads are logged for 30 days.", tenant="blue"),
    record("LIMIT", "Uploads are limited to 7 MB.", tenant="red"),
]


@pytest.fixture(scope="module", name="caller")
def fixture_caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    directory = tmp_path_factory.mktemp("citations") / "catalog"
    build(directory, RECORDS)
    with served(directory) as caller:
        yield caller


def packet_of(caller: Caller, who: Any = BLUE) -> dict[str, Any]:
    packet: dict[str, Any] = caller.packet(who, {"query": "upload limit"})["packet"]
    return packet


def verdicts(caller: Caller, packet: dict[str, Any], occurrences: list[dict[str, Any]], who: Any = BLUE) -> list[str]:
    answer = caller.post(who, "/v1/citations/validate", {"packet": packet, "occurrences": occurrences})
    assert answer.status_code == 200, answer.text
    return [result.verdict for result in CitationAnswer.model_validate(answer.json()).results]


def handle_of(packet: dict[str, Any], source_id: str) -> str:
    (handle,) = [item["handle"] for item in packet["evidence"] if item["source_id"] == source_id]
    return str(handle)


def test_the_packet_of_an_answer_is_validated_as_it_came(caller: Caller) -> None:
    packet = packet_of(caller)
    limit, note = handle_of(packet, "LIMIT"), handle_of(packet, "NOTE")
    occurrences: list[dict[str, Any]] = [
        {"handle": limit, "quote": "limited to 25 MB", "claim": "At most 25 MB.", "claim_type": "limit"},
        {"handle": limit, "quote": "limited to 25 MB", "claim_type": "approval"},
        {"handle": limit, "quote": "30 days"},
        {"handle": note, "quote": "31 days"},
        {"handle": "EV-0000000000000000", "quote": "30 days"},
        {"handle": note, "quote": None, "claim": None, "claim_type": None},
    ]

    assert verdicts(caller, packet, occurrences) == [
        "valid",
        "not-citable",
        "misattributed",
        "misquoted",
        "fabricated",
        "valid",
    ]


def test_the_packet_of_another_tenant_is_worth_nothing(caller: Caller) -> None:
    """R1, R7: whoever hands it in, the bearer's scope decides."""
    theirs = packet_of(caller, RED)
    occurrence = {"handle": handle_of(theirs, "LIMIT"), "quote": "limited to 7 MB"}

    assert verdicts(caller, theirs, [occurrence], RED) == ["valid"]
    assert verdicts(caller, theirs, [occurrence], BLUE) == ["no-longer-eligible"]


def test_an_answer_in_a_provider_s_own_form_is_read_and_validated(caller: Caller) -> None:
    packet = packet_of(caller)
    reply = {"role": "assistant", "content": f'They say "limited to 25 MB" [{handle_of(packet, "LIMIT")}].'}

    read = caller.post(BLUE, "/v1/citations/read", {"adapter": "openai", "packet": packet, "answer": reply})

    assert read.status_code == 200
    NativeAnswer.model_validate(read.json())
    occurrences: list[dict[str, Any]] = read.json()["occurrences"]
    assert verdicts(caller, packet, occurrences) == ["valid"]


@pytest.mark.parametrize("route", ["/v1/citations/validate", "/v1/citations/read"])
def test_citations_need_a_token_with_the_scope_search(caller: Caller, route: str) -> None:
    assert caller.client.post(route, json={}).status_code == 401
    assert caller.post(principal("blue", scope=("ingest",)), route, {}).status_code == 403


@pytest.mark.parametrize("route", ["/v1/citations/validate", "/v1/citations/read"])
def test_what_cannot_be_read_is_a_problem_with_its_place(caller: Caller, route: str) -> None:
    answer = caller.post(BLUE, route, {"packet": 7})

    assert answer.status_code == 422
    assert ProblemShape.model_validate(answer.json()).path is not None


def test_the_document_describes_both_routes_and_their_bodies(caller: Caller) -> None:
    document = caller.client.get("/openapi.json").json()

    for path, body in (("/v1/citations/validate", "CitationRequest"), ("/v1/citations/read", "NativeRequest")):
        content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        assert content["schema"] == {"$ref": f"#/components/schemas/{body}"}
        assert body in document["components"]["schemas"]
