"""Tests of `evidence/sealed.py`: what an auditor's record holds, and who reads which part of it."""

from evidence.canonical import canonical, digest
from evidence.identity import PUBLIC, Namespace
from evidence.sealed import Delivery, Finding, SealedManifest, shown_to, whole_microseconds
from tests.builders import BLUE, RED, eligibility, instant, principal


def sealed(*findings: Finding, looked_up: bool = True) -> SealedManifest:
    return SealedManifest(
        packet_id=digest("packet"),
        hashes={"semantic": None, "rendered": None, "manifest": digest("packet")},
        request_id="r-1",
        at=instant("2025-06-02"),
        eligibility=eligibility(principal(purposes=["care"]), purpose="care", as_of=instant("2025-05-01")),
        run={"device": "cpu"},
        query_code=bytes([0, 255, 16]),
        delivery=Delivery.HANDED_OVER,
        unauthorized=findings if looked_up else None,
    )


def finding(*namespaces: Namespace) -> Finding:
    return Finding(role="limit", named={"claim": "upload.max_mb", "value": None}, namespaces=namespaces)


def test_the_record_holds_the_clock_the_moment_judged_the_scope_and_the_code() -> None:
    """R10, R31."""
    record = sealed().record()

    assert record["at"] == "2025-06-02T00:00:00Z"
    assert record["judged_at"] == "2025-05-01T00:00:00Z"
    assert record["query_code"] == "00ff10"
    assert record["namespace"] == "blue"
    assert isinstance(record["scope"], dict)
    assert (record["scope"]["sub"], record["scope"]["purpose"]) == ("ann", "care")
    assert record["delivery"] == "handed-over"


def test_the_record_has_a_canonical_form_and_no_float() -> None:
    assert canonical(sealed(finding(BLUE)).record())
    assert whole_microseconds({"search": 0.5004, "total": 12.0}) == {"search": 500, "total": 12_000}


def test_what_was_not_looked_up_is_told_from_what_was_not_found() -> None:
    assert sealed().record()["unauthorized"] == []
    assert sealed(looked_up=False).record()["unauthorized"] is None


def test_a_finding_says_what_was_named_and_where_it_lies_and_no_more() -> None:
    """R7."""
    assert sealed(finding(BLUE, PUBLIC)).record()["unauthorized"] == [
        {
            "reason": "unauthorized",
            "role": "limit",
            "named": {"claim": "upload.max_mb", "value": None},
            "namespaces": ["blue", "public"],
        }
    ]


def test_an_auditor_of_a_tenant_learns_nothing_of_another_one() -> None:
    """R6: their reading is what it would be over a catalog without the other tenant."""
    both = shown_to(sealed(finding(BLUE, RED), finding(RED)).record(), (BLUE, PUBLIC))
    alone = shown_to(sealed(finding(BLUE)).record(), (BLUE, PUBLIC))

    assert canonical(both) == canonical(alone)


def test_an_auditor_of_all_namespaces_reads_the_record_as_it_is() -> None:
    record = sealed(finding(BLUE, RED)).record()

    assert shown_to(record, None) == record
