"""Which rule settles a conflict, and what it leaves open (R18)."""

import pytest

from evidence.authority_rules import NO_RULES, AuthorityRule, AuthorityRules, Settlement, parse_authority_rules
from evidence.canonical import Json
from evidence.envelope import Candidate
from evidence.errors import InvalidAuthorityRules
from evidence.revision import ConflictSide
from tests.evidence.disputes import (
    MANUFACTURER_FIRST,
    conflicts,
    contradicting,
    facts_of,
    named,
    passages,
    rules,
    saying,
)

SETTLING = rules(MANUFACTURER_FIRST)
BEST = saying("A", "25", authority="manufacturer", family="bulletin")
SECOND = saying("B", "30", authority="dealer", family="bulletin")
THIRD = saying("C", "40", authority="forum", family="bulletin")


def settled(*selection: Candidate, by: AuthorityRules) -> Settlement | None:
    """What becomes of the one group that these units are."""
    (group,) = conflicts(selection, by=by).groups
    return group.settlement


def overruled(*selection: Candidate, by: AuthorityRules = SETTLING) -> list[str]:
    """Who is overruled, in a group that a rule settles."""
    settlement = settled(*selection, by=by)
    assert settlement is not None
    return named(settlement.overruled)


def test_the_best_class_present_prevails_and_the_others_are_overruled() -> None:
    assert overruled(THIRD, BEST, SECOND) == ["B#0", "C#0"]
    assert overruled(SECOND, THIRD) == ["C#0"]


def test_a_settlement_names_the_rule_and_the_version_of_the_rules() -> None:
    assert settled(BEST, SECOND, by=SETTLING) == Settlement(
        rule="manufacturer-first",
        rules="house",
        version="3",
        overruled=(SECOND.unit.key,),
    )


def test_without_rules_nothing_is_settled() -> None:
    assert settled(BEST, SECOND, by=NO_RULES) is None


def test_whoever_says_what_the_best_class_says_prevails_with_it() -> None:
    agrees = saying("D", " 25", authority="forum", family="bulletin")

    assert overruled(BEST, SECOND, agrees) == ["B#0"]


def test_a_class_that_the_order_does_not_name_settles_nothing() -> None:
    unknown = saying("D", "50", authority="hearsay", family="bulletin")
    nameless = saying("E", "60", family="bulletin")

    assert settled(BEST, SECOND, unknown, by=SETTLING) is None
    assert settled(BEST, nameless, by=SETTLING) is None


def test_a_best_class_that_does_not_agree_with_itself_settles_nothing() -> None:
    other = saying("D", "26", authority="manufacturer", family="bulletin")
    both = saying("E", "25", "26", authority="manufacturer", family="bulletin")

    assert settled(BEST, other, SECOND, by=SETTLING) is None
    assert settled(both, SECOND, by=SETTLING) is None


def test_what_the_best_class_says_nothing_about_stays_open() -> None:
    """B and C disagree on another claim, and the manufacturer is silent on it."""
    b = passages(facts_of("B", claims=[("max", "30", "30"), ("min", "1", "1")], authority="dealer"), "1 to 30")[0]
    c = saying("C", "2", key="min", authority="dealer")

    assert settled(BEST, b, by=SETTLING) is not None
    assert settled(BEST, b, c, by=SETTLING) is None


def test_a_declared_contradiction_is_settled_like_differing_claims() -> None:
    best = saying("A", "x", key="a", authority="manufacturer")
    loser = saying("B", "y", key="b", authority="dealer", contradicts=[contradicting("A")])

    assert overruled(loser, best) == ["B#0"]


def test_a_rule_for_a_family_applies_only_where_every_member_is_of_it() -> None:
    for_bulletins = AuthorityRule(name="bulletins", family="bulletin", claim_key=None, order=MANUFACTURER_FIRST.order)
    note = saying("D", "50", authority="dealer", family="note")

    assert overruled(BEST, SECOND, by=rules(for_bulletins)) == ["B#0"]
    assert settled(BEST, note, by=rules(for_bulletins)) is None


def test_a_rule_for_a_claim_applies_only_where_nothing_else_is_disputed() -> None:
    for_max = AuthorityRule(name="max", family=None, claim_key="max", order=MANUFACTURER_FIRST.order)
    related = saying("D", "50", authority="dealer", contradicts=[contradicting("A")])

    assert overruled(BEST, SECOND, by=rules(for_max)) == ["B#0"]
    assert settled(BEST, related, by=rules(for_max)) is None
    relation = contradicting("A", here=ConflictSide(claim="least"), there=ConflictSide(claim="max"))
    of_two_claims = saying("D", "1", key="least", authority="dealer", contradicts=[relation])
    assert settled(BEST, of_two_claims, by=rules(for_max)) is None
    other = AuthorityRule(name="min", family=None, claim_key="min", order=MANUFACTURER_FIRST.order)
    assert settled(BEST, SECOND, by=rules(other)) is None


def test_the_first_rule_that_can_settle_a_group_does() -> None:
    dealer_first = AuthorityRule(name="dealer-first", family=None, claim_key=None, order=("dealer", "manufacturer"))
    for_notes = AuthorityRule(name="notes", family="note", claim_key=None, order=("manufacturer", "dealer"))

    assert overruled(BEST, SECOND, by=rules(for_notes, dealer_first, MANUFACTURER_FIRST)) == ["A#0"]


RECORD: dict[str, Json] = {
    "name": "house",
    "version": "3",
    "family_owners": {"bulletin": "safety"},
    "rules": [{"name": "r", "family": "bulletin", "claim": None, "order": ["manufacturer", "dealer"]}],
}


def test_rules_are_read_as_they_are_written() -> None:
    read = parse_authority_rules(RECORD)

    assert (read.name, read.version, read.family_owners) == ("house", "3", {"bulletin": "safety"})
    assert read.rules == (AuthorityRule(name="r", family="bulletin", claim_key=None, order=("manufacturer", "dealer")),)


def test_a_record_tells_rules_apart_and_nothing_of_what_they_say() -> None:
    """R8: a family that a caller cannot see may stand in the rules; every manifest holds their record."""
    read = parse_authority_rules(RECORD)
    other = parse_authority_rules({**RECORD, "family_owners": {"secret-family": "somebody"}})

    assert set(read.record()) == {"name", "version", "digest"}
    assert read.record()["digest"] != other.record()["digest"] != NO_RULES.record()["digest"]
    assert "secret-family" not in str(other.record())


def test_a_rule_may_leave_out_what_it_is_about_and_rules_may_leave_out_owners() -> None:
    short: Json = {"name": "n", "version": "1", "rules": [{"name": "r", "order": ["a", "b"]}]}

    read = parse_authority_rules(short)
    assert (read.rules[0].family, read.rules[0].claim_key, read.family_owners) == (None, None, {})


def rule(**changed: Json) -> Json:
    return {"name": "n", "version": "1", "rules": [{"name": "r", "order": ["a", "b"], **changed}]}


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ([], "$"),
        ({"name": "n", "rules": []}, "$.version"),
        ({"name": "", "version": "1", "rules": []}, "$.name"),
        ({"name": "n", "version": 1, "rules": []}, "$.version"),
        ({"name": "n", "version": "1", "rules": [], "more": 1}, "$.more"),
        ({"name": "n", "version": "1", "rules": {}}, "$.rules"),
        ({"name": "n", "version": "1", "rules": [], "family_owners": []}, "$.family_owners"),
        ({"name": "n", "version": "1", "rules": [], "family_owners": {"f": ""}}, "$.family_owners.f"),
        ({"name": "n", "version": "1", "rules": [], "family_owners": {"": "o"}}, "$.family_owners"),
        (rule(order=["a"]), "$.rules[0].order"),
        (rule(order=["a", "a"]), "$.rules[0].order"),
        (rule(order="ab"), "$.rules[0].order"),
        (rule(order=["a", 1]), "$.rules[0].order[1]"),
        (rule(family=""), "$.rules[0].family"),
        (rule(claim=7), "$.rules[0].claim"),
        (rule(rank=1), "$.rules[0].rank"),
        ({"name": "n", "version": "1", "rules": [{"name": "r", "order": ["a", "b"]}] * 2}, "$.rules"),
    ],
)
def test_anything_else_is_refused_with_its_place(record: Json, path: str) -> None:
    with pytest.raises(InvalidAuthorityRules) as refused:
        parse_authority_rules(record)

    assert refused.value.path == path
