"""Tests of `index/records_reviews.py`: disputes, and the decisions on them (R33)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence.canonical import digest
from evidence.identity import Namespace
from index.records import Records
from index.records_reviews import NewReview, adjudicate, list_reviews, open_review
from tests.index.test_records import BLUE, RED


@pytest.fixture(name="records")
def fixture_records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path) as records:
        yield records


def dispute(review_id: str, *, packet: str = "a", namespace: Namespace = BLUE) -> NewReview:
    return NewReview(review_id=review_id, packet_id=digest(packet), namespace=namespace, body={"claim": review_id})


def listed(
    records: Records,
    *,
    namespace: Namespace | None = None,
    state: str | None = None,
    packet: str | None = None,
    after: str | None = None,
    limit: int = 10,
) -> list[str]:
    packet_id = None if packet is None else digest(packet)
    found = list_reviews(records, namespace=namespace, state=state, packet_id=packet_id, after=after, limit=limit)
    return [review.review_id for review in found]


def test_an_opened_dispute_reads_back_open_and_undecided(records: Records) -> None:
    open_review(records, dispute("RV-1"))

    (kept,) = list_reviews(records, namespace=BLUE, state=None, packet_id=None, after=None, limit=10)
    assert (kept.review_id, kept.state, kept.body, kept.adjudications) == ("RV-1", "open", {"claim": "RV-1"}, ())


def test_decisions_are_added_in_order_and_the_last_one_is_the_state(records: Records) -> None:
    open_review(records, dispute("RV-1"))

    for state in ("supported", "contradicted"):
        kept = adjudicate(records, "RV-1", namespace=BLUE, state=state, body={"state": state})
    assert kept is not None
    assert kept.state == "contradicted"
    assert kept.adjudications == ({"state": "supported"}, {"state": "contradicted"})


def test_another_namespaces_dispute_cannot_be_decided_or_listed(records: Records) -> None:
    open_review(records, dispute("RV-1", namespace=RED))

    assert adjudicate(records, "RV-1", namespace=BLUE, state="supported", body={}) is None
    assert listed(records, namespace=BLUE) == []
    assert listed(records, namespace=None, state="open") == ["RV-1"]


def test_disputes_are_listed_in_the_order_they_were_opened_by_state_and_packet(records: Records) -> None:
    for review_id, packet in (("RV-3", "a"), ("RV-1", "b"), ("RV-2", "a")):
        open_review(records, dispute(review_id, packet=packet))
    adjudicate(records, "RV-3", namespace=None, state="unresolved", body={})

    assert listed(records) == ["RV-3", "RV-1", "RV-2"]
    assert listed(records, state="open") == ["RV-1", "RV-2"]
    assert listed(records, packet="a") == ["RV-3", "RV-2"]
    assert listed(records, after="RV-1") == ["RV-2"]
    assert listed(records, after="RV-9") == []
    assert listed(records, limit=1) == ["RV-3"]


def test_after_cannot_name_a_dispute_of_another_namespace(records: Records) -> None:
    """Else its place in the order would tell that it is there."""
    open_review(records, dispute("RV-1", namespace=RED))
    open_review(records, dispute("RV-2"))

    assert listed(records, namespace=BLUE, after="RV-1") == []
