"""What the caller's manifest tells (R30)."""

from dataclasses import replace
from typing import Any

import pytest

from evidence.assembly import assemble
from evidence.budget import Budget
from evidence.canonical import digest
from evidence.envelope import SeenTokens
from evidence.identity import UnitKey
from evidence.packing import Overflow
from evidence.ranking import Retrieval
from evidence.request import PacketRequest
from evidence.snapshot import Snapshot
from tests.builders import (
    BLUE,
    candidate,
    candidates,
    claim,
    eligibility,
    family,
    means,
    principal,
    request,
    requires,
    retrieval,
    revision,
    snapshot,
    word_meter,
)
from tests.evidence.answers import BOTH, LIMIT, RULE, answer, size, units_of, wire

LAYERS = ("policy", "corpus", "query", "eligibility", "candidates", "fusion", "rerank", "packing", "rendering")


def manifest_of(asked_for: PacketRequest, seen: Snapshot, found: Retrieval) -> dict[str, Any]:
    assembled = assemble(asked_for, snapshot=seen, retrieval=found, means=means(), units_of=units_of(found.selection))
    manifest: dict[str, Any] = wire(assembled)["manifest"]
    return manifest


def test_a_manifest_answers_every_question_of_the_rule() -> None:
    """R30, R31; `hashes` is what the contract names."""
    manifest = wire(answer([LIMIT, RULE], request(requirements=BOTH)))["manifest"]

    assert set(manifest) == {
        "schema", "request", "scope_digest", "epoch", "catalog_version", "valid", "recipe", "strategy", "stats_scope",
        "degraded", "model", "tokenizer", "template", "query_class", "assembler", "packing", "budget", "inclusions",
        "omissions", "conflict_groups", "handles", "coverage", "mandatory_truncated", "prompt", "transformations",
        "refusal", "state", "behaviour", "disposition", "layers", "hashes",
    }  # fmt: skip
    assert manifest["mandatory_truncated"] is False
    assert manifest["conflict_groups"] == []


def test_the_scope_is_named_by_its_digest_and_not_spelled_out() -> None:
    """R32: a manifest never supplies scope."""
    asked = eligibility(principal(sub="ann-of-blue", roles=["secret-role"]))

    manifest = manifest_of(request(), snapshot([LIMIT.facts], asked=asked), retrieval([LIMIT]))
    assert manifest["scope_digest"] == asked.scope.digest
    assert "secret-role" not in str(manifest)
    assert "ann-of-blue" not in str(manifest)


def test_how_the_ranking_came_about_is_told() -> None:
    """R13, R15."""
    found = retrieval([LIMIT], degraded=["dense: unavailable"])

    manifest = manifest_of(request(), snapshot([LIMIT.facts]), found)
    assert manifest["degraded"] == ["dense: unavailable"]
    assert manifest["strategy"] == {"name": "narrow", "k": 8, "parameters": found.parameters, "widened": []}
    assert manifest["stats_scope"] == found.stats_scope
    assert manifest["recipe"] == {"digest": digest({"encoder": "none"}), "record": {"encoder": "none"}}


def test_a_degraded_channel_gives_another_packet_id() -> None:
    """R15: stated and hashed."""
    seen = snapshot([LIMIT.facts])
    whole, without = retrieval([LIMIT]), retrieval([LIMIT], degraded=["dense: unavailable"])

    ids = {manifest_of(request(), seen, found)["hashes"]["manifest"] for found in (whole, without)}
    assert len(ids) == 2


def test_an_inclusion_holds_facts_trace_and_decision_side_by_side() -> None:
    """R13, R14, R30."""
    trace = replace(
        LIMIT.trace,
        ranks={"lexical": 3, "dense": 1},
        scores={"lexical": 2**33, "dense": 9},
        fused=2**31,
        encoder_tokens=SeenTokens(seen=256, total=300),
    )
    found = replace(LIMIT, trace=trace)

    whole = wire(answer([found], request(requirements=BOTH)))
    inclusion = whole["manifest"]["inclusions"][0]
    start, end = inclusion["decision"].pop("rendered_span")
    assert inclusion["facts"]["claims"] == [{"key": "max", "value": "25"}]
    assert inclusion["access"]["standing"] == "usable"
    assert inclusion["unit"]["span"] == [0, 13]
    assert inclusion["trace"]["ranks"] == {"lexical": 3, "dense": 1}
    assert inclusion["trace"]["encoder_tokens"] == {"seen": 256, "total": 300}
    assert inclusion["decision"] == {
        "reason": "included",
        "tier": "mandatory",
        "support_role": "supporting",
        "roles": ["limit"],
        "conflict_group": None,
        "brought_in": False,
        "bytes": inclusion["decision"]["bytes"],
    }
    assert whole["rendered"]["body"][start:end] == "at most 25 MB"


def test_inclusions_and_handle_records_follow_the_evidence() -> None:
    whole = wire(answer(candidates("first", "second", "third")))
    handles = [item["handle"] for item in whole["packet"]["evidence"]]

    assert [inclusion["handle"] for inclusion in whole["manifest"]["inclusions"]] == handles
    assert [record["handle"] for record in whole["manifest"]["handles"]] == handles


def test_only_the_claims_that_the_unit_owns_are_in_its_envelope() -> None:
    facts = revision("A", claims={"max": "25"}, quote="at most 25")

    inclusion = wire(answer([candidate(facts, "another passage")]))["manifest"]["inclusions"][0]
    assert inclusion["facts"]["claims"] == []


def test_what_was_ranked_and_not_selected_is_counted_and_named() -> None:
    found = retrieval([LIMIT], unselected=[UnitKey(BLUE, "B", "1", 0)])

    omissions = manifest_of(request(), snapshot([LIMIT.facts, RULE.facts]), found)["omissions"]
    assert omissions["counts"]["not-selected"] == 1
    assert omissions["items"] == [{"reason": "not-selected", "unit_id": "blue/B@1#0"}]


def test_the_packing_says_what_was_tried_and_by_which_rules() -> None:
    selection = candidates("first", "second", "third")
    room = size(answer(selection[:1])) + 10

    packing = wire(answer(selection, request(budget=Budget(max_bytes=room), on_overflow=Overflow.OMIT_OPTIONAL)))[
        "manifest"
    ]["packing"]
    assert packing["policy"] == {
        "name": "whole-units",
        "version": "1",
        "order": ["mandatory", "conflict", "conditional", "background"],
        "block": "a conflict group, or one unit",
        "within_a_tier": "selection order",
        "evidence_order": "selection order",
    }
    assert [(attempt["units"], attempt["fits"]) for attempt in packing["attempts"]] == [
        (3, False),
        (0, True),
        (1, True),
        (2, False),
    ]


def test_the_budget_says_which_limits_were_measured() -> None:
    budget = Budget(max_bytes=5000, window=900, reserved_output_tokens=100)

    told = wire(answer([LIMIT], request(budget=budget), meter=word_meter()))
    assert told["manifest"]["budget"] == {
        "limits": [
            {"measure": "bytes", "allowed": 5000, "reserved": 0},
            {"measure": "slot:retrieved-evidence", "allowed": 6000, "reserved": 0},
            {"measure": "window", "allowed": 900, "reserved": 100},
        ],
        "reserved_output_tokens": 100,
        "measured": {
            "bytes": told["rendered"]["bytes"],
            "tokens": told["rendered"]["tokens"],
            "evidence_tokens": told["rendered"]["tokens"],
        },
    }
    assert told["manifest"]["tokenizer"] == {"name": "words", "digest": digest("words")}


def test_there_is_one_digest_for_each_replay_layer() -> None:
    """R32."""
    layers = wire(answer([LIMIT]))["manifest"]["layers"]

    assert tuple(layers) == LAYERS
    assert layers["rerank"] is None
    assert all(layers[layer].startswith("sha256:") for layer in LAYERS if layer not in ("candidates", "rerank"))


BASE = request(requirements=[requires("limit", claim("max"))])


@pytest.mark.parametrize(
    ("changed", "layers"),
    [
        (BASE, set()),
        (replace(BASE, query="another"), {"query"}),
        (replace(BASE, k=3), {"query"}),
        (replace(BASE, budget=Budget(max_bytes=9000)), {"rendering"}),
        (replace(BASE, on_overflow=Overflow.OMIT_OPTIONAL), {"packing"}),
        (replace(BASE, requirements=(requires("rule", family("policy")),)), {"packing", "rendering"}),
    ],
)
def test_a_change_shows_in_the_layers_that_it_reaches(changed: PacketRequest, layers: set[str]) -> None:
    """Query is what was asked for, packing who stayed and why, rendering what was written and measured."""
    before, after = (wire(answer([LIMIT], asked_for))["manifest"]["layers"] for asked_for in (BASE, changed))

    assert {layer for layer in LAYERS if before[layer] != after[layer]} == layers
