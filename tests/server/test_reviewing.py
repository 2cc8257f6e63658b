"""Tests of `server/reviewing.py`: disputes are carried, and decided by nobody here (R33)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Principal
from evidence.canonical import digest
from evidence.identity import UnitKey
from index.catalog import Catalog
from index.records_retention import prune
from server.errors import Invalid, NotFound
from server.record_schemas import AdjudicationRequest, Evaluator, ReviewRequest, ReviewsQuery, ReviewState
from server.recording import Recorder
from server.reviewing import new_review_id, open_dispute, record_decision, reviews
from tests.builders import BLUE, NOW, instant, principal
from tests.index.catalog_builders import catalog, revision
from tests.server.recorded import HANDLE, answer, keep, recorder

EVE = principal(sub="eve", scope=["audit"])
RED = principal("red", sub="rob", scope=["audit"])
ANYWHERE = principal(None, sub="zoe", scope=["audit"])


@pytest.fixture(name="held")
def fixture_held(tmp_path: Path) -> Iterator[Catalog]:
    with catalog(tmp_path / "catalog", [revision("A", "25 MB", namespace=BLUE)]) as made:
        yield made


@pytest.fixture(name="kept_by")
def fixture_kept_by(held: Catalog) -> Iterator[Recorder]:
    made = recorder(held.directory, held)
    with made.records:
        yield made


@pytest.fixture(name="packet_id")
def fixture_packet_id(kept_by: Recorder) -> str:
    return keep(kept_by, answer(UnitKey(BLUE, "A", "1", 0)), principal())


def disputed(packet_id: str, **more: Any) -> ReviewRequest:
    fields = {"packet_id": packet_id, "handle": HANDLE, "claim": "uploads may have 30 MB", "authority": "brand-safety"}
    return ReviewRequest(**{**fields, **more})


def opened(kept_by: Recorder, body: ReviewRequest, who: Principal = EVE, *, review_id: str = "RV-1") -> dict[str, Any]:
    return open_dispute(body, who, records=kept_by.records, now=NOW, review_id=review_id)


def decided(kept_by: Recorder, state: ReviewState, who: Principal = EVE, *, review_id: str = "RV-1") -> dict[str, Any]:
    body = AdjudicationRequest(state=state, authority="brand-safety", reason="the table says so")
    return record_decision(review_id, body, who, records=kept_by.records, now=instant("2025-07-01"))


def listed(kept_by: Recorder, who: Principal = EVE, **query: Any) -> list[dict[str, Any]]:
    found: Any = reviews(ReviewsQuery(**query), who, records=kept_by.records)["reviews"]
    return list(found)


def test_a_review_takes_the_passages_identity_from_the_packets_own_record(kept_by: Recorder, packet_id: str) -> None:
    review = opened(kept_by, disputed(packet_id))

    assert (review["unit_id"], review["span"], review["span_digest"]) == ("blue/A@1#0", [10, 20], "sha256:span")
    assert (review["state"], review["opened_by"], review["opened_at"]) == ("open", "eve", "2025-06-01T00:00:00Z")
    assert listed(kept_by) == [review]


def test_a_review_keeps_the_evaluators_with_their_versions_and_the_named_authority(
    kept_by: Recorder, packet_id: str
) -> None:
    evaluators = [Evaluator(name="entailment", version="2.1", verdict="contradicts")]

    review = opened(kept_by, disputed(packet_id, evaluators=evaluators, quote="25 MB", claim_type="limit"))
    assert review["evaluators"] == [{"name": "entailment", "version": "2.1", "verdict": "contradicts"}]
    assert (review["authority"], review["quote"], review["claim_type"]) == ("brand-safety", "25 MB", "limit")


@pytest.mark.parametrize("span", [[10, 20], [10, 11], [19, 20]])
def test_a_part_of_the_passage_can_be_disputed(span: list[int], kept_by: Recorder, packet_id: str) -> None:
    assert opened(kept_by, disputed(packet_id, span=span))["span"] == span


@pytest.mark.parametrize("span", [[9, 20], [10, 21], [0, 5]])
def test_a_span_outside_the_passage_is_refused(span: list[int], kept_by: Recorder, packet_id: str) -> None:
    with pytest.raises(Invalid, match=r"\$\.span: is not inside the passage's span \[10, 20\]"):
        opened(kept_by, disputed(packet_id, span=span))


def test_a_handle_that_is_not_in_the_packet_is_refused(kept_by: Recorder, packet_id: str) -> None:
    with pytest.raises(Invalid, match="is not a handle of this packet"):
        opened(kept_by, disputed(packet_id, handle="EV-0000000000000000"))


def test_another_tenants_packet_and_one_that_never_was_are_refused_alike(kept_by: Recorder, packet_id: str) -> None:
    texts = []
    for named in (packet_id, digest("never"), "no packet id"):
        with pytest.raises(NotFound) as refused:
            opened(kept_by, disputed(named), RED)
        texts.append(refused.value.detail)

    assert len(set(texts)) == 1
    assert opened(kept_by, disputed(packet_id), ANYWHERE)["opened_by"] == "zoe"


def test_a_decision_is_recorded_with_who_recorded_it_and_when(kept_by: Recorder, packet_id: str) -> None:
    opened(kept_by, disputed(packet_id))

    review = decided(kept_by, ReviewState.CONTRADICTED)
    assert review["state"] == "contradicted"
    assert review["adjudications"] == [
        {
            "state": "contradicted",
            "authority": "brand-safety",
            "reason": "the table says so",
            "recorded_by": "eve",
            "recorded_at": "2025-07-01T00:00:00Z",
        }
    ]


def test_a_later_decision_leaves_the_earlier_one_readable(kept_by: Recorder, packet_id: str) -> None:
    opened(kept_by, disputed(packet_id))
    for state in (ReviewState.SUPPORTED, ReviewState.OPEN, ReviewState.UNRESOLVED):
        review = decided(kept_by, state)

    assert [decision["state"] for decision in review["adjudications"]] == ["supported", "open", "unresolved"]
    assert [one["state"] for one in listed(kept_by, state=ReviewState.UNRESOLVED)] == ["unresolved"]


def test_only_an_auditor_of_the_tenant_or_of_all_lists_and_decides(kept_by: Recorder, packet_id: str) -> None:
    opened(kept_by, disputed(packet_id))

    assert listed(kept_by, RED) == []
    with pytest.raises(NotFound):
        decided(kept_by, ReviewState.SUPPORTED, RED)
    assert len(listed(kept_by, ANYWHERE, packet_id=packet_id)) == 1
    assert decided(kept_by, ReviewState.SUPPORTED, ANYWHERE)["state"] == "supported"


def test_reviews_are_listed_page_by_page(kept_by: Recorder, packet_id: str) -> None:
    for number in range(3):
        opened(kept_by, disputed(packet_id), review_id=f"RV-{number}")

    page = reviews(ReviewsQuery(limit=2), EVE, records=kept_by.records)
    assert page["next"] == "RV-1"
    assert [review["review_id"] for review in listed(kept_by, after="RV-1")] == ["RV-2"]


def test_a_review_outlives_the_record_of_its_packet(kept_by: Recorder, packet_id: str) -> None:
    review = opened(kept_by, disputed(packet_id))
    prune(kept_by.records, max_runs=1, oldest=instant("2030-01-01"))

    assert kept_by.records.manifest_of(packet_id) is None
    assert listed(kept_by) == [review]


def test_review_ids_tell_nothing_and_do_not_repeat() -> None:
    assert len({new_review_id() for _ in range(1000)}) == 1000


def test_a_decision_of_another_authority_than_the_review_names_is_refused(kept_by: Recorder, packet_id: str) -> None:
    opened(kept_by, disputed(packet_id, authority="brand-safety"))
    body = AdjudicationRequest(state=ReviewState.SUPPORTED, authority="marketing")

    with pytest.raises(Invalid) as refused:
        record_decision("RV-1", body, EVE, records=kept_by.records, now=NOW)
    assert refused.value.path == "$.authority"
    assert refused.value.detail == "is not who the review names to decide; allowed: brand-safety"
    assert listed(kept_by)[0]["adjudications"] == []


def test_who_a_review_names_is_not_told_to_another_tenants_auditor(kept_by: Recorder, packet_id: str) -> None:
    opened(kept_by, disputed(packet_id, authority="brand-safety"))
    body = AdjudicationRequest(state=ReviewState.SUPPORTED, authority="marketing")

    with pytest.raises(NotFound):
        record_decision("RV-1", body, RED, records=kept_by.records, now=NOW)
