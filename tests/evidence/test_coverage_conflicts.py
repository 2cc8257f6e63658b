"""Which roles conflicting and overruled evidence fills, and what it does for them (R18, R19, R20)."""

from collections.abc import Sequence

from evidence.authority_rules import NO_RULES, AuthorityRules
from evidence.coverage import Assessment, Coverage, assess, cover
from evidence.envelope import Candidate
from evidence.requirements import Requirement
from evidence.state import RoleState, SupportRole
from tests.builders import candidate, claim, family, requires, revision, source, unit_of
from tests.evidence.disputes import (
    MANUFACTURER_FIRST,
    conflicts,
    contradicting,
    facts_of,
    passages,
    rules,
    saying,
    seen,
)

SETTLING = rules(MANUFACTURER_FIRST)
BEST = saying("A", "25", authority="manufacturer", family="bulletin")
LOSER = saying("B", "30", authority="dealer", family="note")
PLAIN = saying("P", "yes", key="warranty", family="policy")
MAX = requires("limit", claim("max"))


def assessed(requirements: Sequence[Requirement], *selection: Candidate, by: AuthorityRules = NO_RULES) -> Assessment:
    """The selection stands in the order given: what is in conflict is given side by side."""
    found = conflicts(selection, by=by)
    assert found.selection == selection
    return assess(tuple(requirements), selection, snapshot=seen(selection), groups=found.groups)


def covered(
    requirements: Sequence[Requirement],
    *selection: Candidate,
    kept: Sequence[int] | None = None,
    by: AuthorityRules = NO_RULES,
) -> Coverage:
    """The coverage of the positions `kept`, all of them unless said."""
    return cover(
        assessed(requirements, *selection, by=by),
        range(len(selection)) if kept is None else kept,
        handles=[f"EV-{position}" for position in range(len(selection))],
        usable_units=len(selection),
        duplicates=(),
    )


def support_roles(
    requirements: Sequence[Requirement], *selection: Candidate, by: AuthorityRules = NO_RULES
) -> tuple[SupportRole, ...]:
    return assessed(requirements, *selection, by=by).support_roles


def test_a_role_that_a_unit_of_an_open_group_fills_is_conflicting_and_names_who_fills_it() -> None:
    (role,) = covered([MAX], BEST, LOSER).roles

    assert (role.state, role.handles) == (RoleState.CONFLICTING, ("EV-0", "EV-1"))


def test_one_disputed_unit_makes_the_role_conflicting_beside_undisputed_ones() -> None:
    bulletin = candidate(revision("C", family="bulletin"), "undisputed")

    (role,) = covered([requires("bulletin", family("bulletin"))], BEST, LOSER, bulletin).roles
    assert (role.state, role.handles) == (RoleState.CONFLICTING, ("EV-0", "EV-2"))


def test_a_role_that_no_unit_of_the_group_fills_is_not_touched_by_it() -> None:
    coverage = covered([requires("warranty", claim("warranty"))], BEST, LOSER, PLAIN)

    assert coverage.roles[0].state is RoleState.FILLED


def test_a_disputed_claim_is_prohibited() -> None:
    assert covered([MAX], BEST, LOSER).prohibited_claims == ("max",)


def test_where_the_group_was_left_out_whole_its_role_is_not_selected() -> None:
    coverage = covered([MAX], BEST, LOSER, PLAIN, kept=[2])

    assert coverage.roles[0].state is RoleState.NOT_SELECTED
    assert coverage.prohibited_claims == ("max",)


def test_in_a_settled_group_the_prevailing_claim_alone_fills_the_role() -> None:
    """R18: both stay; the overruled claim fills nothing."""
    coverage = covered([MAX], BEST, LOSER, by=SETTLING)

    assert (coverage.roles[0].state, coverage.roles[0].handles) == (RoleState.FILLED, ("EV-0",))
    assert coverage.prohibited_claims == ()


def test_a_role_that_only_an_overruled_claim_would_fill_is_absent() -> None:
    coverage = covered([requires("limit", claim("max", "30"))], BEST, LOSER, by=SETTLING)

    assert (coverage.roles[0].state, coverage.roles[0].handles) == (RoleState.ABSENT, ())
    assert coverage.prohibited_claims == ("max",)


def test_an_overruled_unit_still_stands_for_its_source_its_family_and_itself() -> None:
    asked = [requires("s", source("B")), requires("f", family("note")), requires("u", unit_of(LOSER))]

    assert [role.state for role in covered(asked, BEST, LOSER, by=SETTLING).roles] == [RoleState.FILLED] * 3


def test_an_overruled_unit_keeps_the_claims_that_nobody_disputes() -> None:
    loser = passages(facts_of("B", claims=[("max", "30", "30"), ("min", "1", "1")], authority="dealer"), "1 to 30")[0]

    (role,) = covered([requires("least", claim("min"))], BEST, loser, by=SETTLING).roles
    assert (role.state, role.handles) == (RoleState.FILLED, ("EV-1",))


def test_every_unit_of_an_open_group_is_shown_as_conflicting_whatever_else_it_does() -> None:
    asked = [requires("limit", claim("max", "25"))]

    assert support_roles(asked, BEST, LOSER, PLAIN) == (
        SupportRole.CONFLICTING,
        SupportRole.CONFLICTING,
        SupportRole.BACKGROUND,
    )


def test_in_a_settled_group_the_overruled_unit_disconfirms_what_was_asked_for() -> None:
    assert support_roles([MAX], BEST, LOSER, by=SETTLING) == (SupportRole.SUPPORTING, SupportRole.DISCONFIRMING)
    assert support_roles([], BEST, LOSER, by=SETTLING) == (SupportRole.BACKGROUND, SupportRole.BACKGROUND)


def test_a_prevailing_unit_with_another_value_than_expected_disconfirms_and_the_overruled_one_is_background() -> None:
    asked = [requires("limit", claim("max", "30"))]

    assert support_roles(asked, BEST, LOSER, by=SETTLING) == (SupportRole.DISCONFIRMING, SupportRole.BACKGROUND)


def test_an_overruled_unit_that_fills_another_role_supports() -> None:
    related = saying("B", "no", key="b", authority="dealer", contradicts=[contradicting("A")], family="note")

    assert support_roles([requires("note", family("note"))], BEST, related, by=SETTLING) == (
        SupportRole.BACKGROUND,
        SupportRole.SUPPORTING,
    )


def test_a_claim_that_is_overruled_still_touches_a_mandatory_role() -> None:
    """R19: so that its group is packed, and the reader sees what overrules it."""
    assessment = assessed([requires("limit", claim("max", "30"))], BEST, LOSER, by=SETTLING)

    assert assessment.mandatory == {1}
    assert assessment.roles[1] == ()


def test_who_is_in_an_open_conflict_is_told_by_position() -> None:
    assert assessed([], PLAIN, BEST, LOSER).conflicting == {1, 2}
    assert assessed([], PLAIN, BEST, LOSER, by=SETTLING).conflicting == frozenset()
