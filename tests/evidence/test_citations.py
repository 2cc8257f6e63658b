"""Citation handles (R27)."""

import hashlib
import re
from dataclasses import replace

import pytest

from evidence.canonical import digest_text
from evidence.citations import HandleRecord, citation_handle, citation_handles, handle_records, span_digest
from evidence.envelope import Candidate
from evidence.errors import BrokenGuarantee
from evidence.identity import Namespace
from evidence.snapshot import Snapshot
from evidence.unit import Unit
from tests.builders import BLUE, RED, candidate, eligibility, instant, principal, revision, revision_key, snapshot, unit

PASSAGE = unit(revision_key("A"), "at most 25 MB", start=7, ordinal=2)

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def test_a_handle_is_the_start_of_a_sha_256_in_crockfords_base_32() -> None:
    """Worked out from the definition, bit by bit."""
    text = hashlib.sha256(b"at most 25 MB").hexdigest()
    span = hashlib.sha256(f'[7,20,"sha256:{text}"]'.encode()).hexdigest()
    named = hashlib.sha256(f'["blue","A","1","sha256:{span}"]'.encode()).digest()
    bits = "".join(f"{byte:08b}" for byte in named)[:80]

    expected = "".join(CROCKFORD[int(bits[at : at + 5], 2)] for at in range(0, 80, 5))
    assert citation_handle(PASSAGE) == f"EV-{expected}"


def test_a_handle_holds_letters_and_digits_that_nobody_misreads() -> None:
    assert re.fullmatch(r"EV-[0-9A-HJKMNP-TV-Z]{16}", citation_handle(PASSAGE))


@pytest.mark.parametrize(
    "other",
    [
        unit(revision_key("A", namespace=RED), PASSAGE.text, start=7),
        unit(revision_key("B"), PASSAGE.text, start=7),
        unit(revision_key("A", "2"), PASSAGE.text, start=7),
        unit(revision_key("A"), PASSAGE.text, start=8),
        unit(revision_key("A"), "at most 26 MB", start=7),
    ],
)
def test_namespace_source_revision_place_and_text_all_count(other: Unit) -> None:
    assert citation_handle(other) != citation_handle(PASSAGE)


@pytest.mark.parametrize(
    "other",
    [
        replace(PASSAGE, key=PASSAGE.key._replace(ordinal=0)),
        replace(PASSAGE, heading=("Uploads",)),
        replace(PASSAGE, prefix="Uploads", tokens=99),
    ],
)
def test_nothing_else_counts_and_an_ordinal_least_of_all(other: Unit) -> None:
    assert citation_handle(other) == citation_handle(PASSAGE)


def test_equal_passages_of_one_revision_have_different_handles() -> None:
    """A table header that stands twice in a source is two passages."""
    twice = [unit(revision_key("A"), "same", ordinal=ordinal, start=start) for ordinal, start in ((0, 0), (1, 4))]

    assert len(set(citation_handles(twice))) == 2


def test_parts_cannot_run_into_each_other() -> None:
    one = unit(revision_key("A", "12"), "x")
    other = unit(revision_key("A1", "2"), "x")

    assert citation_handle(one) != citation_handle(other)


def test_two_passages_of_one_packet_never_share_a_handle() -> None:
    with pytest.raises(BrokenGuarantee):
        citation_handles([PASSAGE, replace(PASSAGE, key=PASSAGE.key._replace(ordinal=3))])


def record_in(found: Candidate, seen: Snapshot) -> HandleRecord:
    """The record of the handle `EV-1`, given to `found`."""
    return handle_records([found], ["EV-1"], snapshot=seen)[0]


def test_the_record_says_what_the_handle_stands_for() -> None:
    found = candidate(revision("A", title="Uploads"), "at most 25 MB", start=7)

    record = record_in(found, snapshot([found.facts])).record()
    assert record["handle"] == "EV-1"
    assert record["unit_id"] == "blue/A@1#0"
    assert record["span"] == [7, 20]
    assert record["span_digest"] == span_digest(found.unit)
    assert record["display"] == {
        "namespace": "blue",
        "source_id": "A",
        "revision": "1",
        "title": "Uploads",
        "heading": [],
    }


def test_the_eligibility_digest_depends_on_who_asks_and_on_what_is_visible() -> None:
    found, asked = candidate(revision("A"), "x"), eligibility()
    digests = {
        record_in(found, snapshot(facts, asked=by)).eligibility_digest
        for facts, by in [
            ([found.facts], asked),
            ([found.facts, revision("B")], asked),
            ([found.facts], eligibility(principal(sub="bob"))),
            ([found.facts], eligibility(subject="k2")),
        ]
    }

    assert len(digests) == 4


def test_the_eligibility_digest_does_not_depend_on_what_is_invisible_or_on_the_clock() -> None:
    """R6."""
    found = candidate(revision("A"), "x")
    hidden = revision("B", namespace=RED)

    one = record_in(found, snapshot([found.facts]))
    other = record_in(found, snapshot([found.facts, hidden]))
    later = record_in(found, snapshot([found.facts], asked=eligibility(now=instant("2025-07-01"))))
    assert one == other == later


def test_the_span_digest_is_over_place_and_text() -> None:
    assert span_digest(PASSAGE) != span_digest(replace(PASSAGE, end=21))
    assert span_digest(PASSAGE) != span_digest(replace(PASSAGE, digest=digest_text("other")))
    assert span_digest(PASSAGE) == span_digest(replace(PASSAGE, key=PASSAGE.key._replace(namespace=Namespace(BLUE))))
