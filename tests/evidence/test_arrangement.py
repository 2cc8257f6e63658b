"""Tests of `evidence/arrangement.py`: the complete selection, in which order, and what is packed together."""

from collections.abc import Sequence
from dataclasses import replace

from evidence.arrangement import Arrangement, arrange, empty
from evidence.authority_rules import NO_RULES, AuthorityRules
from evidence.duplicates import Duplicate
from evidence.envelope import Candidate
from evidence.identity import UnitKey
from evidence.packing import Block, Tier
from evidence.request import PacketRequest, Strategy
from evidence.widening import Because
from tests.builders import EXPLANATORY, candidates, claim, request, requires, retrieval
from tests.evidence.answers import holding, units_of
from tests.evidence.disputes import MANUFACTURER_FIRST, facts_of, keys, named, passages, rules, saying

PLAIN = candidates("first", "second")
MANUAL = passages(facts_of("MANUAL", claims=[("max", "25", "25")]), "Seals. ", "At most 25. ", "Filters.")


def arranged(
    selection: Sequence[Candidate],
    *others: Candidate,
    asked: PacketRequest | None = None,
    unselected: Sequence[UnitKey] = (),
    by: AuthorityRules = NO_RULES,
) -> Arrangement:
    return arrange(
        asked or request(),
        retrieval(selection, unselected=unselected),
        snapshot=holding([*selection, *others]),
        units_of=units_of([*selection, *others]),
        rules=by,
    )


def names(arrangement: Arrangement) -> list[str]:
    return named(keys(arrangement.selection))


AUTO = request(strategy=Strategy.AUTO, requirements=[requires("limit", claim("max"))])


def test_a_selection_that_nobody_contradicts_stays_as_it_was() -> None:
    found = arranged(PLAIN, saying("X", "1"))

    assert found.selection == PLAIN
    assert (found.groups, found.brought_in, found.widenings, found.duplicates) == ((), frozenset(), (), ())
    assert found.offered == (0, 1)
    assert not found.is_conflicting


def test_whoever_contradicts_a_unit_stands_beside_it() -> None:
    """R18: whatever its rank."""
    one, other = saying("A", "25"), saying("B", "30")

    found = arranged([one, *PLAIN], other)
    assert names(found) == ["A#0", "B#0", "S-1#0", "S-2#0"]
    assert named(found.brought_in) == ["B#0"]
    assert found.is_conflicting
    assert found.group_at == (found.groups[0], found.groups[0], None, None)


def test_a_conflict_that_a_rule_settles_is_no_open_one() -> None:
    """R18: both sides stay."""
    one, other = saying("A", "25", authority="manufacturer"), saying("B", "30", authority="forum")

    found = arranged([one], other, by=rules(MANUFACTURER_FIRST))
    assert names(found) == ["A#0", "B#0"]
    assert not found.is_conflicting


def test_one_open_conflict_beside_a_settled_one_is_left_to_decide() -> None:
    """R18, R19."""
    settled = [saying("A", "25", authority="manufacturer"), saying("B", "30", authority="forum")]
    still_open = [saying("C", "1", key="min"), saying("D", "2", key="min")]

    assert arranged([*settled, *still_open], by=rules(MANUFACTURER_FIRST)).is_conflicting


def test_a_group_is_one_block_and_anything_else_a_block_of_its_own() -> None:
    """R19, R21."""
    one, other = saying("A", "25"), saying("B", "30")

    assert arranged([PLAIN[0], one, PLAIN[1]], other).blocks() == (
        Block(positions=(0,), tier=Tier.BACKGROUND, roles=frozenset()),
        Block(positions=(1, 2), tier=Tier.CONFLICT, roles=frozenset()),
        Block(positions=(3,), tier=Tier.BACKGROUND, roles=frozenset()),
    )


def test_a_group_that_touches_a_mandatory_role_is_mandatory() -> None:
    """R19."""
    asked = request(requirements=[requires("limit", claim("max", "30"))])

    found = arranged([saying("A", "25")], saying("B", "30"), asked=asked)
    assert found.blocks() == (Block(positions=(0, 1), tier=Tier.MANDATORY, roles=frozenset({"limit"})),)


def test_a_duplicate_is_out_before_packing() -> None:
    """R17."""
    twice = passages(facts_of("A"), "The same. ", "The  same.", "Another.")

    found = arranged(twice)
    assert found.duplicates == (Duplicate(position=1, kept=0),)
    assert found.offered == (0, 2)
    assert [block.positions for block in found.blocks()] == [(0,), (2,)]


def test_a_document_that_auto_takes_follows_the_selection_in_text_order() -> None:
    """R36."""
    found = arranged([PLAIN[0]], *MANUAL, asked=AUTO)

    assert names(found) == ["S-1#0", "MANUAL#0", "MANUAL#1", "MANUAL#2"]
    assert [(one.because, one.role) for one in found.widenings] == [(Because.MISSING_ROLE, "limit")]
    assert found.assessment.fillers == ((2,),)
    assert found.brought_in == frozenset()


def test_a_unit_that_was_selected_keeps_its_place_and_trace_when_its_document_is_taken() -> None:
    ranked = replace(MANUAL[2], trace=PLAIN[0].trace)

    found = arranged([ranked, PLAIN[0]], *MANUAL[:2], asked=AUTO)
    assert names(found) == ["MANUAL#2", "S-1#0", "MANUAL#0", "MANUAL#1"]
    assert found.selection[0] == ranked


def test_only_auto_widens() -> None:
    for strategy in set(Strategy) - {Strategy.AUTO}:
        assert arranged([PLAIN[0]], *MANUAL, asked=replace(AUTO, strategy=strategy)).widenings == ()


def test_auto_takes_the_documents_of_a_conflict_whole() -> None:
    """R36."""
    one = passages(facts_of("A", claims=[("max", "25", "25")]), "At most 25. ", "Context of A.")
    other = passages(facts_of("B", claims=[("max", "30", "30")]), "At most 30. ", "Context of B.")

    found = arranged([one[0]], one[1], *other, asked=request(strategy=Strategy.AUTO))
    assert names(found) == ["A#0", "B#0", "A#1", "B#1"]
    assert {widening.because for widening in found.widenings} == {Because.CONFLICT}


def test_what_contradicts_a_document_that_was_taken_comes_in_too() -> None:
    """R18: conflicts are looked for again in the wider selection."""
    wide = replace(EXPLANATORY, widens=True)
    pages = passages(facts_of("A", claims=[("max", "25", "25")]), "Nothing. ", "At most 25.")
    other = saying("B", "30")

    found = arranged([pages[0]], pages[1], other, asked=request(strategy=Strategy.AUTO, query_class=wide))
    assert names(found) == ["A#0", "A#1", "B#0"]
    assert named(found.brought_in) == ["B#0"]
    assert found.is_conflicting


def test_nothing_at_all_is_an_arrangement_too() -> None:
    found = empty(AUTO, snapshot=holding([]))

    assert (found.selection, found.offered, found.blocks(), found.is_conflicting) == ((), (), (), False)
