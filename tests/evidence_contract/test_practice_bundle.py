"""Does a broken bundle come out repaired, with all ten products of its audit?

The bundle: a current bulletin, a superseded near-duplicate, another tenant's passage, an instruction-bearing note, a
contradictory current source, a claim type that nobody makes. Beside them a bulletin for supervisors alone, a manual
that repeats itself, and public background. One or two tests a product.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from models.tokens import get_counter
from server.responses import PacketAnswer
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
    AUDITOR,
    BLUE,
    COMMAND,
    CURRENT_TEXT,
    INSPECT,
    INSPECTION,
    NOTE_TEXT,
    OLD_WORD,
    QUERY,
    WARRANTY,
    bulletin,
    contrary_bulletin,
    foreign_bulletin,
    guide,
    note,
    old_bulletin,
)
from tests.evidence_contract.over_http import Caller, served, served_all
from tests.models.chat_families import CHATML, save_family
from tests.worlds import build, record

RECALL = "Cracked drum latches are recalled quietly."
SENTENCE = "The drum holds forty litres of water and turns sixty times a minute."
PARAGRAPH = " ".join([SENTENCE] * 3)
MANUAL = f"{PARAGRAPH}\n\n{PARAGRAPH}"  # two units with the same words

BUNDLE: list[dict[str, Any]] = [
    bulletin(supersedes=[{"source_id": "SB-A-2", "revision": "2"}]),
    old_bulletin(),
    foreign_bulletin(),
    note(),
    contrary_bulletin(),
    guide(),
    record("MANUAL", MANUAL, tenant="blue", title="Manual", owner="publishing"),
    record("COPY", PARAGRAPH, tenant="blue", title="Manual", owner="translations"),
    record(
        "SB-S-1",
        RECALL,
        tenant="blue",
        access={"roles": ["supervisor"]},
        claims=[{"key": "latch.recall", "value": "quiet", "quote": RECALL}],
    ),
]
ROLES = [
    needs("inspection", INSPECTION),
    needs("warranty", WARRANTY),
    {"role": "background", "match": {"source_id": "GUIDE-1", "public": True}, "mandatory": False},
    {"role": "history", "match": {"source_id": "SB-A-2"}, "mandatory": False},
    needs("recall", "latch.recall", mandatory=False),
]
REQUEST = {"query": QUERY, "requirements": ROLES, "k": 20}


@pytest.fixture(scope="module", name="desk")
def fixture_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    folder = tmp_path_factory.mktemp("practice")
    save_family(CHATML, folder)
    models = folder / "models.json"
    models.write_text(json.dumps({"profiles": [{"name": "local", "adapter": "hf-chat", "folder": str(folder)}]}))
    with served_all(folder, {"bundle": BUNDLE}, models_file=models) as desks:
        yield desks["bundle"]


def answer(desk: Caller, **more: Any) -> Answer:
    return desk.packet(BLUE, {**REQUEST, **more})


def inclusions(found: Answer) -> dict[str, Any]:
    """Source -> the full envelope of its one included passage."""
    return {envelope["facts"]["source_id"]: envelope for envelope in found["manifest"]["inclusions"]}


def sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_product_1_every_included_candidate_has_its_provenance_envelope(desk: Caller) -> None:
    """R30: facts, then the trace, then the decision; and the versions of everything that worked on it."""
    found = answer(desk)

    assert set(inclusions(found)) == {"SB-A-7", "SB-C-1", "NOTE-17", "GUIDE-1", "MANUAL", "COPY"}
    facts = inclusions(found)["SB-A-7"]["facts"]
    assert {name: facts[name] for name in ("namespace", "source_id", "revision", "title", "family", "status")} == {
        "namespace": "blue",
        "source_id": "SB-A-7",
        "revision": "7",
        "title": "Drum latch",
        "family": "bulletin",
        "status": "current",
    }
    assert (facts["owner"], facts["authority"]) == ("brand-safety", "manufacturer")
    assert (facts["effective_from"], facts["effective_to"]) == ("2025-03-01T00:00:00Z", None)
    assert facts["supersedes"] == [{"namespace": "blue", "source_id": "SB-A-2", "revision": "2"}]
    assert facts["text_digest"] == sha256(CURRENT_TEXT)
    for envelope in found["manifest"]["inclusions"]:
        assert {"facts", "access", "unit", "trace", "decision"} <= set(envelope)
        assert set(envelope["trace"]["ranks"]) <= {"lexical", "dense"}
    for version in ("recipe", "query_class", "packing", "assembler"):
        assert found["manifest"][version]


def test_product_2_each_candidate_was_judged_again_at_assembly(desk: Caller) -> None:
    """R5: by label digest, scope digest and standing; what is not usable is named by its reason."""
    found = answer(desk)

    for envelope in found["manifest"]["inclusions"]:
        assert envelope["access"]["standing"] == "usable"
        assert envelope["access"]["scope"] == found["manifest"]["scope_digest"]
    labels = {source: envelope["access"]["label"] for source, envelope in inclusions(found).items()}
    assert labels["SB-A-7"] == labels["NOTE-17"] != labels["GUIDE-1"]
    assert [item["source_id"] for item in left_out(found, "stale")] == ["SB-A-2"]


def test_product_3_duplicates_are_left_out_by_a_named_rule_and_conflicts_kept(desk: Caller) -> None:
    """R17, R18: equal text of another owner keeps its identity; a near-duplicate revision is stale, not merged."""
    found = answer(desk)

    (duplicate,) = left_out(found, "omitted-duplicate")
    assert {duplicate["unit_id"], duplicate["duplicate_of"]} == {"blue/MANUAL@1#0", "blue/MANUAL@1#1"}
    assert duplicate["rule"] == "same-revision-normalized-text/1"
    assert {"MANUAL", "COPY"} <= set(sources(found))
    (group,) = found["manifest"]["conflict_groups"]
    assert group["keys"] == [INSPECTION]
    assert group["members"] == ["blue/SB-A-7@7#0", "blue/SB-C-1@1#0"]


def test_product_4_the_included_units_stand_in_rank_order_with_the_conflict_together(desk: Caller) -> None:
    """R11, R18: the order of the search, the second side of the conflict moved to the first."""
    hits = desk.post(BLUE, "/v1/search", {"query": QUERY, "k": 20}).json()["hits"]
    ranked = list(dict.fromkeys(hit["source"]["source_id"] for hit in hits))
    first, second = (source for source in ranked if source in ("SB-A-7", "SB-C-1"))
    expected = [source for source in ranked if source != second]
    expected.insert(expected.index(first) + 1, second)

    found = answer(desk)
    assert sources(found) == expected
    exact = answer(desk, budget={"max_bytes": found["rendered"]["bytes"]})
    assert exact["packet"] == found["packet"]


def test_product_5_omissions_are_traced_and_every_cost_is_counted(desk: Caller) -> None:
    """R21, R22: one byte short, the background unit that ranks last is left out, and nothing that fills a role."""
    whole = answer(desk)
    background = [source for source in sources(whole) if source not in ("SB-A-7", "SB-C-1", "GUIDE-1")]

    budget = {"max_bytes": whole["rendered"]["bytes"] - 1, "tokenizer": "o200k_base"}
    cut = answer(desk, budget=budget, on_overflow="omit-optional")
    assert (cut["packet"]["cut"], cut["state"]) == (True, whole["state"])
    assert [item["unit_id"].split("@")[0] for item in left_out(cut, "omitted-budget")] == [f"blue/{background[-1]}"]
    assert sources(cut) == [source for source in sources(whole) if source != background[-1]]
    body = cut["rendered"]["body"]
    assert cut["rendered"]["bytes"] == len(body.encode()) <= budget["max_bytes"]
    assert cut["rendered"]["tokens"] == get_counter("o200k_base").count(body)
    costs = [envelope["decision"]["bytes"] for envelope in cut["manifest"]["inclusions"]]
    items = body[body.index('"evidence":[') + len('"evidence":[') : body.rindex('],"namespace":"blue","schema"')]
    assert sum(costs) + len(costs) - 1 == len(items.encode())


def test_product_5_a_refusal_states_size_limit_overage_and_floor(desk: Caller) -> None:
    """R22: the conflict touches a mandatory role, so its two sides are the floor."""
    whole = answer(desk)
    size = whole["rendered"]["bytes"]

    refused = answer(desk, budget={"max_bytes": size - 1})
    refusal = refused["refusal"]
    assert refused["disposition"] == "refused-budget"
    assert (refusal["measure"], refusal["needed"], refusal["limit"], refusal["over"]) == ("bytes", size, size - 1, 1)
    assert (refusal["tried"], refusal["would_fit"]) == (["omit-optional"], ["omit-optional"])
    floor = answer(desk, budget={"max_bytes": refusal["mandatory_floor"]}, on_overflow="omit-optional")
    assert set(sources(floor)) == {"SB-A-7", "SB-C-1"}
    beneath = answer(desk, budget={"max_bytes": refusal["mandatory_floor"] - 1}, on_overflow="omit-optional")
    assert (beneath["disposition"], beneath["refusal"]["would_fit"]) == ("refused-budget", [])


def test_product_6_handles_are_stable_and_point_at_their_span(
    desk: Caller, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """R27: the same passage has the same handle whatever was asked, and whatever else the catalog holds."""
    found = answer(desk)
    handles = {item["source_id"]: item["handle"] for item in found["packet"]["evidence"]}
    directory = tmp_path_factory.mktemp("fewer") / "catalog"
    build(directory, [bulletin(), guide()])

    assert all(re.fullmatch("EV-[0-9A-HJKMNP-TV-Z]{16}", handle) for handle in handles.values())
    assert len(set(handles.values())) == len(handles)
    other = answer(desk, query="Does it loosen?", k=3, requirements=[])
    assert all(item["handle"] == handles[item["source_id"]] for item in other["packet"]["evidence"])
    with served(directory) as fewer:
        assert item_of(fewer.packet(BLUE, {"query": QUERY}), "SB-A-7")["handle"] == handles["SB-A-7"]
    records = {kept["handle"]: kept for kept in found["manifest"]["handles"]}
    assert list(records) == [item["handle"] for item in found["packet"]["evidence"]]
    kept, item = records[handles["SB-A-7"]], item_of(found, "SB-A-7")
    assert (kept["unit_id"], kept["span"]) == ("blue/SB-A-7@7#0", [0, len(CURRENT_TEXT)])
    assert CURRENT_TEXT[kept["span"][0] : kept["span"][1]] == item["text"]


def test_product_7_each_condition_has_its_behaviour(desk: Caller) -> None:
    """R7, R20, R28: conflicting, missing, supporting, stale, and what is unauthorized looks missing."""
    found = answer(desk)

    assert role_states(found) == {
        "inspection": "conflicting",
        "warranty": "absent",
        "background": "filled",
        "history": "stale",
        "recall": "absent",
    }
    assert found["packet"]["coverage"]["prohibited_claims"] == [INSPECTION, "latch.recall", WARRANTY]
    assert outcome(found) == ("conflicting", "escalate", "accepted")
    assert {item["source_id"]: item["support_role"] for item in found["packet"]["evidence"]} == {
        "SB-A-7": "conflicting",
        "SB-C-1": "conflicting",
        "GUIDE-1": "supporting",
        "NOTE-17": "background",
        "MANUAL": "background",
        "COPY": "background",
    }


def test_product_7_only_the_sealed_record_tells_unauthorized_from_missing(desk: Caller) -> None:
    """R7."""
    found = answer(desk)

    (finding,) = desk.runs(AUDITOR, found["packet_id"])[-1]["unauthorized"]
    assert finding["named"]["claim"] == "latch.recall"
    assert "unauthorized" not in json.dumps(found)
    assert RECALL not in json.dumps(found)


@pytest.mark.parametrize(
    ("adapter", "receiver"),
    [("openai", {"adapter": "openai"}), ("anthropic", {"adapter": "anthropic"}), ("hf-chat", {"model": "local"})],
)
def test_product_8_a_managed_and_an_open_weight_receiver_get_the_same_bundle_in_their_own_syntax(
    desk: Caller, adapter: str, receiver: dict[str, str]
) -> None:
    """R34: one semantic hash, two rendered ones; the same passages in the same order."""
    plain, rendered = answer(desk), answer(desk, **receiver)

    assert rendered["packet"] == plain["packet"]
    hashes = [one["manifest"]["hashes"] for one in (plain, rendered)]
    assert hashes[0]["semantic"] == hashes[1]["semantic"]
    assert hashes[0]["rendered"] != hashes[1]["rendered"]
    assert rendered["rendered"]["adapter"] == adapter
    body = rendered["rendered"]["body"]
    assert rendered["rendered"]["bytes"] == len(body.encode())
    last = [body.rindex(item["handle"]) for item in plain["packet"]["evidence"] if item["conflict_group"] is None]
    assert last == sorted(last)


def test_product_8_the_open_weight_template_alone_writes_control_tokens(desk: Caller) -> None:
    """R23, R26, R34: a system, a user and an opened assistant turn; the note's own marks are data."""
    rendered = answer(desk, model="local")
    body = rendered["rendered"]["body"]

    assert (body.count("<|im_start|>"), body.count("<|im_end|>")) == (3, 2)
    assert body.startswith("<|im_start|>system\n")
    assert body.endswith("<|im_start|>assistant\n")
    assert rendered["manifest"]["template"]
    assert rendered["rendered"]["tokens"] > 0


def test_product_8_slots_keep_control_and_evidence_apart(desk: Caller) -> None:
    """R24, R25, R34."""
    slots = {slot["slot"]: slot["trust"] for slot in answer(desk, adapter="openai")["rendered"]["slots"]}

    assert slots["system-policy"] == slots["task"] == "trusted"
    assert slots["retrieved-evidence"] == "untrusted"
    assert slots["caller-turn"] == "trusted-as-intent"


def test_product_9_a_disputed_support_is_queued_for_a_named_authority(desk: Caller) -> None:
    """R33, R39: the queue carries the dispute and the decision; it decides nothing."""
    found = answer(desk)
    disputed = {
        "packet_id": found["packet_id"],
        "handle": item_of(found, "SB-A-7")["handle"],
        "claim": "The latch may be inspected by anybody.",
        "evaluators": [{"name": "entailment", "version": "3", "verdict": "0.51"}],
        "authority": "brand-safety",
    }

    opened = desk.post(AUDITOR, "/v1/reviews", disputed)
    assert opened.status_code == 200, opened.text
    (queued,) = desk.get(AUDITOR, "/v1/reviews?state=open").json()["reviews"]
    assert {name: queued[name] for name in disputed} == disputed
    assert (queued["span"], queued["unit_id"]) == ([0, len(CURRENT_TEXT)], "blue/SB-A-7@7#0")
    assert queued["adjudications"] == []
    assert desk.post(BLUE, "/v1/reviews", disputed).status_code == 403
    assert answer(desk)["packet_id"] == found["packet_id"]

    decision = {"state": "contradicted", "authority": "brand-safety", "reason": "Qualified staff only."}
    decided = desk.post(AUDITOR, f"/v1/reviews/{queued['review_id']}", decision)
    assert decided.status_code == 200, decided.text
    assert desk.get(AUDITOR, "/v1/reviews?state=open").json()["reviews"] == []
    (kept,) = desk.get(AUDITOR, "/v1/reviews").json()["reviews"]
    assert (kept["state"], kept["claim"], len(kept["adjudications"])) == ("contradicted", disputed["claim"], 1)


def test_product_10_nothing_that_was_retrieved_or_rendered_exposes_an_effect(desk: Caller) -> None:
    """R39: the answer's shape is closed; the note's command is a passage's text and nothing else; rendered messages
    have roles and contents, and no tool, function or action."""
    found = answer(desk)
    PacketAnswer.model_validate(found)

    assert {path for path, text in strings(found) if COMMAND in text} == {"packet.evidence[].text", "rendered.body"}
    assert item_of(found, "NOTE-17")["text"] == NOTE_TEXT
    body = json.loads(answer(desk, adapter="openai")["rendered"]["body"])
    assert set(body) == {"messages"}
    for message in body["messages"]:
        assert set(message) == {"role", "content"}
        assert message["role"] in ("system", "user")
    body = json.loads(answer(desk, adapter="anthropic")["rendered"]["body"])
    assert set(body) == {"system", "messages"}
    kinds = {part["type"] for message in body["messages"] for part in message["content"]}
    assert kinds == {"text", "search_result"}


def test_no_exclusion_leaks_what_it_excludes(desk: Caller) -> None:
    """R16, R7: of the stale text only its name is told, of the other tenant's and the supervisors' not even that."""
    told = json.dumps(answer(desk))

    assert "SB-A-2" in told
    for hidden in (OLD_WORD, RECALL, "SB-S-1", '"red"', "Warranty is approved"):
        assert hidden not in told
    assert INSPECT in told  # the current bulletin says it too
