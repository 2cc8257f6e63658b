"""Conflict groups against the definition of R18, tried out pair by pair, over catalogs made by chance."""

import itertools
from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from evidence.claim_value import plain_value
from evidence.envelope import Candidate
from evidence.identity import UnitKey
from evidence.revision import ConflictSide
from tests.builders import BLUE, RED
from tests.evidence.disputes import conflicts, contradicting, facts_of, keys, passages

SOURCES = [(BLUE, "A"), (BLUE, "B"), (BLUE, "C"), (BLUE, "D"), (RED, "A"), (RED, "E")]
VALUES = ["1", " 1", "2"]

claims = st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from(VALUES), st.integers(0, 2)), max_size=3)
sides = st.one_of(st.none(), st.builds(lambda key: ConflictSide(claim=key), st.sampled_from("xyz")), st.integers(0, 3))
relations = st.lists(st.tuples(st.sampled_from(SOURCES), sides, sides), max_size=2)


def _side(said: ConflictSide | int | None, source_id: str) -> ConflictSide | None:
    """A number stands for the quote of that passage; the passage 3 does not exist."""
    return ConflictSide(quote=_passage(source_id, said)) if isinstance(said, int) else said


def _passage(source_id: str, ordinal: int) -> str:
    return f"[{source_id}{ordinal}]"


@st.composite
def catalogs(draw: st.DrawFn) -> list[Candidate]:
    """Sources of three passages each, with claims in any of them and relations to any source but their own."""
    found: list[Candidate] = []
    for namespace, source_id in draw(st.lists(st.sampled_from(SOURCES), unique=True, min_size=1)):
        facts = facts_of(
            source_id,
            namespace=namespace,
            claims=[(key, value, _passage(source_id, ordinal)) for key, value, ordinal in draw(claims)],
            contradicts=[
                contradicting(target, namespace=of, here=_side(here, source_id), there=_side(there, target))
                for (of, target), here, there in draw(relations)
                if (of, target) != (namespace, source_id)
            ],
        )
        found.extend(passages(facts, *(f"{_passage(source_id, ordinal)} " for ordinal in range(3))))
    return found


def by_definition(usable: Sequence[Candidate], ranked: Sequence[UnitKey]) -> set[frozenset[UnitKey]]:
    """Every two usable units compared, and what hangs together joined. Single units are left away."""
    joined: dict[UnitKey, set[UnitKey]] = {candidate.unit.key: {candidate.unit.key} for candidate in usable}
    for one, other in itertools.combinations(usable, 2):
        if _claims_differ(one, other) or _related(one, other, usable, ranked):
            merged = joined[one.unit.key] | joined[other.unit.key]
            for unit in merged:
                joined[unit] = merged
    return {frozenset(units) for units in joined.values() if len(units) > 1}


def _claims_differ(one: Candidate, other: Candidate) -> bool:
    return any(
        mine.key == theirs.key and plain_value(mine.value) != plain_value(theirs.value)
        for mine in one.claims
        for theirs in other.claims
    )


def _related(one: Candidate, other: Candidate, usable: Sequence[Candidate], ranked: Sequence[UnitKey]) -> bool:
    return any(
        relation.source_id == there.facts.key.source_id
        and relation.namespace == there.facts.key.namespace
        and _is_meant(here, relation.here, usable, ranked)
        and _is_meant(there, relation.there, usable, ranked)
        for here, there in ((one, other), (other, one))
        for relation in here.facts.contradicts
    )


def _is_meant(
    candidate: Candidate, side: ConflictSide | None, usable: Sequence[Candidate], ranked: Sequence[UnitKey]
) -> bool:
    if side is None:
        siblings = keys(sibling for sibling in usable if sibling.facts.key == candidate.facts.key)
        best = [unit for unit in ranked if unit in siblings] + sorted(siblings)
        return candidate.unit.key == best[0]
    if side.claim is not None:
        return side.claim in {claim.key for claim in candidate.claims}
    return side.quote is not None and side.quote in candidate.unit.text


def _visible(catalog: Iterable[Candidate]) -> list[Candidate]:
    return [candidate for candidate in catalog if candidate.facts.key.namespace == BLUE]


def _select(data: st.DataObject, usable: Sequence[Candidate]) -> tuple[list[Candidate], list[UnitKey]]:
    """A ranking of some usable units, and its best ones."""
    ranked = data.draw(st.permutations(usable))[: data.draw(st.integers(0, len(usable)))]
    return ranked[: data.draw(st.integers(0, 4))], keys(ranked)


@given(catalog=catalogs(), data=st.data())
def test_groups_are_what_the_definition_says(catalog: list[Candidate], data: st.DataObject) -> None:
    usable = _visible(catalog)
    selection, ranked = _select(data, usable)
    touched = {group for group in by_definition(usable, ranked) if not group.isdisjoint(keys(selection))}

    found = conflicts(selection, *catalog, ranked=ranked)
    assert {frozenset(group.members) for group in found.groups} == touched
    assert set(keys(found.selection)) == set(keys(selection)).union(*touched)
    assert found.brought_in == set(keys(found.selection)) - set(keys(selection))


@given(catalog=catalogs(), data=st.data())
def test_an_invisible_member_changes_nothing(catalog: list[Candidate], data: st.DataObject) -> None:
    """R6, R8: byte for byte the answer of a catalog that never held it."""
    selection, ranked = _select(data, _visible(catalog))

    full = conflicts(selection, *catalog, ranked=ranked)
    assert full == conflicts(selection, *_visible(catalog), ranked=ranked)


@given(catalog=catalogs(), data=st.data())
def test_the_order_in_which_the_catalog_gives_its_units_changes_nothing(
    catalog: list[Candidate], data: st.DataObject
) -> None:
    selection, ranked = _select(data, _visible(catalog))
    shuffled = data.draw(st.permutations(catalog))

    assert conflicts(selection, *shuffled, ranked=ranked) == conflicts(selection, *catalog, ranked=ranked)


@given(catalog=catalogs(), data=st.data())
def test_groups_stand_together_and_everything_else_keeps_its_order(
    catalog: list[Candidate], data: st.DataObject
) -> None:
    selection, ranked = _select(data, _visible(catalog))

    found = conflicts(selection, *catalog, ranked=ranked)
    arranged, before = keys(found.selection), keys(selection)
    for group in found.groups:
        first = arranged.index(next(unit for unit in arranged if unit in group.members))
        assert set(arranged[first : first + len(group.members)]) == set(group.members)
    firsts = [unit for unit in before if not any(unit in group.members for group in found.groups)]
    assert [unit for unit in arranged if unit in firsts] == firsts


@given(catalog=catalogs(), data=st.data())
def test_each_disagreement_of_a_group_has_two_sides_and_no_one_but_its_members(
    catalog: list[Candidate], data: st.DataObject
) -> None:
    selection, ranked = _select(data, _visible(catalog))

    for group in conflicts(selection, *catalog, ranked=ranked).groups:
        assert group.disagreements
        assert set().union(*(disagreement.members for disagreement in group.disagreements)) == set(group.members)
        assert all(len(disagreement.sides) >= 2 for disagreement in group.disagreements)
