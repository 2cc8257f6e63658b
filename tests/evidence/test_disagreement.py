"""What makes a disagreement: differing claims, and declared relations (R18)."""

from collections.abc import Sequence

from evidence.disagreement import Disagreements
from evidence.eligibility import Use
from evidence.envelope import Candidate
from evidence.identity import RevisionKey, UnitKey
from evidence.revision import ConflictSide, Status
from tests.builders import candidate, eligibility, revision
from tests.evidence.disputes import contradicting, facts_of, keys, named, passages, saying, seen

HERE = facts_of("A", contradicts=[contradicting("B")])


def sides(
    of: Candidate, *others: Candidate, ranked: Sequence[UnitKey] = (), use: Use = Use.CURRENT
) -> list[list[list[str]]]:
    """The sides of each disagreement that `of` takes part in, in a catalog of it and the others."""
    everything = sorted([of, *others], key=lambda found: found.unit.key)

    def units_of(key: RevisionKey) -> list[Candidate]:
        return [found for found in everything if found.facts.key == key]

    snapshot = seen(everything, asked=eligibility(use=use))
    found = Disagreements(ranked=ranked, snapshot=snapshot, units_of=units_of).of(of)
    return [[named(side) for side in disagreement.sides] for disagreement in found]


def test_a_claim_divides_its_units_by_value_in_code_point_order() -> None:
    first = saying("A", "9")

    assert sides(first, saying("C", "25"), saying("B", " 9"), saying("D", "x")) == [[["C#0"], ["A#0", "B#0"], ["D#0"]]]


def test_units_are_read_only_where_usable_revisions_differ() -> None:
    """A claim that many sources make alike costs nothing, even where a stale revision said something else."""
    here, alike = saying("A", "25"), saying("B", " 25")
    stale = revision("C", claims={"max": "30"}, status=Status.SUPERSEDED)

    def units_of(key: RevisionKey) -> list[Candidate]:
        raise AssertionError(f"read {key}")

    snapshot = seen([here, alike], beside=[stale])
    assert list(Disagreements(ranked=[], snapshot=snapshot, units_of=units_of).of(here)) == []


def test_a_unit_with_two_claims_takes_part_in_both() -> None:
    both = passages(facts_of("A", claims=[("min", "1", "1"), ("max", "25", "25")]), "1 to 25")[0]

    assert sides(both, saying("B", "30"), saying("C", "2", key="min")) == [
        [["A#0"], ["B#0"]],
        [["A#0"], ["C#0"]],
    ]


def test_a_relation_without_sides_joins_the_best_ranked_unit_of_each() -> None:
    here, there = passages(HERE, "one ", "two ", "three"), passages(facts_of("B"), "one ", "two ", "three")

    ranked = keys([there[2], here[1], there[0], here[0]])
    assert sides(here[1], *here[:1], here[2], *there, ranked=ranked) == [[["A#1"], ["B#2"]]]
    assert sides(here[0], *here[1:], *there, ranked=ranked) == []


def test_where_nothing_of_a_side_was_ranked_a_relation_joins_its_first_unit() -> None:
    here, there = passages(HERE, "one ", "two"), passages(facts_of("B"), "one ", "two")

    assert sides(here[0], here[1], *there) == [[["A#0"], ["B#0"]]]


def test_a_relation_is_found_from_both_of_its_ends() -> None:
    here, there = passages(HERE, "one")[0], passages(facts_of("B"), "two")[0]

    assert sides(here, there) == sides(there, here) == [[["A#0"], ["B#0"]]]


def test_a_relation_may_name_a_claim_or_a_quote_on_each_side() -> None:
    relation = contradicting("B", here=ConflictSide(claim="max"), there=ConflictSide(quote="up to thirty"))
    here = passages(facts_of("A", claims=[("max", "25", "25")], contradicts=[relation]), "Intro. ", "At most 25.")
    there = passages(facts_of("B"), "Intro. ", "Well, up to thirty. ", "Yes, up to thirty.")

    assert sides(here[1], here[0], *there) == [[["A#1"], ["B#1"]]]


def test_the_keys_of_a_relation_are_the_claims_that_it_names() -> None:
    relation = contradicting("B", here=ConflictSide(claim="max"), there=ConflictSide(claim="limit"))
    here = saying("A", "25", contradicts=[relation])
    everything = {found.facts.key: [found] for found in (here, saying("B", "30", key="limit"))}

    snapshot = seen(found for units in everything.values() for found in units)
    found = Disagreements(ranked=[], snapshot=snapshot, units_of=lambda key: everything[key]).of(here)
    assert [disagreement.keys for disagreement in found] == [("limit", "max")]


def test_a_quote_of_another_source_may_take_two_units_to_hold_it() -> None:
    """The other source was cut into units without knowing of the quote."""
    here = passages(facts_of("A", contradicts=[contradicting("B", there=ConflictSide(quote="to thirty"))]), "one")[0]
    there = passages(facts_of("B"), "Intro. ", "Well, up to ", "thirty. ", "Outro.")

    assert sides(here, *there) == [[["A#0"], ["B#1", "B#2"]]]


def test_a_relation_to_what_is_not_there_joins_nothing() -> None:
    there = passages(facts_of("B"), "something else")[0]

    for gone in (ConflictSide(quote="up to thirty"), ConflictSide(claim="max")):
        here = passages(facts_of("A", contradicts=[contradicting("B", there=gone)]), "one")[0]
        assert sides(here, there) == []
    assert sides(passages(HERE, "one")[0]) == []


def test_a_relation_that_a_stale_revision_declares_counts_for_nothing() -> None:
    stale = candidate(revision("A", contradicts=[contradicting("B")], status=Status.SUPERSEDED), "one")
    there = passages(facts_of("B"), "two")[0]

    assert sides(there, stale) == []


def test_a_relation_means_any_usable_revision_of_the_other_source() -> None:
    """Used for history, both revisions are usable: the better ranked one is meant."""
    here = passages(HERE, "one")[0]
    old, new = (candidate(revision("B", number), "text") for number in ("1", "2"))

    assert sides(here, old, new) == [[["A#0"], ["B#0"]]]
    assert sides(old, here, new) == []
    assert sides(new, here, old) == [[["A#0"], ["B#0"]]]
    assert sides(old, here, new, use=Use.HISTORICAL, ranked=keys([old])) == [[["A#0"], ["B#0"]]]
    assert sides(new, here, old, use=Use.HISTORICAL, ranked=keys([old])) == []


def test_a_source_may_contradict_itself_where_it_says_where() -> None:
    relation = contradicting("A", here=ConflictSide(quote="always"), there=ConflictSide(quote="never"))

    first, second = passages(facts_of("A", contradicts=[relation]), "It is always so. ", "It is never so.")
    assert sides(first, second) == [[["A#0"], ["A#1"]]]
    only = passages(facts_of("A", contradicts=[relation]), "It is always so, or never.")[0]
    assert sides(only) == []
