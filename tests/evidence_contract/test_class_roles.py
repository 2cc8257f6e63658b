"""What does a query class demand that has required roles of its own? (R20, R21, R28)

No class is shipped with any: this one is an operator's file. An action on a pump needs its interval, should have the
guide, and is closed where the interval is missing.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.layers import Layer
from server.pipeline import Pipeline
from server.replaying import replay
from tests.evidence_contract.answers import Answer, ask, left_out, needs, outcome, role_states, sources
from tests.evidence_contract.over_http import served
from tests.evidence_contract.slot_world import SHIPPED
from tests.worlds import build, opened, principal, record

ANN = principal("blue")  # sees the interval
RED = principal("red")
QUERY = "how is the pump serviced"
ROLES: list[dict[str, Any]] = [
    {"role": "interval", "match": {"claim": "pump.interval"}, "mandatory": True},
    {"role": "guide", "match": {"family": "guide"}, "mandatory": False},
]
FILLER = " ".join(["pump"] * 50)
RECORDS = [
    record(
        "MANUAL",
        f"The pump is serviced monthly. {FILLER}.\n\nThe pump is serviced dry. {FILLER}.\n\nThe pump is old. {FILLER}.",
        tenant="blue",
        claims=[{"key": "pump.interval", "value": "monthly", "quote": "serviced monthly"}],
    ),
    record("GUIDE", "How the pump is serviced, in general.", tenant="blue", family="guide"),
    record("NOTE", "The pump is serviced by two people.", tenant="blue"),
    record("RED-NOTE", "The pump is serviced at night.", tenant="red"),
]


def write_class(folder: Path, **changed: Any) -> Path:
    """The folder of an operator with one class: a decision that has these roles, and takes one unit of a source."""
    shipped = json.loads((SHIPPED / "decision.json").read_bytes())
    made = {**shipped, "name": "action", "required_roles": ROLES, "units_per_source": 1, **changed}
    folder.mkdir(exist_ok=True)
    (folder / "action.json").write_text(json.dumps(made))
    return folder


@pytest.fixture(scope="module", name="catalog")
def fixture_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("roles") / "catalog"
    build(directory, RECORDS)
    return directory


@pytest.fixture(scope="module", name="classes")
def fixture_classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_class(tmp_path_factory.mktemp("roles") / "classes")


@pytest.fixture(scope="module", name="pipeline")
def fixture_pipeline(catalog: Path, classes: Path) -> Iterator[Pipeline]:
    with opened(catalog, query_classes_dir=classes) as pipeline:
        yield pipeline


def action(pipeline: Pipeline, who: Any = ANN, **more: Any) -> Answer:
    return ask(pipeline, who, QUERY, query_class="action", **more)


def without(*left_away: str) -> dict[str, Any]:
    """A filter that leaves these sources out."""
    return {"filter": {"source_id": [one["source_id"] for one in RECORDS if one["source_id"] not in left_away]}}


def test_the_roles_of_the_class_are_checked_without_the_request_naming_any(pipeline: Pipeline) -> None:
    found = action(pipeline)

    assert outcome(found) == ("supported", "answer", "accepted")
    assert role_states(found) == {"interval": "filled", "guide": "filled"}
    tiers = {item["facts"]["source_id"]: item["decision"]["tier"] for item in found["manifest"]["inclusions"]}
    assert tiers == {"MANUAL": "mandatory", "GUIDE": "conditional", "NOTE": "background"}


def test_absence_of_a_mandatory_role_closes_the_action(pipeline: Pipeline) -> None:
    """R28: whether the caller filtered it away or may not see it."""
    for found in (action(pipeline, **without("MANUAL")), action(pipeline, RED)):
        assert outcome(found) == ("absent", "fail-closed", "accepted")
        assert role_states(found)["interval"] == "absent"


def test_absence_of_a_role_that_is_not_mandatory_changes_no_state(pipeline: Pipeline) -> None:
    found = action(pipeline, **without("GUIDE"))

    assert outcome(found) == ("supported", "answer", "accepted")
    assert role_states(found) == {"interval": "filled", "guide": "absent"}


def test_roles_of_the_class_stand_before_those_of_the_request_and_one_state_is_over_both(pipeline: Pipeline) -> None:
    found = action(pipeline, requirements=[needs("torque", "pump.torque")])

    assert list(role_states(found).items()) == [("interval", "filled"), ("guide", "filled"), ("torque", "absent")]
    assert outcome(found) == ("partial", "abstain", "accepted")


def test_the_unit_of_a_mandatory_role_of_the_class_is_never_left_out_for_space(pipeline: Pipeline) -> None:
    """R21, R22."""
    whole = action(pipeline)["rendered"]["bytes"]

    cut = action(pipeline, budget={"max_bytes": whole - 1}, on_overflow="omit-optional")
    assert (cut["packet"]["cut"], "MANUAL" in sources(cut), len(sources(cut))) == (True, True, 2)
    closed = action(pipeline, budget={"max_bytes": 100}, on_overflow="omit-optional")
    assert closed["disposition"] == "refused-budget"
    assert 100 < closed["refusal"]["mandatory_floor"] < whole


def test_the_class_takes_one_unit_of_a_source_and_names_the_others(pipeline: Pipeline) -> None:
    """R16."""
    found = action(pipeline)

    assert sorted(sources(found)) == ["GUIDE", "MANUAL", "NOTE"]
    dropped = left_out(found, "omitted-policy")
    assert [one["policy"] for one in dropped] == ["units-per-source"] * 2
    assert sorted(one["unit_id"] for one in dropped) == ["blue/MANUAL@1#1", "blue/MANUAL@1#2"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"requirements": [needs("torque", "pump.torque", mandatory=False)]},
        {"adapter": "openai", "strategy": "auto"},
        {"strategy": "broad"},
        without("MANUAL"),
        {"budget": {"max_bytes": 100}},
    ],
    ids=str,
)
def test_a_packet_of_the_class_replays_identically(pipeline: Pipeline, more: dict[str, Any]) -> None:
    """R32: the roles of the class come from the class, once."""
    manifest = json.loads(json.dumps(action(pipeline, **more)["manifest"]))

    assert replay(pipeline, manifest, ANN, code_of=lambda _: None).layer is None


@pytest.mark.parametrize(
    "changed",
    [
        {"required_roles": ROLES[:1]},
        {"required_roles": [{**ROLES[0], "mandatory": False}, ROLES[1]]},
        {"required_roles": []},
        {"units_per_source": 2},
    ],
    ids=str,
)
def test_packing_differs_once_the_class_has_other_roles_or_another_cap(
    pipeline: Pipeline, catalog: Path, tmp_path: Path, changed: dict[str, Any]
) -> None:
    """R32, R35."""
    manifest = json.loads(json.dumps(action(pipeline)["manifest"]))

    with opened(catalog, query_classes_dir=write_class(tmp_path / "classes", **changed)) as other:
        assert replay(other, manifest, ANN, code_of=lambda _: None).layer is Layer.PACKING


def test_a_role_that_the_class_has_cannot_be_named_again(catalog: Path, classes: Path) -> None:
    """Whose match would count? The request is refused, whatever it says of the role."""
    with served(catalog, query_classes_dir=classes) as caller:
        for again in (needs("interval", "pump.interval"), needs("guide", "anything", mandatory=False)):
            answer = caller.post(ANN, "/v1/packets", {"query": QUERY, "query_class": "action", "requirements": [again]})
            problem = answer.json()
            assert (answer.status_code, problem["path"]) == (422, "$.requirements")
            assert (
                problem["detail"] == "a role is named twice, by the request or by its query class; each is named once"
            )
        other_class = {"query": QUERY, "requirements": [needs("interval", "pump.interval")]}
        assert caller.post(ANN, "/v1/packets", other_class).status_code == 200
