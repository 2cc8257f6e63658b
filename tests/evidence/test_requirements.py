"""What a requirement names, and what meets it (R20)."""

import pytest

from evidence.identity import PUBLIC, RevisionKey, SourceKey
from evidence.requirements import (
    Match,
    SourceMatch,
    UnitMatch,
    is_disconfirmed_by,
    is_filled_by,
    matching_revisions,
    resolve_source,
    same_value,
)
from tests.builders import BLUE, RED, candidate, claim, family, revision, revision_key, snapshot, source, unit_of

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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("25", " 25\t", True),
        ("caf\u00e9", "cafe\u0301", True),  # NFC
        ("25", "25.0", False),
        ("Yes", "yes", False),
        ("\ufb01", "fi", False),  # NFKC would make them equal
        ("a b", "ab", False),
    ],
)
def test_values_are_compared_after_nfc_and_trim_and_in_no_other_way(one: str, other: str, same: bool) -> None:
    """R18."""
    assert same_value(one, other) is same


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


def test_a_source_id_means_the_callers_own_namespace_unless_public_is_said() -> None:
    assert resolve_source("A", public=False, own=BLUE) == SourceKey(BLUE, "A")
    assert resolve_source("A", public=True, own=BLUE) == SourceKey(PUBLIC, "A")


def test_the_normalized_record_of_a_match_is_that_of_the_contract() -> None:
    assert claim("max").record() == {"claim": "max", "value": None}
    assert family("policy").record() == {"family": "policy"}
    assert SourceMatch(source=SourceKey(PUBLIC, "A")).record() == {"source_id": "A", "public": True}
    assert UnitMatch(unit_id="blue/A@1#0").record() == {"unit_id": "blue/A@1#0"}
