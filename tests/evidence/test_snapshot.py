"""What a caller's catalog holds: found by name, stale or usable."""

from dataclasses import replace

from evidence.eligibility import Filter
from evidence.identity import Namespace, SourceKey
from evidence.revision import ConflictSide, Status
from evidence.snapshot import index_visible
from tests.builders import eligibility, revision, revision_key, snapshot
from tests.evidence.disputes import contradicting


def test_revisions_are_found_by_source_family_and_claim_in_key_order() -> None:
    visible = index_visible(
        [
            revision("B", family="policy", claims={"max": "25"}),
            revision("A", "2", family="policy"),
            revision("A", "1", claims={"max": "10", "min": "1"}),
        ]
    )

    assert visible.by_source[SourceKey(Namespace("blue"), "A")] == (revision_key("A", "1"), revision_key("A", "2"))
    assert visible.by_family == {"policy": (revision_key("A", "2"), revision_key("B"))}
    assert visible.by_claim == {
        "max": (revision_key("A", "1"), revision_key("B")),
        "min": (revision_key("A", "1"),),
    }


def test_a_revision_that_makes_a_claim_twice_is_found_once() -> None:
    once = revision("A", claims={"max": "25"})
    twice = replace(once, claims=once.claims * 2)

    assert index_visible([twice]).by_claim["max"] == (twice.key,)


def test_a_claim_is_disputed_where_visible_revisions_give_it_different_values() -> None:
    """R18: after NFC and trim."""
    visible = index_visible(
        [
            revision("A", claims={"max": "25", "min": "1", "name": "caf\u00e9"}),
            revision("B", claims={"max": "30", "min": " 1", "name": "cafe\u0301"}),
        ]
    )

    assert visible.disputed_claims == {"max"}


def test_who_contradicts_a_source_is_found_by_that_source_in_key_order() -> None:
    relations = [contradicting("S"), contradicting("S", here=ConflictSide(claim="max")), contradicting("T")]
    visible = index_visible([revision("B", contradicts=relations), revision("A", contradicts=relations[:1])])

    assert visible.contradicted_by == {
        SourceKey(Namespace("blue"), "S"): (revision_key("A"), revision_key("B")),
        SourceKey(Namespace("blue"), "T"): (revision_key("B"),),
    }


def test_out_of_date_and_revoked_are_stale_and_filtered_out_is_not() -> None:
    """A filter or a subject is the caller's own choice: it makes nothing stale evidence."""
    seen = snapshot(
        [
            revision("A", status=Status.SUPERSEDED),
            revision("B", status=Status.REVOKED),
            revision("C", applies_to=["k1"]),
            revision("D", family="other"),
            revision("E", family="policy"),
        ],
        asked=eligibility(subject="k2", only=Filter(family=("policy",))),
    )

    assert [key.source_id for key in seen.standings if seen.is_stale(key)] == ["A", "B"]
    assert [key.source_id for key in seen.standings if seen.is_usable(key)] == ["E"]


def test_a_revision_that_is_not_visible_is_neither_usable_nor_stale() -> None:
    """R8."""
    seen = snapshot([revision("A", namespace="red")])

    assert not seen.is_usable(revision_key("A", namespace="red"))
    assert not seen.is_stale(revision_key("A", namespace="red"))
