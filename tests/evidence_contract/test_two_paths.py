"""Do a narrow and a broad selection keep the same boundary, and say what each of them fails to hold? (R37)

A small catalog of public guidance, Blue's policies and Red's: one unit each. Blue asks about uploads. Nothing here
says which way answers better: only what was handed over, at what size, with which required evidence.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from index.catalog import Catalog
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import SearchRequest
from tests.evidence_contract.answers import Answer, ask, needs, outcome, role_states, sources
from tests.worlds import build, extend, opened, pipeline_over, principal, record, without_run

BLUE = principal("blue")
RED = principal("red")

QUERY = "how do uploads of files work"
LIMIT = "A file may have at most 25 MB."
EXECUTABLES = "Executables are never accepted."
REQUIRED = [needs("limit", "upload.max_mb"), needs("executables", "upload.executables")]


def guidance() -> dict[str, Any]:
    """Public, and full of the question's words: it outranks Blue's own restrictions."""
    return record("GUIDE", "How uploads of files work: how uploads work, how files of any kind are sent.")


def visible_records() -> list[dict[str, Any]]:
    return [
        guidance(),
        record("P-CASES", "Cases are closed after thirty days.", tenant="blue"),
        record(
            "P-EXEC",
            EXECUTABLES,
            tenant="blue",
            claims=[{"key": "upload.executables", "value": "no", "quote": EXECUTABLES}],
        ),
        record(
            "P-SIZE",
            f"Uploads of files: {LIMIT} Größere Dateien werden abgelehnt.",
            tenant="blue",
            claims=[{"key": "upload.max_mb", "value": "25", "quote": LIMIT}],
        ),
    ]


def foreign_records() -> list[dict[str, Any]]:
    """Red's: the question itself, and Blue's own source id with what Blue requires."""
    claims = [{"key": "upload.max_mb", "value": "99", "quote": "99 MB"}]
    return [
        record("R-1", QUERY, tenant="red"),
        record("P-SIZE", f"{QUERY}: at most 99 MB", tenant="red", claims=claims),
    ]


@pytest.fixture(scope="module", name="pipeline")
def fixture_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    directory = tmp_path_factory.mktemp("two-paths") / "catalog"
    build(directory, [*foreign_records(), *visible_records()])
    with opened(directory) as pipeline:
        yield pipeline


def narrow(pipeline: Pipeline, k: int, **more: Any) -> Answer:
    return ask(pipeline, BLUE, QUERY, strategy="narrow", k=k, **more)


def broad(pipeline: Pipeline, query: str = QUERY, **more: Any) -> Answer:
    return ask(pipeline, BLUE, query, strategy="broad", **more)


def test_a_public_text_outranks_the_tenants_restriction_and_the_missing_role_is_reported(pipeline: Pipeline) -> None:
    found = narrow(pipeline, 1, requirements=REQUIRED)

    assert sources(found) == ["GUIDE"]
    assert role_states(found) == {"limit": "not-selected", "executables": "not-selected"}
    assert outcome(found) == ("absent", "abstain", "accepted")


def test_narrow_misses_required_evidence_and_says_which(pipeline: Pipeline) -> None:
    found = narrow(pipeline, 2, requirements=REQUIRED)

    assert sources(found) == ["GUIDE", "P-SIZE"]
    assert role_states(found) == {"limit": "filled", "executables": "not-selected"}
    assert outcome(found) == ("partial", "partial", "accepted")
    assert found["packet"]["coverage"]["prohibited_claims"] == ["upload.executables"]
    assert not found["packet"]["coverage"]["exhaustive"]


def test_broad_holds_what_narrow_missed(pipeline: Pipeline) -> None:
    found = broad(pipeline, requirements=REQUIRED)

    assert role_states(found) == {"limit": "filled", "executables": "filled"}
    assert outcome(found) == ("supported", "answer", "accepted")
    assert found["packet"]["coverage"]["exhaustive"]


def test_auto_widens_to_what_narrow_missed_and_to_nothing_more(pipeline: Pipeline) -> None:
    """R36: the whole document of the best candidate for each missing role."""
    found = ask(pipeline, BLUE, QUERY, strategy="auto", k=2, requirements=REQUIRED)

    assert set(sources(found)) == {"GUIDE", "P-SIZE", "P-EXEC"}
    assert outcome(found) == ("supported", "answer", "accepted")


def test_auto_accepts_what_is_covered_without_widening(pipeline: Pipeline) -> None:
    """R36."""
    found = ask(pipeline, BLUE, QUERY, strategy="auto", k=2, requirements=REQUIRED[:1])

    assert sources(found) == ["GUIDE", "P-SIZE"]
    assert found["state"] == "supported"


def test_auto_abstains_and_says_what_is_missing_where_nobody_has_it(pipeline: Pipeline) -> None:
    """R36."""
    asked = [needs("retention", "upload.retention_days")]

    found = ask(pipeline, BLUE, QUERY, strategy="auto", k=2, requirements=asked)
    assert outcome(found) == ("absent", "abstain", "accepted")
    assert role_states(found) == {"retention": "absent"}


def test_a_document_is_handed_over_whole_and_resolved_in_the_callers_scope(pipeline: Pipeline) -> None:
    """R1, R5: Red has a source of that id too."""
    found = ask(pipeline, BLUE, QUERY, strategy="document", source_id="P-SIZE", requirements=REQUIRED[:1])

    assert [(item["namespace"], item["source_id"]) for item in found["packet"]["evidence"]] == [("blue", "P-SIZE")]
    assert found["state"] == "supported"


@pytest.mark.parametrize(("source_id", "public"), [("R-1", False), ("R-1", True), ("NOWHERE", False), ("GUIDE", False)])
def test_a_document_out_of_scope_is_like_one_that_never_was(pipeline: Pipeline, source_id: str, public: bool) -> None:
    """R7: GUIDE is public, and is not named as public."""
    found = ask(pipeline, BLUE, QUERY, strategy="document", source_id=source_id, public=public)

    assert (found["packet"]["evidence"], outcome(found)) == ([], ("absent", "abstain", "accepted"))


def test_broad_exceeds_the_budget_and_is_refused_while_narrow_fits(pipeline: Pipeline) -> None:
    """R22: the limit is narrow's exact size; broad is refused with its overage, nothing of it is handed over."""
    small = narrow(pipeline, 2)["rendered"]["bytes"]
    large = broad(pipeline)["rendered"]["bytes"]

    fits = narrow(pipeline, 2, budget={"max_bytes": small})
    refused = broad(pipeline, budget={"max_bytes": small})
    assert fits["disposition"] == "accepted"
    assert (refused["disposition"], refused["packet"], refused["rendered"]) == ("refused-budget", None, None)
    assert (refused["refusal"]["needed"], refused["refusal"]["limit"], refused["refusal"]["over"]) == (
        large,
        small,
        large - small,
    )


@pytest.mark.parametrize("strategy", ["narrow", "broad"])
def test_each_is_accepted_at_its_exact_size_and_refused_one_byte_below(pipeline: Pipeline, strategy: str) -> None:
    """R22."""
    size = len(ask(pipeline, BLUE, QUERY, strategy=strategy)["rendered"]["body"].encode())

    exact = ask(pipeline, BLUE, QUERY, strategy=strategy, budget={"max_bytes": size})
    below = ask(pipeline, BLUE, QUERY, strategy=strategy, budget={"max_bytes": size - 1})
    assert (exact["disposition"], exact["rendered"]["bytes"]) == ("accepted", size)
    assert (below["disposition"], below["refusal"]["over"]) == ("refused-budget", 1)


def test_bytes_are_counted_as_bytes(pipeline: Pipeline) -> None:
    """R23: ö and ß are two bytes each."""
    rendered = broad(pipeline)["rendered"]

    assert rendered["bytes"] == len(rendered["body"]) + 2


def test_broad_is_the_same_whatever_is_asked_and_in_identity_order(pipeline: Pipeline) -> None:
    evidence = broad(pipeline)["packet"]["evidence"]

    assert [(item["namespace"], item["source_id"]) for item in evidence] == [
        ("blue", "P-CASES"),
        ("blue", "P-EXEC"),
        ("blue", "P-SIZE"),
        ("public", "GUIDE"),
    ]
    assert broad(pipeline, "when are cases closed?")["packet"] == broad(pipeline)["packet"]


def test_narrow_grows_with_k_and_changes_with_the_question(pipeline: Pipeline) -> None:
    sizes = [narrow(pipeline, k)["rendered"]["bytes"] for k in (1, 2, 3)]

    assert sizes == sorted(set(sizes))
    assert sources(ask(pipeline, BLUE, "when are cases closed", k=1)) == ["P-CASES"]


def test_a_foreign_document_that_would_rank_first_never_appears(pipeline: Pipeline, tmp_path: Path) -> None:
    """R2, R6: it is first for Red; Blue's answers are those of a catalog without it."""
    first = pipeline.search(parse({"query": QUERY, "k": 1}, SearchRequest), RED)["hits"]
    build(tmp_path / "catalog", visible_records())

    assert [(hit["namespace"], hit["source"]["source_id"]) for hit in first] == [("red", "R-1")]  # type: ignore[union-attr, call-overload, index]  # an answer is plain JSON
    with opened(tmp_path / "catalog") as without_red:
        for body in ({"strategy": "narrow"}, {"strategy": "broad"}, {"strategy": "auto", "requirements": REQUIRED}):
            mine = without_run(ask(pipeline, BLUE, QUERY, **body))
            assert mine == without_run(ask(without_red, BLUE, QUERY, **body))


def test_another_required_claim_is_another_judgement_of_the_same_evidence(pipeline: Pipeline) -> None:
    """R20: requirements check the selection and never add to it."""
    limit = narrow(pipeline, 2, requirements=REQUIRED[:1])
    executables = narrow(pipeline, 2, requirements=REQUIRED[1:])

    assert sources(limit) == sources(executables)
    assert (limit["state"], executables["state"]) == ("supported", "absent")


def test_a_changed_catalog_makes_the_old_version_stale_and_hands_over_no_old_packet(tmp_path: Path) -> None:
    """R29."""
    build(tmp_path / "catalog", visible_records())
    with Catalog.open(tmp_path / "catalog") as catalog:
        pipeline = pipeline_over(catalog)
        old = broad(pipeline)
        version = old["packet"]["catalog_version"]
        kept = broad(pipeline, catalog_version=version)
        extend(catalog, [record("P-CASES", "Cases are closed after ten days.", tenant="blue", revision="2")])
        stale = broad(pipeline, catalog_version=version)
        fresh = broad(pipeline)

    assert (kept["disposition"], kept["packet"]) == ("accepted", old["packet"])
    assert (stale["disposition"], stale["behaviour"], stale["packet"], stale["rendered"]) == (
        "stale-version",
        "fail-closed",
        None,
        None,
    )
    assert fresh["disposition"] == "accepted"
    assert fresh["packet"]["catalog_version"] != version
    assert fresh["packet_id"] != old["packet_id"]


def test_what_red_publishes_makes_no_version_of_blue_stale(tmp_path: Path) -> None:
    """R6, R29."""
    build(tmp_path / "catalog", visible_records())
    with Catalog.open(tmp_path / "catalog") as catalog:
        pipeline = pipeline_over(catalog)
        old = narrow(pipeline, 2)
        extend(catalog, foreign_records())
        now = narrow(pipeline, 2, catalog_version=old["packet"]["catalog_version"])

    assert now["disposition"] == "accepted"
    assert now["packet"] == old["packet"]


@pytest.mark.parametrize("query_class", ["enumerate", "explanatory"])
def test_a_class_that_asks_for_all_is_never_supported_from_a_narrow_set(pipeline: Pipeline, query_class: str) -> None:
    """R36: both roles are filled by three of four units."""
    found = narrow(pipeline, 3, requirements=REQUIRED, query_class=query_class)

    assert role_states(found) == {"limit": "filled", "executables": "filled"}
    assert found["state"] == ("partial" if query_class == "enumerate" else "supported")


def test_a_class_that_asks_for_all_is_supported_by_everything(pipeline: Pipeline) -> None:
    """R36."""
    found = broad(pipeline, requirements=REQUIRED, query_class="enumerate")

    assert (found["state"], found["packet"]["coverage"]["exhaustive"]) == ("supported", True)
