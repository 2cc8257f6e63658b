"""Is this record a query class, and which? (pure)

Strict: unknown and missing keys are refused, with their place. The texts of a class become instructions to a model,
so they hold no character from which a delimiter or a control token could be made.
"""

from collections.abc import Mapping
from typing import cast

from evidence.canonical import Json, canonical
from evidence.errors import InvalidQueryClass, InvalidSource, NotCanonical
from evidence.escape import holds_control
from evidence.identity import PUBLIC, SourceKey, parse_unit_id
from evidence.query_class import PolicyText, QueryClass, ToolOverflow
from evidence.record_fields import as_boolean, as_list, as_name, as_object, as_passage, kind_of
from evidence.requirements import ClaimMatch, FamilyMatch, Match, Requirement, SourceMatch, UnitMatch
from evidence.slots import Slot
from evidence.state import Behaviour, State

MAX_K = 200  # units of a selection, as in a request
MAX_TOKENS = 2**32  # of a slot
MAX_TURNS = 1000

_KEYS = (
    "name", "version", "description", "k", "slot_budgets", "conversation_turns", "widens", "exhaustive",
    "required_roles", "units_per_source", "tool_overflow", "policy", "task", "output_schema", "behaviours",
)  # fmt: skip
_POLICY_KEYS = ("name", "version", "text")
_ROLE_KEYS = ("role", "match", "mandatory")
_MATCH_KEYS = ("claim", "value", "family", "source_id", "public", "unit_id")

# What a class may say of a state. Absence is partial, abstain or fail-closed; a conflict is escalated (R18); only
# what is supported, or what nothing was required of, may be answered; the latter not by a class that asks for all or
# how many, since nothing then says that everything was looked at (R36).
_ALLOWED: Mapping[State, tuple[Behaviour, ...]] = {
    State.CONFLICTING: (Behaviour.ESCALATE,),
    State.STALE: (Behaviour.PARTIAL, Behaviour.ABSTAIN, Behaviour.ESCALATE, Behaviour.FAIL_CLOSED),
    State.ABSENT: (Behaviour.PARTIAL, Behaviour.ABSTAIN, Behaviour.FAIL_CLOSED),
    State.PARTIAL: (Behaviour.PARTIAL, Behaviour.ABSTAIN, Behaviour.ESCALATE, Behaviour.FAIL_CLOSED),
    State.SUPPORTED: tuple(Behaviour),
    State.UNASSESSED: tuple(Behaviour),
}
_ALLOWED_TO_EXHAUSTIVE: Mapping[State, tuple[Behaviour, ...]] = {
    State.UNASSESSED: tuple(behaviour for behaviour in Behaviour if behaviour is not Behaviour.ANSWER),
}


def parse_query_class(record: Json) -> QueryClass:
    """The class that a record describes, as `QueryClass.record` writes it.

    Raises InvalidQueryClass with the path of the first thing that is wrong, in the order of the fields of a class.
    """
    try:
        return _query_class(as_object(record, "$", allowed=_KEYS, required=_KEYS))
    except InvalidSource as error:  # what the shared field readers raise
        raise InvalidQueryClass(error.path, error.problem) from None


def _query_class(fields: Mapping[str, object]) -> QueryClass:
    return QueryClass(
        name=as_name(fields["name"], "$.name"),
        version=as_name(fields["version"], "$.version"),
        description=as_passage(fields["description"], "$.description"),
        k=_integer(fields["k"], "$.k", least=1, most=MAX_K),
        budgets=_budgets(fields["slot_budgets"]),
        conversation_turns=_integer(fields["conversation_turns"], "$.conversation_turns", least=0, most=MAX_TURNS),
        widens=as_boolean(fields["widens"], "$.widens"),
        exhaustive=as_boolean(fields["exhaustive"], "$.exhaustive"),
        required_roles=_roles(fields["required_roles"]),
        units_per_source=None
        if fields["units_per_source"] is None
        else _integer(fields["units_per_source"], "$.units_per_source", least=1, most=MAX_K),
        tool_overflow=ToolOverflow(_one_of(fields["tool_overflow"], "$.tool_overflow", tuple(ToolOverflow))),
        policy=_policy(fields["policy"]),
        task=_instruction(fields["task"], "$.task"),
        output_schema=_schema(fields["output_schema"]),
        behaviours=_behaviours(fields["behaviours"], exhaustive=fields["exhaustive"] is True),
    )


def _budgets(value: object) -> dict[Slot, int]:
    names = tuple(Slot)
    given = as_object(value, "$.slot_budgets", allowed=names, required=names)
    return {slot: _integer(given[slot], f"$.slot_budgets.{slot}", least=1, most=MAX_TOKENS) for slot in Slot}


def _policy(value: object) -> PolicyText:
    fields = as_object(value, "$.policy", allowed=_POLICY_KEYS, required=_POLICY_KEYS)
    return PolicyText(
        name=as_name(fields["name"], "$.policy.name"),
        version=as_name(fields["version"], "$.policy.version"),
        text=_instruction(fields["text"], "$.policy.text"),
    )


def _behaviours(value: object, *, exhaustive: bool) -> dict[State, Behaviour]:
    names = tuple(State)
    given = as_object(value, "$.behaviours", allowed=names, required=names)
    allowed = {**_ALLOWED, **(_ALLOWED_TO_EXHAUSTIVE if exhaustive else {})}
    return {state: Behaviour(_one_of(given[state], f"$.behaviours.{state}", allowed[state])) for state in State}


def _roles(value: object) -> tuple[Requirement, ...]:
    roles = tuple(_role(entry, path) for entry, path in as_list(value, "$.required_roles"))
    if len({requirement.role for requirement in roles}) < len(roles):
        raise InvalidSource("$.required_roles", "two roles have the same name; each role is named once")
    return roles


def _role(value: object, path: str) -> Requirement:
    fields = as_object(value, path, allowed=_ROLE_KEYS, required=_ROLE_KEYS)
    return Requirement(
        role=as_name(fields["role"], f"{path}.role"),
        match=_match(fields["match"], f"{path}.match"),
        mandatory=as_boolean(fields["mandatory"], f"{path}.mandatory"),
    )


def _match(value: object, path: str) -> Match:
    fields = as_object(value, path, allowed=_MATCH_KEYS, required=())
    match sorted(fields):
        case ["claim"] | ["claim", "value"]:
            expected = fields.get("value")
            return ClaimMatch(
                key=as_name(fields["claim"], f"{path}.claim"),
                value=None if expected is None else as_passage(expected, f"{path}.value"),
            )
        case ["family"]:
            return FamilyMatch(family=as_name(fields["family"], f"{path}.family"))
        case ["public", "source_id"]:
            if not as_boolean(fields["public"], f"{path}.public"):
                raise InvalidSource(f"{path}.public", "must be true: a class is shared, and knows no tenant's sources")
            return SourceMatch(source=SourceKey(PUBLIC, as_name(fields["source_id"], f"{path}.source_id")))
        case ["unit_id"]:
            named = as_name(fields["unit_id"], f"{path}.unit_id")
            if parse_unit_id(named) is None:
                raise InvalidSource(f"{path}.unit_id", "is no unit id")
            return UnitMatch(unit_id=named)
        case _:
            raise InvalidSource(path, "names one of claim (with or without value), family, source_id (public), unit_id")


def _instruction(value: object, path: str) -> str:
    """A text that a template writes raw, and that one which trims its messages leaves as it is."""
    text = as_passage(value, path)
    if holds_control(text):
        raise InvalidSource(
            path, "holds a character that could read as control; allowed is plain text, without < and ["
        )
    if text != text.strip():
        raise InvalidSource(path, "begins or ends with white space")
    return text


def _schema(value: object) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise InvalidSource("$.output_schema", f"must be an object, got {kind_of(value)}")
    schema = cast("Mapping[str, Json]", value)
    try:
        canonical(schema)
    except NotCanonical as error:
        raise InvalidSource("$.output_schema", str(error)) from None
    return schema


def _one_of(value: object, path: str, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidSource(path, f"must be one of {', '.join(allowed)}")
    return value


def _integer(value: object, path: str, *, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidSource(path, f"must be an integer, got {kind_of(value)}")
    if not least <= value <= most:
        raise InvalidSource(path, f"got {value}, allowed is {least} to {most}")
    return value
