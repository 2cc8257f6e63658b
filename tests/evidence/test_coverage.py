"""Which roles the chosen evidence fills, and what each unit does for them, where nothing is in conflict (R20)."""

from collections.abc import Sequence

from evidence.coverage import Coverage, assess, cover
from evidence.duplicates import Duplicate
from evidence.envelope import Candidate
from evidence.requirements import Requirement, UnitMatch
from evidence.revision import RevisionFacts, Status
from evidence.state import RoleState, SupportRole
from tests.builders import candidate, claim, family, requires, revision, revision_key, snapshot, source
from tests.evidence.disputes import facts_of, passages, seen

LIMIT = candidate(revision("A", claims={"max": "25"}), "at most 25")
RULE = candidate(revision("B", family="policy"), "no executables")
OTHER = candidate(revision("C", claims={"max": "30"}), "at most 30")


def covered(
    requirements: Sequence[Requirement],
    selection: Sequence[Candidate],
    *,
    kept: Sequence[int] | None = None,
    beside: Sequence[RevisionFacts] = (),
) -> Coverage:
    """The coverage of the positions `kept` (all of them unless said) in a catalog that also holds `beside`."""
    seen = snapshot([*(found.facts for found in selection), *beside])
    assessment = assess(tuple(requirements), selection, snapshot=seen, groups=())
    handles = [f"EV-{position}" for position in range(len(selection))]
    positions = range(len(selection)) if kept is None else kept
    return cover(assessment, positions, handles=handles, usable_units=seen.usable_units, duplicates=())


def state_of(requirement: Requirement, selection: Sequence[Candidate], *beside: RevisionFacts) -> RoleState:
    return covered([requirement], selection, beside=beside).roles[0].state


def test_a_role_is_filled_by_any_included_unit_that_matches_and_names_all_of_them_in_order() -> None:
    coverage = covered([requires("limit", claim("max"))], [OTHER, RULE, LIMIT])

    assert coverage.record()["roles"] == [{"role": "limit", "state": "filled", "handles": ["EV-0", "EV-2"]}]


def test_roles_keep_the_order_of_the_request() -> None:
    coverage = covered([requires("z", claim("max")), requires("a", family("policy"))], [RULE])

    assert [role.role for role in coverage.roles] == ["z", "a"]


def test_a_role_that_a_usable_unit_outside_the_packet_would_fill_is_not_selected() -> None:
    assert state_of(requires("limit", claim("max")), [RULE], LIMIT.facts) is RoleState.NOT_SELECTED
    assert state_of(requires("limit", source("A")), [RULE], LIMIT.facts) is RoleState.NOT_SELECTED
    assert state_of(requires("rule", family("policy")), [LIMIT], RULE.facts) is RoleState.NOT_SELECTED


def test_requirements_check_the_selection_and_never_add_to_it() -> None:
    coverage = covered([requires("limit", claim("max"))], [RULE], beside=[LIMIT.facts])

    assert coverage.roles[0].handles == ()


def test_a_unit_that_was_dropped_fills_no_role() -> None:
    coverage = covered([requires("limit", claim("max"))], [RULE, LIMIT], kept=[0])

    assert coverage.roles[0].state is RoleState.NOT_SELECTED
    assert coverage.roles[0].handles == ()


def test_a_role_that_only_a_stale_or_revoked_revision_would_fill_is_stale() -> None:
    superseded = revision("A", claims={"max": "10"}, status=Status.SUPERSEDED)
    revoked = revision("A", claims={"max": "10"}, status=Status.REVOKED)

    assert state_of(requires("limit", claim("max")), [RULE], superseded) is RoleState.STALE
    assert state_of(requires("limit", claim("max")), [RULE], revoked) is RoleState.STALE
    assert state_of(requires("limit", UnitMatch(unit_id="blue/A@1#0")), [RULE], superseded) is RoleState.STALE


def test_a_usable_unit_outside_the_packet_goes_before_a_stale_one() -> None:
    stale = revision("D", claims={"max": "10"}, status=Status.SUPERSEDED)

    assert state_of(requires("limit", claim("max")), [RULE], stale, LIMIT.facts) is RoleState.NOT_SELECTED


def test_a_stale_revision_with_another_value_than_expected_does_not_make_the_role_stale() -> None:
    stale = revision("D", claims={"max": "10"}, status=Status.SUPERSEDED)

    assert state_of(requires("limit", claim("max", "25")), [RULE], stale) is RoleState.ABSENT


def test_a_role_that_nothing_visible_would_fill_is_absent() -> None:
    hidden = revision("A", namespace="red", claims={"max": "25"})

    assert state_of(requires("limit", claim("max")), [RULE]) is RoleState.ABSENT
    assert state_of(requires("limit", claim("max")), [RULE], hidden) is RoleState.ABSENT


def test_an_expected_value_must_be_met() -> None:
    assert state_of(requires("limit", claim("max", "25")), [LIMIT]) is RoleState.FILLED
    assert state_of(requires("limit", claim("max", "25")), [OTHER]) is RoleState.ABSENT
    assert state_of(requires("limit", claim("max", "25")), [OTHER], LIMIT.facts) is RoleState.NOT_SELECTED


def test_claims_that_were_asked_for_and_that_no_included_unit_bears_out_are_prohibited() -> None:
    asked = [
        requires("warranty", claim("warranty.approved")),
        requires("limit", claim("max", "25"), mandatory=False),
        requires("rule", family("missing")),
        requires("again", claim("warranty.approved", "yes")),
    ]

    assert covered(asked, [RULE]).prohibited_claims == ("max", "warranty.approved")
    assert covered(asked, [LIMIT]).prohibited_claims == ("warranty.approved",)
    assert covered(asked, [OTHER]).prohibited_claims == ("max", "warranty.approved")
    assert covered(asked, [LIMIT], kept=[]).prohibited_claims == ("max", "warranty.approved")


def test_a_packet_is_exhaustive_only_with_every_usable_unit() -> None:
    """R36: always computed."""
    stale = revision("D", status=Status.SUPERSEDED)

    assert covered([], [LIMIT, RULE], beside=[stale]).exhaustive
    assert not covered([], [LIMIT, RULE], kept=[0]).exhaustive
    assert not covered([], [LIMIT, RULE], beside=[OTHER.facts]).exhaustive
    assert covered([], []).exhaustive


def test_a_duplicate_that_was_left_out_is_no_gap() -> None:
    """R17, R36: what it says is in the packet, unless the unit that says it was dropped too."""
    selection = passages(facts_of("A"), "same", "same", "other")
    assessment = assess((), selection, snapshot=seen(selection), groups=())

    def exhaustive(*kept: int) -> bool:
        twice = [Duplicate(position=1, kept=0)]
        return cover(assessment, kept, handles="abc", usable_units=3, duplicates=twice).exhaustive

    assert exhaustive(0, 2)
    assert not exhaustive(0)
    assert not exhaustive(2)


def support_roles(*requirements: Requirement) -> list[SupportRole]:
    selection = [LIMIT, RULE, OTHER]
    seen = snapshot([found.facts for found in selection])
    return list(assess(requirements, selection, snapshot=seen, groups=()).support_roles)


def test_a_unit_supports_where_it_fills_a_role_and_is_background_where_nothing_asks_for_it() -> None:
    assert support_roles() == [SupportRole.BACKGROUND] * 3
    assert support_roles(requires("limit", claim("max"))) == [
        SupportRole.SUPPORTING,
        SupportRole.BACKGROUND,
        SupportRole.SUPPORTING,
    ]


def test_a_unit_with_another_value_than_expected_disconfirms() -> None:
    assert support_roles(requires("limit", claim("max", "25"), mandatory=False)) == [
        SupportRole.SUPPORTING,
        SupportRole.BACKGROUND,
        SupportRole.DISCONFIRMING,
    ]


def test_a_unit_that_fills_one_role_and_contradicts_another_is_shown_as_disconfirming() -> None:
    roles = support_roles(requires("limit", claim("max", "25")), requires("source", source("C")))

    assert roles[2] is SupportRole.DISCONFIRMING


def test_mandatory_units_fill_a_mandatory_role_and_conditional_ones_only_others() -> None:
    """R21."""
    selection = [LIMIT, RULE, OTHER]
    requirements = (
        requires("limit", claim("max", "25")),
        requires("any limit", claim("max"), mandatory=False),
        requires("rule", family("missing")),
    )

    assessment = assess(requirements, selection, snapshot=snapshot([found.facts for found in selection]), groups=())
    assert assessment.mandatory == {0}
    assert assessment.roles == (("limit", "any limit"), (), ("any limit",))


def test_units_of_one_source_each_fill_its_role() -> None:
    facts = revision("A")
    first, second = candidate(facts, "one"), candidate(facts, "two", ordinal=1, start=3)
    seen = snapshot([facts], units={revision_key("A"): 2})

    assessment = assess((requires("whole", source("A")),), [first, second], snapshot=seen, groups=())
    assert assessment.mandatory == {0, 1}
