"""Tests of `server/strategies.py`: what each strategy selects, through the same gate and the same budget (R36, R37)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.errors import Invalid
from server.pipeline import Pipeline
from tests.evidence_contract.answers import ask, left_out, needs, outcome, role_states, sources
from tests.source_tree import ROOT
from tests.worlds import build, opened, principal, record, without_run

BLUE = principal("blue")
QUERY = "when is the pump serviced"


def chapters(*texts: str) -> str:
    """A text of one unit for each of these: the chunker begins a new one where the next would not fit."""
    return "".join(f"{text} {' '.join(['filler'] * (58 - len(text.split())))}.\n\n" for text in texts)


MANUAL = chapters("The pump is serviced in May.", "Seals are kept dry.", "Filters are changed monthly.")
OLD, NEW = "The valve opens at 3 bar.", "The valve opens at 4 bar."


def claims(key: str, value: str) -> list[dict[str, str]]:
    """A claim whose quote is its value."""
    return [{"key": key, "value": value, "quote": value}]


VISIBLE = [
    record("GUIDE", "When is the pump serviced? The pump is serviced when it is due."),
    record("MANUAL", "Public: the pump manual is with the dealer."),
    record("MANUAL", MANUAL, tenant="blue", family="manual", claims=claims("filter.change", "monthly")),
    record("VALVE", OLD, tenant="blue", effective_from="2025-01-01T00:00:00Z"),
    record("VALVE", NEW, tenant="blue", revision="2", effective_from="2026-01-01T00:00:00Z"),
    record("CABLE", "Cables are grey.", tenant="blue", family="parts", applies_to=["k2"]),
    record("GREASE-1", chapters("Use grease ten.", "Wipe it."), tenant="blue", claims=claims("grease", "grease ten")),
    record("GREASE-2", chapters("Use grease two.", "Wait."), tenant="blue", claims=claims("grease", "grease two")),
    record("RETIRED", "Leaks were reported by fax.", tenant="blue", status="superseded", family="leaks"),
]
HIDDEN = [
    record("MANUAL", f"{QUERY}: Red services it daily.", tenant="red", claims=claims("leak.report", "daily")),
    record("RED-ONLY", QUERY, tenant="red", family="leaks"),
    record("DRAFT", QUERY, tenant="blue", status="draft", family="leaks"),
]
UNITS = 1 + 1 + 3 + 1 + 1 + 2 + 2  # usable ones: of VALVE the new revision, of RETIRED none


@pytest.fixture(scope="module", name="pipeline")
def fixture_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    directory = tmp_path_factory.mktemp("strategies") / "catalog"
    build(directory, [*HIDDEN, *VISIBLE])
    with opened(directory) as pipeline:
        yield pipeline


@pytest.fixture(scope="module", name="visible_only")
def fixture_visible_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    directory = tmp_path_factory.mktemp("visible") / "catalog"
    build(directory, VISIBLE)
    with opened(directory) as pipeline:
        yield pipeline


def document(pipeline: Pipeline, source_id: str, **more: Any) -> dict[str, Any]:
    return ask(pipeline, BLUE, more.pop("query", QUERY), strategy="document", source_id=source_id, **more)


def auto(pipeline: Pipeline, k: int = 1, **more: Any) -> dict[str, Any]:
    return ask(pipeline, BLUE, more.pop("query", QUERY), strategy="auto", k=k, **more)


def places(answer: dict[str, Any]) -> list[str]:
    """Each passage of the packet as `namespace/source@revision`."""
    return [f"{item['namespace']}/{item['source_id']}@{item['revision']}" for item in answer["packet"]["evidence"]]


def widened(answer: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """The documents taken whole: source, reason, role."""
    return [(one["source_id"], one["because"], one["role"]) for one in answer["manifest"]["strategy"]["widened"]]


# document


def test_a_document_is_the_whole_source_in_text_order(pipeline: Pipeline) -> None:
    found = document(pipeline, "MANUAL")

    assert places(found) == ["blue/MANUAL@1"] * 3
    assert "".join(item["text"] for item in found["packet"]["evidence"]) == MANUAL


def test_a_document_is_of_the_callers_own_namespace_and_public_only_where_it_says_so(pipeline: Pipeline) -> None:
    """R1: three sources are called MANUAL."""
    assert set(places(document(pipeline, "MANUAL"))) == {"blue/MANUAL@1"}
    assert places(document(pipeline, "MANUAL", public=True)) == ["public/MANUAL@1"]
    assert places(document(pipeline, "GUIDE")) == []


@pytest.mark.parametrize(("source_id", "public"), [("RED-ONLY", False), ("RED-ONLY", True), ("DRAFT", False)])
def test_a_document_out_of_scope_gives_the_bytes_of_one_that_does_not_exist(
    pipeline: Pipeline, visible_only: Pipeline, source_id: str, public: bool
) -> None:
    """R6, R7."""
    there, nowhere = (
        json.dumps(without_run(document(one, source_id, public=public))) for one in (pipeline, visible_only)
    )

    assert there == nowhere


def test_a_document_that_does_not_exist_is_absent_and_abstains(pipeline: Pipeline) -> None:
    """R28: no refusal."""
    assert outcome(document(pipeline, "NOWHERE")) == ("absent", "abstain", "accepted")


def test_a_document_is_its_current_revision(pipeline: Pipeline) -> None:
    """R4; the other one is named as stale, without its content."""
    found = document(pipeline, "VALVE")

    assert places(found) == ["blue/VALVE@2"]
    assert [item["revision"] for item in left_out(found, "stale")] == ["1"]
    assert OLD not in json.dumps(found)


def test_a_document_at_an_earlier_moment_is_what_was_in_force_then(pipeline: Pipeline) -> None:
    """R4."""
    assert places(document(pipeline, "VALVE", as_of="2025-06-01T00:00:00Z")) == ["blue/VALVE@1"]
    assert places(document(pipeline, "VALVE", as_of="2024-06-01T00:00:00Z")) == []


def test_a_document_for_historical_use_is_all_of_its_revisions(pipeline: Pipeline) -> None:
    """R4."""
    assert places(document(pipeline, "VALVE", use="historical")) == ["blue/VALVE@1", "blue/VALVE@2"]


def test_subject_and_filter_hold_for_a_document_too(pipeline: Pipeline) -> None:
    """R2."""
    assert places(document(pipeline, "CABLE", subject="k2")) == ["blue/CABLE@1"]
    assert places(document(pipeline, "CABLE", subject="k3")) == []
    assert places(document(pipeline, "CABLE", filter={"family": ["manual"]})) == []


def test_a_document_is_not_ranked_and_does_not_depend_on_the_question(pipeline: Pipeline) -> None:
    one, other = document(pipeline, "MANUAL"), document(pipeline, "MANUAL", query="something else")

    assert one["packet"] == other["packet"]
    assert {json.dumps(item["trace"]["ranks"]) for item in one["manifest"]["inclusions"]} == {"{}"}
    assert one["manifest"]["strategy"]["parameters"] == {}


def test_a_document_keeps_the_budget_like_any_selection(pipeline: Pipeline) -> None:
    """R22."""
    size = document(pipeline, "MANUAL")["rendered"]["bytes"]

    assert document(pipeline, "MANUAL", budget={"max_bytes": size})["disposition"] == "accepted"
    assert document(pipeline, "MANUAL", budget={"max_bytes": size - 1})["refusal"]["over"] == 1


@pytest.mark.parametrize("body", [{"strategy": "broad"}, {"strategy": "document", "source_id": "MANUAL"}])
def test_more_units_than_the_operator_allows_are_not_selected(tmp_path: Path, body: dict[str, Any]) -> None:
    build(tmp_path / "catalog", VISIBLE)

    with opened(tmp_path / "catalog", max_broad_units=2) as pipeline, pytest.raises(Invalid, match=r"at most 2"):
        ask(pipeline, BLUE, QUERY, **body)


def test_the_bound_is_on_the_units_that_are_taken(tmp_path: Path) -> None:
    """Three units of Blue's manual; the public source of that id has a fourth, and the catalog many more."""
    build(tmp_path / "catalog", VISIBLE)

    with opened(tmp_path / "catalog", max_broad_units=3) as pipeline:
        assert len(document(pipeline, "MANUAL")["packet"]["evidence"]) == 3


# auto


def test_auto_takes_a_narrow_selection_that_covers_the_question_as_it_is(pipeline: Pipeline) -> None:
    """R36."""
    requirements = [{"role": "guide", "match": {"source_id": "GUIDE", "public": True}}]

    found = auto(pipeline, requirements=requirements)
    assert (sources(found), widened(found)) == (["GUIDE"], [])
    assert outcome(found) == ("supported", "answer", "accepted")


def test_auto_takes_the_whole_document_of_the_best_candidate_for_a_missing_role(pipeline: Pipeline) -> None:
    """R36: the claim stands in the last passage of the manual."""
    found = auto(pipeline, requirements=[needs("filters", "filter.change")])

    assert widened(found) == [("MANUAL", "missing-role", "filters")]
    assert places(found) == ["public/GUIDE@1", *["blue/MANUAL@1"] * 3]
    assert outcome(found) == ("supported", "answer", "accepted")


def test_auto_widens_for_a_role_that_is_not_mandatory_too(pipeline: Pipeline) -> None:
    """R36: coverage is of all roles."""
    found = auto(pipeline, requirements=[needs("filters", "filter.change", mandatory=False)])

    assert widened(found) == [("MANUAL", "missing-role", "filters")]
    assert role_states(found) == {"filters": "filled"}


def test_auto_widens_to_the_documents_of_a_conflict_that_it_selected(pipeline: Pipeline) -> None:
    """R18, R36: one side is found, the other is brought in, and both are read whole."""
    found = auto(pipeline, query="grease ten")

    assert widened(found) == [("GREASE-1", "conflict", None), ("GREASE-2", "conflict", None)]
    assert sorted(places(found)) == ["blue/GREASE-1@1"] * 2 + ["blue/GREASE-2@1"] * 2
    assert outcome(found) == ("conflicting", "escalate", "accepted")


def test_auto_reads_the_best_document_whole_for_a_class_that_needs_it(pipeline: Pipeline) -> None:
    """R36: cross-section and synthesis."""
    found = auto(pipeline, query="seals kept dry", query_class="synthesis")

    assert widened(found) == [("MANUAL", "query-class", None)]
    assert places(found) == ["blue/MANUAL@1"] * 3


def test_auto_abstains_where_nothing_could_fill_the_role_and_says_which(pipeline: Pipeline) -> None:
    """R36, R7: what Red says of leaks, and a draft, are nothing to Blue."""
    found = auto(pipeline, requirements=[needs("leaks", "leak.report")])

    assert (widened(found), sources(found)) == ([], ["GUIDE"])
    assert role_states(found) == {"leaks": "absent"}
    assert outcome(found) == ("absent", "abstain", "accepted")
    assert found["packet"]["coverage"]["prohibited_claims"] == ["leak.report"]


def test_auto_never_widens_to_what_may_not_be_used_now(pipeline: Pipeline) -> None:
    """R4, R16: the retired note is visible, and named as stale."""
    found = auto(pipeline, requirements=[{"role": "leaks", "match": {"family": "leaks"}}])

    assert (widened(found), sources(found)) == ([], ["GUIDE"])
    assert role_states(found) == {"leaks": "stale"}
    assert "RETIRED" in [item["source_id"] for item in left_out(found, "stale")]


def test_what_auto_widens_to_is_under_the_same_budget(pipeline: Pipeline) -> None:
    """R22, R36: complete it is refused; what is optional goes first, the role stays filled."""
    asked: dict[str, Any] = {"requirements": [needs("filters", "filter.change")]}
    size = auto(pipeline, **asked)["rendered"]["bytes"]

    refused = auto(pipeline, **asked, budget={"max_bytes": size - 1})
    assert (refused["disposition"], refused["refusal"]["needed"]) == ("refused-budget", size)
    cut = auto(pipeline, **asked, budget={"max_bytes": size - 1}, on_overflow="omit-optional")
    assert places(cut) == ["public/GUIDE@1", *["blue/MANUAL@1"] * 2]
    assert "monthly" in cut["packet"]["evidence"][-1]["text"]
    assert (cut["packet"]["cut"], cut["state"]) == (True, "supported")


def test_a_narrow_selection_is_never_widened(pipeline: Pipeline) -> None:
    found = ask(pipeline, BLUE, QUERY, k=1, requirements=[needs("filters", "filter.change")], query_class="synthesis")

    assert (widened(found), sources(found)) == ([], ["GUIDE"])
    assert role_states(found) == {"filters": "not-selected"}


# A class that asks for all


@pytest.mark.parametrize("strategy", ["narrow", "auto"])
def test_a_class_that_asks_for_all_is_not_supported_by_all_but_one(pipeline: Pipeline, strategy: str) -> None:
    """R36: the role is filled, and one unit of the catalog is missing."""
    roles = [{"role": "manual", "match": {"family": "manual"}}]
    four = {"source_id": ["GUIDE", "MANUAL", "VALVE", "CABLE"]}
    asked: dict[str, Any] = {"filter": four, "requirements": roles, "query_class": "enumerate"}

    most = ask(pipeline, BLUE, QUERY, strategy=strategy, k=6, **asked)
    assert (most["state"], most["packet"]["coverage"]["exhaustive"]) == ("partial", False)
    everything = ask(pipeline, BLUE, QUERY, strategy=strategy, k=7, **asked)
    assert (everything["state"], everything["packet"]["coverage"]["exhaustive"]) == ("supported", True)


def test_exhaustive_is_computed_for_every_class_and_strategy(pipeline: Pipeline) -> None:
    """R36."""
    broad = ask(pipeline, BLUE, QUERY, strategy="broad")

    assert len(broad["packet"]["evidence"]) == UNITS
    assert broad["packet"]["coverage"]["exhaustive"] is True
    assert document(pipeline, "MANUAL")["packet"]["coverage"]["exhaustive"] is False
    assert document(pipeline, "MANUAL", filter={"family": ["manual"]})["packet"]["coverage"]["exhaustive"] is True


# Narrow beside broad


def test_narrow_and_broad_rest_on_the_same_snapshot_and_can_be_compared(pipeline: Pipeline) -> None:
    """R37: the same version, epoch, interval and scope; narrow's passages are some of broad's, under the same handles;
    bytes, tokens and the required evidence stand side by side."""
    asked: dict[str, Any] = {
        "requirements": [needs("filters", "filter.change")],
        "budget": {"tokenizer": "o200k_base"},
    }
    narrow = ask(pipeline, BLUE, QUERY, strategy="narrow", k=2, **asked)
    broad = ask(pipeline, BLUE, QUERY, strategy="broad", **asked)

    for field in ("catalog_version", "epoch", "valid", "scope_digest", "recipe"):
        assert narrow["manifest"][field] == broad["manifest"][field]
    for layer in ("policy", "corpus", "eligibility"):
        assert narrow["manifest"]["layers"][layer] == broad["manifest"]["layers"][layer]
    handles = [{item["handle"] for item in answer["packet"]["evidence"]} for answer in (narrow, broad)]
    assert handles[0] < handles[1]
    assert narrow["rendered"]["bytes"] < broad["rendered"]["bytes"]
    assert narrow["rendered"]["tokens"] < broad["rendered"]["tokens"]
    assert (role_states(narrow), role_states(broad)) == ({"filters": "not-selected"}, {"filters": "filled"})


# A cap on the units of a source


@pytest.fixture(scope="module", name="capped")
def fixture_capped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """A server whose default class takes one unit of a source."""
    folder = tmp_path_factory.mktemp("capped")
    shipped = json.loads((ROOT / "server" / "query_classes" / "explanatory.json").read_text())
    (folder / "classes").mkdir()
    (folder / "classes" / "explanatory.json").write_text(json.dumps({**shipped, "units_per_source": 1}))
    build(folder / "catalog", VISIBLE)
    with opened(folder / "catalog", query_classes_dir=folder / "classes") as pipeline:
        yield pipeline


MANUALS = {"filter": {"source_id": ["GUIDE", "MANUAL", "CABLE"]}}


def test_a_cap_leaves_out_further_units_of_a_source_and_names_them(pipeline: Pipeline, capped: Pipeline) -> None:
    """R16: the place goes to the next one."""
    free = ask(pipeline, BLUE, "filler seals kept dry", k=3, **MANUALS)
    found = ask(capped, BLUE, "filler seals kept dry", k=3, **MANUALS)

    assert places(free) == ["blue/MANUAL@1"] * 3
    assert places(found)[0] == "blue/MANUAL@1"
    assert len(set(places(found))) == 3
    dropped = left_out(found, "omitted-policy")
    assert [one["policy"] for one in dropped] == ["units-per-source"] * 2
    assert sorted(one["unit_id"] for one in dropped) == ["blue/MANUAL@1#0", "blue/MANUAL@1#2"]
    assert found["manifest"]["omissions"]["counts"]["omitted-policy"] == 2


def test_a_broad_selection_and_a_document_know_no_cap(capped: Pipeline) -> None:
    """R36: they are whole by what they are."""
    assert places(document(capped, "MANUAL")) == ["blue/MANUAL@1"] * 3
    assert len(ask(capped, BLUE, QUERY, strategy="broad")["packet"]["evidence"]) == UNITS


def test_auto_reads_a_document_whole_that_a_cap_had_left_out(capped: Pipeline) -> None:
    """R36: then nothing of it is omitted."""
    found = auto(capped, 3, query="filler seals kept dry", requirements=[needs("filters", "filter.change")], **MANUALS)

    assert places(found).count("blue/MANUAL@1") == 3
    assert left_out(found, "omitted-policy") == []
