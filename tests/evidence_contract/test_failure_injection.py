"""Does a packet hold its shape when the candidates hold a superseded near-duplicate and an instruction-like note?

Then the superseded bulletin is replaced by a second current one that contradicts the first.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.evidence_contract.answers import (
    Answer,
    item_of,
    left_out,
    needs,
    outcome,
    role_states,
    sources,
    strings,
)
from tests.evidence_contract.mosaic import (
    BLUE,
    COMMAND,
    CONTRARY_TEXT,
    CURRENT_TEXT,
    INSPECT,
    INSPECTION,
    NOTE_TEXT,
    OLD_WORD,
    QUERY,
    STOP,
    WARRANTY,
    bulletin,
    contrary_bulletin,
    foreign_bulletin,
    note,
    old_bulletin,
)
from tests.evidence_contract.over_http import Caller, served, served_all
from tests.worlds import build

REQUEST = {
    "query": f"{QUERY} Is the warranty approved?",
    "requirements": [needs("inspection", INSPECTION), needs("warranty", WARRANTY)],
}
SUPERSEDING: dict[str, Any] = {"supersedes": [{"source_id": "SB-A-2", "revision": "2"}]}
RELATION: dict[str, Any] = {
    "contradicts": [{"source_id": "SB-A-7", "here": {"quote": CONTRARY_TEXT}, "there": {"claim": INSPECTION}}]
}

WORLDS: dict[str, list[dict[str, Any]]] = {
    "superseded": [bulletin(**SUPERSEDING), old_bulletin(), note(), foreign_bulletin()],
    "superseded, harmless note": [
        bulletin(**SUPERSEDING),
        old_bulletin(),
        note("The drum latch felt loose."),
        foreign_bulletin(),
    ],
    "only superseded by relation": [bulletin(**SUPERSEDING), old_bulletin(status="current"), note()],
    "contradicting claims": [bulletin(), contrary_bulletin(), note()],
    "contradicting relation": [bulletin(), contrary_bulletin(claims=[], **RELATION), note()],
    "contradicting, far away": [
        bulletin(),
        contrary_bulletin("Elektrik bağlıyken mandalı kontrol edin.", title="Mandal"),
        note(),
    ],
    "contradicting, closer": [bulletin(), contrary_bulletin(title=f"{QUERY} Is the warranty approved?"), note()],
}


@pytest.fixture(scope="module", name="desks")
def fixture_desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Caller]]:
    with served_all(tmp_path_factory.mktemp("desks"), WORLDS) as desks:
        yield desks


def answer(desks: dict[str, Caller], world: str = "superseded", **more: Any) -> Answer:
    return desks[world].packet(BLUE, {**REQUEST, **more})


def test_the_current_bulletin_is_in_with_its_source_revision_and_span(desks: dict[str, Caller]) -> None:
    item = item_of(answer(desks), "SB-A-7")

    assert (item["namespace"], item["revision"], item["status"], item["support_role"]) == (
        "blue",
        "7",
        "current",
        "supporting",
    )
    assert (item["text"], item["span"]) == (CURRENT_TEXT, [0, len(CURRENT_TEXT)])


@pytest.mark.parametrize("world", ["superseded", "only superseded by relation"])
def test_the_superseded_near_duplicate_is_out_with_a_reason_and_no_content(
    desks: dict[str, Caller], world: str
) -> None:
    """R16."""
    found = answer(desks, world)

    assert left_out(found, "stale") == [
        {"reason": "stale", "namespace": "blue", "source_id": "SB-A-2", "revision": "2"}
    ]
    assert "SB-A-2" not in sources(found)
    assert OLD_WORD not in json.dumps(found)


def test_the_note_is_included_as_data_and_its_instruction_stands_nowhere_else(desks: dict[str, Caller]) -> None:
    """R25, R26: within the packet and the manifest the text is in one field; within the body it is escaped."""
    found = answer(desks)

    assert item_of(found, "NOTE-17")["trust"] == "untrusted-retrieved-data"
    assert item_of(found, "NOTE-17")["text"] == NOTE_TEXT
    places = {path for path, text in strings(found) if COMMAND in text}
    assert places == {"packet.evidence[].text", "rendered.body"}
    for delimiter in ("<|im_start|>", "<|im_end|>", "[/INST]"):
        assert delimiter not in found["rendered"]["body"]
    assert json.loads(found["rendered"]["body"]) == found["packet"]


def test_the_note_decides_nothing(desks: dict[str, Caller]) -> None:
    """With harmless words in its place every decision is the same."""
    hostile, harmless = (answer(desks, world) for world in ("superseded", "superseded, harmless note"))

    assert outcome(hostile) == outcome(harmless)
    assert role_states(hostile) == role_states(harmless)
    assert left_out(hostile, "stale") == left_out(harmless, "stale")
    for source_id in ("SB-A-7", "NOTE-17"):
        mine, its = item_of(hostile, source_id), item_of(harmless, source_id)
        assert (mine["support_role"], mine["conflict_group"]) == (its["support_role"], its["conflict_group"])


@pytest.mark.parametrize("adapter", ["openai", "anthropic"])
def test_no_instructions_slot_holds_a_word_of_the_evidence(desks: dict[str, Caller], adapter: str) -> None:
    """R25, R34."""
    body = json.loads(answer(desks, adapter=adapter)["rendered"]["body"])

    if adapter == "anthropic":
        control, data = body["system"], body["messages"]
    else:
        control = [message for message in body["messages"] if message["role"] == "system"]
        data = [message for message in body["messages"] if message["role"] != "system"]
    assert control
    for words in (COMMAND, INSPECT, STOP):
        assert words not in json.dumps(control)
        assert words in json.dumps(data)


def test_warranty_authority_is_absent_and_an_approval_prohibited(desks: dict[str, Caller]) -> None:
    """R20, R28: Red's approval does not exist for Blue (R8)."""
    found = answer(desks)

    assert role_states(found) == {"inspection": "filled", "warranty": "absent"}
    assert found["packet"]["coverage"]["prohibited_claims"] == [WARRANTY]
    assert outcome(found) == ("partial", "partial", "accepted")


def test_output_space_is_reserved_before_anything_is_packed(desks: dict[str, Caller]) -> None:
    """R21, R23."""
    tokens = answer(desks, budget={"tokenizer": "o200k_base"})["rendered"]["tokens"]
    reserve = {"tokenizer": "o200k_base", "reserved_output_tokens": 1000}

    exact = answer(desks, budget={**reserve, "window": tokens + 1000})
    below = answer(desks, budget={**reserve, "window": tokens + 999})
    assert exact["disposition"] == "accepted"
    assert exact["manifest"]["budget"]["reserved_output_tokens"] == 1000
    assert (below["disposition"], below["refusal"]["measure"], below["refusal"]["over"]) == (
        "refused-budget",
        "window",
        1,
    )


def test_the_trace_is_deterministic(desks: dict[str, Caller], tmp_path_factory: pytest.TempPathFactory) -> None:
    """R31: the same for the same request, and for a catalog built from the same records in another order."""
    directory = tmp_path_factory.mktemp("again") / "catalog"
    build(directory, WORLDS["superseded"][::-1])

    first = answer(desks)
    assert answer(desks)["packet_id"] == first["packet_id"]
    with served(directory) as again:
        assert again.packet(BLUE, REQUEST)["manifest"] == first["manifest"]


def test_only_handles_of_the_packet_can_be_cited(desks: dict[str, Caller]) -> None:
    """R33: a valid handle stands beside a fabricated one, and each gets its own verdict."""
    found = answer(desks)
    current, remark = item_of(found, "SB-A-7")["handle"], item_of(found, "NOTE-17")["handle"]
    past = answer(desks, use="historical", requirements=[])
    old = item_of(past, "SB-A-2")["handle"]
    claimed = {"claim": "the latch is inspected", "claim_type": "instruction"}
    occurrences = [
        {"handle": current, "quote": STOP, **claimed},
        {"handle": old, "quote": INSPECT, **claimed},
        {"handle": "EV-0000000000000000", "quote": STOP, **claimed},
        {"handle": current, "quote": f"{STOP} {INSPECT}", **claimed},  # stitched from two sentences
        {"handle": remark, "quote": STOP, **claimed},
        {"handle": current, "quote": STOP, "claim": "warranty is approved", "claim_type": "approval"},
    ]

    verdicts = desks["superseded"].post(
        BLUE, "/v1/citations/validate", {"packet": found["packet"], "occurrences": occurrences}
    )
    assert verdicts.status_code == 200, verdicts.text
    assert [result["verdict"] for result in verdicts.json()["results"]] == [
        "valid",
        "fabricated",
        "fabricated",
        "misquoted",
        "misattributed",
        "not-citable",
    ]
    assert verdicts.json()["results"][0]["span"] == [len(INSPECT) + 1, len(CURRENT_TEXT)]


def test_a_handle_that_time_has_made_stale_is_no_longer_eligible(desks: dict[str, Caller]) -> None:
    """R33: it was in the historical packet; that packet's evidence is offered as if for current use."""
    past = answer(desks, use="historical", requirements=[])
    old = item_of(past, "SB-A-2")["handle"]
    presented = {**past["packet"], "use": "current"}

    verdict = desks["superseded"].post(
        BLUE, "/v1/citations/validate", {"packet": presented, "occurrences": [{"handle": old, "quote": INSPECT}]}
    )
    assert [result["verdict"] for result in verdict.json()["results"]] == ["no-longer-eligible"]


CONTRADICTING = [world for world in WORLDS if world.startswith("contradicting")]


@pytest.mark.parametrize("world", CONTRADICTING)
def test_a_second_current_bulletin_that_contradicts_is_kept_beside_the_first(
    desks: dict[str, Caller], world: str
) -> None:
    """R18: neither the more similar nor the higher-ranked one is chosen."""
    found = answer(desks, world)

    assert outcome(found) == ("conflicting", "escalate", "accepted")
    assert role_states(found)["inspection"] == "conflicting"
    (group,) = found["packet"]["conflict_groups"]
    both = [item for item in found["packet"]["evidence"] if item["conflict_group"] == group["id"]]
    assert {item["source_id"] for item in both} == {"SB-A-7", "SB-C-1"}
    assert group["handles"] == [item["handle"] for item in both]
    assert [item["support_role"] for item in both] == ["conflicting", "conflicting"]
    assert group["resolution"] is None


@pytest.mark.parametrize("world", CONTRADICTING)
def test_the_owners_who_must_resolve_it_are_named(desks: dict[str, Caller], world: str) -> None:
    """R18: no owner of the family is set, so both owners are named."""
    found = answer(desks, world)

    (group,) = found["packet"]["conflict_groups"]
    assert group["owners"] == ["brand-safety", "field-engineering"]
    assert [kept["owners"] for kept in found["manifest"]["conflict_groups"]] == [["brand-safety", "field-engineering"]]


@pytest.mark.parametrize("world", CONTRADICTING)
def test_while_it_is_open_neither_value_may_be_claimed(desks: dict[str, Caller], world: str) -> None:
    """R20."""
    assert answer(desks, world)["packet"]["coverage"]["prohibited_claims"] == [INSPECTION, WARRANTY]


def test_the_side_that_ranks_last_is_brought_in_where_k_has_no_room_for_it(desks: dict[str, Caller]) -> None:
    """R18: the partner of an included unit is brought in whatever its rank."""
    found = answer(desks, "contradicting, far away", k=1)

    assert {"SB-A-7", "SB-C-1"} <= set(sources(found))
    assert found["state"] == "conflicting"


def test_members_of_a_conflict_stand_side_by_side(desks: dict[str, Caller]) -> None:
    found = answer(desks, "contradicting, far away")

    places = [place for place, item in enumerate(found["packet"]["evidence"]) if item["conflict_group"]]
    assert places == [places[0], places[0] + 1]


def test_a_conflict_with_an_invisible_side_does_not_exist(tmp_path_factory: pytest.TempPathFactory) -> None:
    """R8: the answer is that of a catalog without the side that Blue may not see."""
    folder = tmp_path_factory.mktemp("hidden")
    hidden = contrary_bulletin(access={"roles": ["supervisor"]}, **RELATION)
    build(folder / "with", [bulletin(), hidden, note()])
    build(folder / "without", [bulletin(), note()])

    with served(folder / "with") as one, served(folder / "without") as other:
        mine, its = one.packet(BLUE, REQUEST), other.packet(BLUE, REQUEST)
    assert mine["packet"] == its["packet"]
    assert mine["manifest"] == its["manifest"]
    assert (mine["state"], mine["packet"]["conflict_groups"]) == ("partial", [])


def test_a_conflict_with_a_stale_side_does_not_exist(tmp_path_factory: pytest.TempPathFactory) -> None:
    """R18: both sides must be usable."""
    directory = tmp_path_factory.mktemp("stale") / "catalog"
    build(directory, [bulletin(), contrary_bulletin(effective_to="2026-01-01T00:00:00Z", **RELATION), note()])

    with served(directory) as desk:
        found = desk.packet(BLUE, REQUEST)
    assert found["packet"]["conflict_groups"] == []
    assert outcome(found) == ("partial", "partial", "accepted")
