"""What a requirement names, and what meets it (R20)."""

from collections.abc import Sequence

import pytest

from evidence.envelope import Candidate
from evidence.identity import PUBLIC, RevisionKey, SourceKey
from evidence.requirements import (
    Match,
    SourceMatch,
    UnitMatch,
    is_disconfirmed_by,
    is_filled_by,
    is_filled_outside,
    matching_revisions,
    resolve_source,
)
from evidence.revision import Status
from tests.builders import BLUE, RED, candidate, claim, family, revision, revision_key, snapshot, source, unit_of
from tests.evidence.disputes import facts_of, passages, seen

LIMIT = candidate(revision("A", family="policy", claims={"max": "25"}), "at most 25")


@pytest.mark.parametrize(
    "match",
    [claim("max"), claim("max", "25"), claim("max", " 25\n"), family("policy"), source("A"), unit_of(LIMIT)],
)
def test_a_unit_fills_a_role_by_claim_family_source_or_id(match: Match) -> None:
    assert is_filled_by(match, LIMIT)


@pytest.mark.parametrize(
    "match",
    [
        claim("min"),
        claim("max", "26"),
        claim("Max"),
        family("bulletin"),
        family(""),
        source("B"),
        source("A", namespace="public"),
        source("A", namespace=RED),
        UnitMatch(unit_id="blue/A@1#1"),
        UnitMatch(unit_id="public/A@1#0"),
        UnitMatch(unit_id="no unit id"),
    ],
)
def test_anything_else_does_not_fill_it(match: Match) -> None:
    assert not is_filled_by(match, LIMIT)


def test_a_claim_of_the_revision_that_another_unit_owns_fills_nothing() -> None:
    """R18."""
    elsewhere = candidate(revision("A", claims={"max": "25"}, quote="at most 25"), "another passage")

    assert not is_filled_by(claim("max"), elsewhere)


def test_the_empty_family_is_no_family() -> None:
    assert not is_filled_by(family(""), candidate(revision("A"), "x"))
    assert list(matching_revisions(family(""), snapshot([revision("A")]))) == []


def test_the_same_claim_with_another_value_disconfirms() -> None:
    """R20."""
    assert is_disconfirmed_by(claim("max", "26"), LIMIT)


@pytest.mark.parametrize("match", [claim("max"), claim("max", "25"), claim("min", "26"), family("policy")])
def test_nothing_else_disconfirms(match: Match) -> None:
    assert not is_disconfirmed_by(match, LIMIT)


def matching(match: Match, *found: tuple[str, str], units: dict[RevisionKey, int] | None = None) -> list[str]:
    """The matching revisions among `found`: pairs of source and family, each with the claim max=25."""
    facts = [revision(name, family=of, claims={"max": "25"}) for name, of in found]
    return [key.source_id for key in matching_revisions(match, snapshot(facts, units=units))]


def test_matching_revisions_come_in_key_order() -> None:
    catalog = [("C", "policy"), ("A", "policy"), ("B", "")]

    assert matching(claim("max"), *catalog) == ["A", "B", "C"]
    assert matching(claim("max", "25"), *catalog) == ["A", "B", "C"]
    assert matching(claim("max", "26"), *catalog) == []
    assert matching(family("policy"), *catalog) == ["A", "C"]
    assert matching(source("B"), *catalog) == ["B"]
    assert matching(UnitMatch(unit_id="blue/B@1#0"), *catalog) == ["B"]


def test_a_revision_without_a_unit_matches_nothing() -> None:
    empty = {revision_key("A"): 0}

    assert matching(family("policy"), ("A", "policy"), units=empty) == []
    assert matching(source("A"), ("A", "policy"), units=empty) == []
    assert matching(UnitMatch(unit_id="blue/A@1#0"), ("A", "policy"), units=empty) == []


def test_a_unit_id_beyond_the_last_unit_matches_nothing() -> None:
    two = {revision_key("A"): 2}

    assert matching(UnitMatch(unit_id="blue/A@1#1"), ("A", ""), units=two) == ["A"]
    assert matching(UnitMatch(unit_id="blue/A@1#2"), ("A", ""), units=two) == []


def test_what_is_invisible_matches_like_what_does_not_exist() -> None:
    """R1, R7."""
    hidden = snapshot([revision("A", namespace=RED, family="policy", claims={"max": "25"})])

    for match in (claim("max"), family("policy"), source("A", namespace=RED), UnitMatch(unit_id="red/A@1#0")):
        assert list(matching_revisions(match, hidden)) == []


def outside(match: Match, *selection: Candidate, catalog: Sequence[Candidate]) -> bool:
    """Whether a usable unit of `catalog` that is not selected fills the role."""
    return is_filled_outside(selection, match, seen(catalog))


def test_a_role_is_filled_outside_the_selection_by_a_unit_that_is_not_in_it() -> None:
    """R20: a usable unit exists, and is not there."""
    facts = facts_of("A", claims=[("max", "25", "25"), ("max", "30", "30")], family="policy")
    first, second = catalog = passages(facts, "at most 25 ", "or 30")

    for match in (claim("max"), claim("max", "30"), family("policy"), source("A"), unit_of(second)):
        assert outside(match, first, catalog=catalog)
        assert not outside(match, first, second, catalog=catalog)
    for match in (claim("max", "25"), unit_of(first)):
        assert not outside(match, first, catalog=catalog)


def test_what_is_stale_or_invisible_fills_no_role_outside() -> None:
    """R8."""
    stale = candidate(revision("A", claims={"max": "25"}, status=Status.SUPERSEDED), "text")
    hidden = candidate(revision("B", namespace=RED, claims={"max": "25"}), "text")

    assert not outside(claim("max"), catalog=[stale, hidden])
    assert not outside(source("A"), catalog=[stale, hidden])


def test_a_source_id_means_the_callers_own_namespace_unless_public_is_said() -> None:
    assert resolve_source("A", public=False, own=BLUE) == SourceKey(BLUE, "A")
    assert resolve_source("A", public=True, own=BLUE) == SourceKey(PUBLIC, "A")


def test_the_normalized_record_of_a_match_is_that_of_the_contract() -> None:
    assert claim("max").record() == {"claim": "max", "value": None}
    assert family("policy").record() == {"family": "policy"}
    assert SourceMatch(source=SourceKey(PUBLIC, "A")).record() == {"source_id": "A", "public": True}
    assert UnitMatch(unit_id="blue/A@1#0").record() == {"unit_id": "blue/A@1#0"}
