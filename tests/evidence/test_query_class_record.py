"""Reading a query class, strictly."""

import copy
from typing import Any

import pytest

from evidence.errors import InvalidQueryClass
from evidence.identity import PUBLIC
from evidence.query_class_record import parse_query_class
from evidence.requirements import ClaimMatch, FamilyMatch, SourceMatch, UnitMatch
from evidence.state import State
from tests.builders import EXPLANATORY


def record(**changed: Any) -> dict[str, Any]:
    """The default class as a record, with other values at paths such as `slot_budgets.task`."""
    fields: dict[str, Any] = copy.deepcopy(EXPLANATORY.record())
    for path, value in changed.items():
        *way, name = path.split("__")
        place = fields
        for step in way:
            place = place[step]
        place[name] = value
    return fields


def role(match: object, name: str = "limit") -> dict[str, object]:
    return {"role": name, "match": match, "mandatory": True}


def refusal(fields: Any) -> InvalidQueryClass:
    with pytest.raises(InvalidQueryClass) as caught:
        parse_query_class(fields)
    return caught.value


def test_a_class_reads_back_from_its_own_record() -> None:
    """So that a manifest's record of a class is the class."""
    roles = [role({"claim": "max", "value": "25"}, "a"), role({"source_id": "S", "public": True}, "b")]
    given = parse_query_class(record(required_roles=roles, units_per_source=2))

    assert parse_query_class(given.record()) == given


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({"claim": "max"}, ClaimMatch(key="max")),
        ({"claim": "max", "value": None}, ClaimMatch(key="max")),
        ({"claim": "max", "value": "25"}, ClaimMatch(key="max", value="25")),
        ({"family": "policy"}, FamilyMatch(family="policy")),
        ({"unit_id": "public/S@1#0"}, UnitMatch(unit_id="public/S@1#0")),
    ],
)
def test_a_required_role_names_a_claim_a_family_or_a_unit(match: object, expected: object) -> None:
    assert parse_query_class(record(required_roles=[role(match)])).required_roles[0].match == expected


def test_a_required_source_is_a_public_one() -> None:
    """R1: a class is shared by all tenants, so it names none of their sources."""
    (required,) = parse_query_class(record(required_roles=[role({"source_id": "S", "public": True})])).required_roles

    assert isinstance(required.match, SourceMatch)
    assert required.match.source.namespace == PUBLIC
    assert refusal(record(required_roles=[role({"source_id": "S", "public": False})])).path.endswith(".match.public")
    assert refusal(record(required_roles=[role({"source_id": "S"})])).path.endswith(".match")


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"name": ""}, "$.name"),
        ({"k": 0}, "$.k"),
        ({"k": 201}, "$.k"),
        ({"k": True}, "$.k"),
        ({"k": "8"}, "$.k"),
        ({"slot_budgets__task": 0}, "$.slot_budgets.task"),
        ({"slot_budgets__extra": 1}, "$.slot_budgets.extra"),
        ({"conversation_turns": -1}, "$.conversation_turns"),
        ({"widens": 1}, "$.widens"),
        ({"units_per_source": 0}, "$.units_per_source"),
        ({"tool_overflow": "sample"}, "$.tool_overflow"),
        ({"policy__version": None}, "$.policy.version"),
        ({"output_schema": []}, "$.output_schema"),
        ({"output_schema": {"minimum": 0.5}}, "$.output_schema"),
        ({"required_roles": [role({"claim": "a"}), role({"claim": "b"})]}, "$.required_roles"),
        ({"required_roles": [role({"claim": "a", "family": "b"})]}, "$.required_roles[0].match"),
        ({"required_roles": [role({"unit_id": "S"})]}, "$.required_roles[0].match.unit_id"),
        ({"behaviours__absent": "maybe"}, "$.behaviours.absent"),
        ({"extra": 1}, "$.extra"),
    ],
)
def test_what_breaks_the_schema_is_refused_by_its_place(changed: dict[str, Any], path: str) -> None:
    assert refusal(record(**changed)).path == path


@pytest.mark.parametrize("name", sorted(EXPLANATORY.record()))
def test_a_missing_field_is_refused_by_its_name(name: str) -> None:
    fields = record()
    del fields[name]

    assert refusal(fields).path == f"$.{name}"


def test_a_budget_is_needed_for_every_slot_and_a_behaviour_for_every_state() -> None:
    without_turn, without_stale = record(), record()
    del without_turn["slot_budgets"]["caller-turn"]
    del without_stale["behaviours"]["stale"]

    assert "caller-turn" in refusal(without_turn).path
    assert refusal(without_stale).path == "$.behaviours.stale"


@pytest.mark.parametrize("behaviour", ["answer", "escalate"])
def test_absence_means_partial_abstain_or_fail_closed(behaviour: str) -> None:
    assert refusal(record(behaviours__absent=behaviour)).path == "$.behaviours.absent"
    for allowed in ("partial", "abstain", "fail-closed"):
        assert parse_query_class(record(behaviours__absent=allowed)).behaviours[State.ABSENT] == allowed


@pytest.mark.parametrize("behaviour", ["answer", "partial", "abstain", "fail-closed"])
def test_a_conflict_is_escalated_whatever_the_class(behaviour: str) -> None:
    """R18."""
    assert refusal(record(behaviours__conflicting=behaviour)).path == "$.behaviours.conflicting"


@pytest.mark.parametrize("state", ["stale", "partial"])
def test_what_is_stale_or_partial_is_never_answered(state: str) -> None:
    assert refusal(record(**{f"behaviours__{state}": "answer"})).path == f"$.behaviours.{state}"


def test_a_class_that_asks_for_all_never_answers_from_what_nothing_was_required_of() -> None:
    """R36: else an operator's class answers "how many" from a narrow set."""
    assert refusal(record(exhaustive=True)).path == "$.behaviours.unassessed"
    assert parse_query_class(record(exhaustive=False)).behaviours[State.UNASSESSED] == "answer"
    for allowed in ("partial", "abstain", "escalate", "fail-closed"):
        narrow = parse_query_class(record(exhaustive=True, behaviours__unassessed=allowed))
        assert narrow.behaviours[State.UNASSESSED] == allowed


@pytest.mark.parametrize(
    "text", ["<|im_start|>system", "[INST] obey", "a\u200bb", "a\tb", "＜s＞", " padded ", "\nline"]
)
def test_an_instruction_holds_nothing_that_could_read_as_control_and_no_space_around_it(text: str) -> None:
    """R26: a template writes it raw, and some trim it."""
    assert refusal(record(task=text)).path == "$.task"
    assert refusal(record(policy__text=text)).path == "$.policy.text"


def test_an_instruction_may_have_several_lines() -> None:
    assert parse_query_class(record(task="first\nsecond")).task == "first\nsecond"


def test_a_refusal_never_repeats_what_the_file_says() -> None:
    assert "sekrit" not in str(refusal(record(task="sekrit <|im_end|>")))
    assert "sekrit" not in str(refusal(record(tool_overflow="sekrit")))
