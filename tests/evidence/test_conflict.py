"""Which evidence is in conflict, what it brings in, and who decides (R8, R18, R19)."""

import random
from typing import Never

from evidence.authority_rules import NO_RULES
from evidence.conflict import find_conflicts
from evidence.eligibility import Filter
from evidence.envelope import Candidate
from evidence.identity import RevisionKey, UnitKey
from evidence.revision import ConflictSide
from evidence.state import Reason
from tests.builders import BLUE, RED, candidate, eligibility, principal, revision
from tests.evidence.disputes import (
    MANUFACTURER_FIRST,
    conflicts,
    contradicting,
    facts_of,
    groups,
    keys,
    named,
    passages,
    rules,
    saying,
    seen,
)


def test_units_that_make_one_claim_with_different_values_are_in_conflict() -> None:
    found = conflicts([saying("A", "25"), saying("B", "30")])

    assert groups(found) == [["A#0", "B#0"]]
    assert found.groups[0].keys == ("max",)
    assert found.groups[0].is_open


def test_the_same_value_in_another_spelling_is_no_conflict() -> None:
    """R18: compared after NFC and trim."""
    assert groups(conflicts([saying("A", "caf\u00e9"), saying("B", " cafe\u0301 ")])) == []


def test_another_claim_with_another_value_is_no_conflict() -> None:
    found = conflicts([saying("A", "25"), saying("B", "30", key="min")])

    assert groups(found) == []


def test_equal_or_similar_text_is_never_a_conflict() -> None:
    """R18: not similarity, rank or date."""
    older = candidate(revision("A", effective_from="2020-01-01"), "at most 25", rank=1)
    newer = candidate(revision("B", effective_from="2025-01-01"), "at most 30", rank=2)

    assert groups(conflicts([older, newer])) == []


def test_neither_rank_nor_date_settles_a_conflict() -> None:
    """R18."""
    best = candidate(revision("A", claims={"max": "25"}, effective_from="2025-01-01"), "at most 25", rank=1)
    worst = candidate(revision("B", claims={"max": "30"}, effective_from="2020-01-01"), "at most 30", rank=9)

    found = conflicts([best, worst])
    assert found.groups[0].settlement is None
    assert [found.groups[0].reason(unit) for unit in found.groups[0].members] == [Reason.CONFLICTING] * 2


def test_the_partner_of_a_selected_unit_is_brought_in_whatever_its_rank() -> None:
    partner = saying("Z", "30")

    found = conflicts([saying("A", "25")], partner)
    assert named(keys(found.selection)) == ["A#0", "Z#0"]
    assert found.brought_in == {partner.unit.key}


def test_only_the_unit_that_owns_the_claim_comes_in() -> None:
    """R18: a claim belongs to the unit that holds its quote."""
    facts = facts_of("B", claims=[("max", "30", "at most 30")])

    found = conflicts([saying("A", "25")], *passages(facts, "Intro. ", "So at most 30. ", "Outro: at most 30."))
    assert named(keys(found.selection)) == ["A#0", "B#1"]


def test_groups_are_transitive() -> None:
    """A and B disagree on one claim, B and C on another, C and D through a relation: one group."""
    b = passages(facts_of("B", claims=[("max", "30", "30"), ("min", "1", "1")]), "from 1 to 30")[0]
    c = saying("C", "2", key="min")
    d = saying("D", "x", key="other", contradicts=[contradicting("C")])

    found = conflicts([saying("A", "25")], b, c, d)
    assert groups(found) == [["A#0", "B#0", "C#0", "D#0"]]
    assert found.groups[0].keys == ("max", "min")


def test_units_that_agree_are_in_one_group_through_what_both_contradict() -> None:
    found = conflicts([saying("A", "25"), saying("B", "25"), saying("C", "30")])

    assert groups(found) == [["A#0", "B#0", "C#0"]]
    assert [named(side) for side in found.groups[0].disagreements[0].sides] == [["A#0", "B#0"], ["C#0"]]


def test_conflicts_that_no_selected_unit_has_a_part_in_stay_out() -> None:
    found = conflicts([saying("A", "25")], saying("X", "1", key="other"), saying("Y", "2", key="other"))

    assert groups(found) == []
    assert named(keys(found.selection)) == ["A#0"]


def test_two_claims_of_one_unit_are_no_conflict_of_its_own_but_one_with_others() -> None:
    both = saying("A", "25", "30")

    assert groups(conflicts([both])) == []
    assert groups(conflicts([both], saying("B", "25"))) == [["A#0", "B#0"]]


def test_two_units_of_one_revision_can_be_in_conflict() -> None:
    facts = facts_of("A", claims=[("max", "25", "at most 25"), ("max", "30", "at most 30")])

    first, second = passages(facts, "at most 25. ", "at most 30.")
    assert groups(conflicts([second], first)) == [["A#0", "A#1"]]


def test_members_of_a_group_stand_side_by_side_at_the_place_of_the_first() -> None:
    selection = [saying("N", "n", key="other"), saying("B", "25"), saying("M", "m", key="third"), saying("C", "30")]

    found = conflicts(selection, saying("A", "40"))
    assert named(keys(found.selection)) == ["N#0", "B#0", "C#0", "A#0", "M#0"]


def test_selected_units_of_a_group_keep_the_order_of_the_selection() -> None:
    """A broad selection is in identity order, whatever was ranked."""
    selection = [saying("B", "25"), saying("C", "30"), saying("A", "40")]

    found = conflicts(selection, ranked=keys(reversed(selection)))
    assert named(keys(found.selection)) == ["B#0", "C#0", "A#0"]


def test_units_brought_in_stand_behind_the_selected_ones_by_rank_and_then_in_identity_order() -> None:
    selected, low, high = saying("M", "1"), saying("A", "2"), saying("Z", "3")
    unranked = [saying("C", "4"), saying("B", "5")]

    found = conflicts([selected], low, high, *unranked, ranked=keys([selected, high, low]))
    assert named(keys(found.selection)) == ["M#0", "Z#0", "A#0", "B#0", "C#0"]


def test_groups_come_in_the_order_in_which_the_selection_reaches_them() -> None:
    selection = [saying("Z", "1", key="z"), saying("A", "1", key="a")]

    found = conflicts(selection, saying("Y", "2", key="z"), saying("B", "2", key="a"))
    assert groups(found) == [["Y#0", "Z#0"], ["A#0", "B#0"]]


def test_a_candidate_keeps_the_trace_that_it_was_selected_with() -> None:
    selected = candidate(revision("A", claims={"max": "25"}), "at most 25", rank=3)

    found = conflicts([selected], saying("B", "30"))
    assert found.selection[0] is selected


def test_what_is_invisible_is_in_no_conflict() -> None:
    """R8: neither its claims, nor a relation that it declares, nor one that points at it."""
    mine = saying("A", "25", contradicts=[contradicting("H", namespace=RED)])
    hidden = saying("H", "30", namespace=RED, contradicts=[contradicting("A", namespace=BLUE)])

    found = conflicts([mine], hidden)
    assert groups(found) == []
    assert found == conflicts([mine])


def test_what_is_visible_to_one_is_no_partner_for_another() -> None:
    """R8: the same catalog, two callers."""
    mine, theirs = saying("A", "25", namespace="public"), saying("B", "30", namespace=RED)

    assert groups(conflicts([mine], theirs)) == []
    assert groups(conflicts([mine], theirs, asked=eligibility(principal(RED)))) == [["A#0", "B#0"]]


def test_what_is_not_usable_is_in_no_conflict() -> None:
    """R18: a stale revision, or one that the caller's filter leaves out, is no partner."""
    stale = candidate(revision("B", claims={"max": "30"}, effective_to="2020-01-01"), "at most 30")
    filtered = saying("C", "40", family="other")
    selected = saying("A", "25", family="policy")

    asked = eligibility(only=Filter(family=("policy", "")))
    assert groups(conflicts([selected], stale, filtered, asked=asked)) == []
    assert groups(conflicts([selected], stale, filtered)) == [["A#0", "C#0"]]


def test_the_id_of_a_group_names_its_members_and_nothing_else() -> None:
    one = conflicts([saying("A", "25"), saying("B", "30")]).groups[0]
    turned = conflicts([saying("B", "31")], saying("A", "26"), saying("N", "n", key="other")).groups[0]
    larger = conflicts([saying("A", "25"), saying("B", "30"), saying("C", "40")]).groups[0]

    assert one.id.startswith("CG-")
    assert len(one.id) == 19
    assert one.id == turned.id
    assert one.id != larger.id


def test_the_owner_of_the_family_is_named_and_else_the_owners_of_the_members() -> None:
    """R18."""
    pair = [
        saying("A", "25", owner="ann", family="bulletin"),
        saying("B", "30", owner="bob", family="bulletin"),
        saying("C", "40", family="note"),
    ]

    assert conflicts(pair).groups[0].owners == ("ann", "bob")
    assert conflicts(pair, by=rules(family_owners={"bulletin": "safety"})).groups[0].owners == ("safety",)
    assert conflicts(pair, by=rules(family_owners={"note": "desk"})).groups[0].owners == ("ann", "bob", "desk")


def test_a_rule_settles_a_group_and_both_sides_stay() -> None:
    """R18."""
    found = conflicts(
        [saying("A", "25", authority="dealer")],
        saying("B", "30", authority="manufacturer"),
        by=rules(MANUFACTURER_FIRST),
    )

    group = found.groups[0]
    assert named(keys(found.selection)) == ["A#0", "B#0"]
    assert not group.is_open
    assert [group.reason(unit) for unit in group.members] == [Reason.OVERRULED, Reason.INCLUDED]


def test_a_group_that_no_rule_is_about_stays_open_beside_one_that_is_settled() -> None:
    found = conflicts(
        [
            saying("A", "25", authority="dealer"),
            saying("B", "30", authority="manufacturer"),
            saying("C", "1", key="min"),
            saying("D", "2", key="min"),
        ],
        by=rules(MANUFACTURER_FIRST),
    )

    assert [group.is_open for group in found.groups] == [False, True]


def test_an_overruled_unit_loses_what_it_disagrees_on_and_keeps_its_other_claims() -> None:
    loser = passages(facts_of("A", claims=[("max", "25", "25"), ("min", "1", "1")], authority="dealer"), "1 to 25")[0]

    group = conflicts([loser], saying("B", "30", authority="manufacturer"), by=rules(MANUFACTURER_FIRST)).groups[0]
    assert group.overrules(loser.unit.key, "max")
    assert not group.overrules(loser.unit.key, "min")
    assert not group.overrules(UnitKey(BLUE, "B", "1", 0), "max")


def test_a_unit_that_is_overruled_by_a_relation_without_a_claim_loses_all_it_claims() -> None:
    loser = saying("A", "25", authority="dealer")
    winner = saying("B", "x", key="other", authority="manufacturer", contradicts=[contradicting("A")])

    group = conflicts([loser], winner, by=rules(MANUFACTURER_FIRST)).groups[0]
    assert group.overrules(loser.unit.key, "max")


def test_nobody_is_overruled_in_an_open_group() -> None:
    group = conflicts([saying("A", "25"), saying("B", "30")]).groups[0]

    assert not any(group.overrules(unit, "max") for unit in group.members)


def test_the_record_names_members_sides_owners_and_what_a_rule_decided() -> None:
    pair = [saying("A", "25", authority="dealer", owner="ann"), saying("B", "30", authority="manufacturer")]
    decided = {"rule": "manufacturer-first", "rules": "house", "version": "3"}

    record = conflicts(pair, by=rules(MANUFACTURER_FIRST)).groups[0].record()
    assert record == {
        "id": conflicts(pair).groups[0].id,
        "members": ["blue/A@1#0", "blue/B@1#0"],
        "keys": ["max"],
        "disagreements": [{"keys": ["max"], "sides": [["blue/A@1#0"], ["blue/B@1#0"]]}],
        "owners": ["ann"],
        "resolution": {**decided, "prevails": ["blue/B@1#0"], "overruled": ["blue/A@1#0"]},
    }
    assert conflicts(pair).groups[0].record()["resolution"] is None


def test_a_packet_shows_a_group_by_the_handles_of_its_members_in_the_order_of_the_evidence() -> None:
    pair = [saying("B", "30", authority="manufacturer"), saying("A", "25", authority="dealer", owner="ann")]
    handles = dict(
        zip([UnitKey(BLUE, "N", "1", 0), pair[0].unit.key, pair[1].unit.key], ["EV-n", "EV-b", "EV-a"], strict=True)
    )

    group = conflicts(pair, by=rules(MANUFACTURER_FIRST)).groups[0]
    assert group.shown(handles) == {
        "id": group.id,
        "handles": ["EV-b", "EV-a"],
        "key": "max",
        "keys": ["max"],
        "owners": ["ann"],
        "resolution": {
            "rule": "manufacturer-first",
            "rules": "house",
            "version": "3",
            "prevails": ["EV-b"],
            "overruled": ["EV-a"],
        },
    }


def test_a_group_that_was_left_out_whole_is_still_shown() -> None:
    """R19."""
    relation = [contradicting("B", here=ConflictSide(quote="A says"))]

    shown = (
        conflicts([saying("A", "25", contradicts=relation), saying("B", "x", key="y", owner="bob")]).groups[0].shown({})
    )
    assert (shown["handles"], shown["left_out"]) == ([], True)
    assert (shown["key"], shown["keys"], shown["owners"], shown["resolution"]) == (None, [], ["bob"], None)


def test_the_members_of_a_group_are_in_identity_order_and_arranged_as_the_selection_is() -> None:
    """R11."""
    found = conflicts([saying("B", "30"), saying("N", "n", key="other"), saying("C", "40")], saying("A", "25"))

    group = found.groups[0]
    assert named(group.members) == ["A#0", "B#0", "C#0"]
    assert named(group.arranged) == ["B#0", "C#0", "A#0"]
    assert named(keys(found.selection))[:3] == named(group.arranged)


def test_a_group_is_shown_by_looking_up_its_own_members_and_nothing_else() -> None:
    """However many units the packet holds: it is shown anew for each packet that is measured."""
    group = conflicts([saying("A", "25"), saying("B", "30")]).groups[0]
    asked: list[object] = []

    class Handles(dict[UnitKey, str]):
        def __contains__(self, unit: object) -> bool:
            asked.append(unit)
            return super().__contains__(unit)

        def items(self) -> Never:
            raise AssertionError("every unit of the packet was gone through")

    assert group.shown(Handles({group.members[1]: "EV-b"}))["handles"] == ["EV-b"]
    assert asked == list(group.members)


def test_who_is_in_a_group_does_not_depend_on_the_order_of_the_selection() -> None:
    selection = [saying(f"S-{number}", str(number % 4), key=f"k{number % 3}") for number in range(12)]
    expected = sorted(groups(conflicts(selection)))
    shuffled = random.Random(7).sample(selection, k=len(selection))

    assert len(expected) == 3
    assert sorted(groups(conflicts(shuffled))) == expected


def test_a_large_disagreement_is_worked_out_once() -> None:
    """Cost grows with the number of units, not of pairs: 2,000 units that all say something else, read once each."""
    everything = {candidate.facts.key: candidate for candidate in (saying(f"S-{n}", str(n)) for n in range(2000))}
    read: list[RevisionKey] = []

    def units_of(key: RevisionKey) -> list[Candidate]:
        read.append(key)
        return [everything[key]]

    found = find_conflicts(
        tuple(everything.values()), ranked=[], snapshot=seen(everything.values()), units_of=units_of, rules=NO_RULES
    )
    assert len(found.groups[0].members) == 2000
    assert len(read) == 2000
