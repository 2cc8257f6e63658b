"""Facts of a revision: every one of them counts in its digest."""

from dataclasses import replace

import pytest

from evidence.canonical import digest_text
from evidence.identity import Namespace
from evidence.instant import Instant
from evidence.revision import Claim, ConflictSide, Contradiction, RevisionFacts, Status
from tests.builders import label, revision, revision_key

PLAIN = revision("A", text="passage")

CHANGES: dict[str, RevisionFacts] = {
    "namespace": replace(PLAIN, key=PLAIN.key._replace(namespace=Namespace("red"))),
    "source_id": replace(PLAIN, key=PLAIN.key._replace(source_id="B")),
    "revision": replace(PLAIN, key=PLAIN.key._replace(revision="2")),
    "title": replace(PLAIN, title="Uploads"),
    "family": replace(PLAIN, family="policy"),
    "owner": replace(PLAIN, owner="legal"),
    "authority": replace(PLAIN, authority="manufacturer"),
    "status": replace(PLAIN, status=Status.SUPERSEDED),
    "revoked as a draft": replace(PLAIN, status=Status.REVOKED, was_draft=True),
    "effective_from": replace(PLAIN, effective_from=Instant(0)),
    "effective_to": replace(PLAIN, effective_to=Instant(0)),
    "supersedes": replace(PLAIN, supersedes=(revision_key("B"),)),
    "contradicts": replace(PLAIN, contradicts=(Contradiction(namespace="blue", source_id="B"),)),
    "claims": replace(PLAIN, claims=(Claim(key="a", value="1", quote="passage"),)),
    "applies_to": replace(PLAIN, applies_to=("k2",)),
    "citable_for": replace(PLAIN, citable_for=("limit",)),
    "metadata": replace(PLAIN, metadata='{"a":1}'),
    "text": replace(PLAIN, text_digest=digest_text("another passage")),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES.keys())
def test_no_fact_can_change_without_changing_the_digest(changed: RevisionFacts) -> None:
    """R29: the catalog version is made of these digests."""
    assert changed.digest != PLAIN.digest
    assert changed.content_record() != PLAIN.content_record()


def test_a_relabel_changes_the_digest_and_not_the_content() -> None:
    """R29: facts, text digests, labels and relations count; a revision offered again is compared without the label."""
    relabelled = replace(PLAIN, label=label(roles=["legal"]))

    assert relabelled.digest != PLAIN.digest
    assert relabelled.content_record() == PLAIN.content_record()


def test_equal_facts_have_equal_digests() -> None:
    assert revision("A", text="passage").digest == PLAIN.digest


def test_a_revoked_draft_is_another_thing_than_a_revoked_publication() -> None:
    """R3, R29."""
    published = replace(PLAIN, status=Status.REVOKED)
    drafted = replace(published, was_draft=True)

    assert drafted.digest != published.digest
    assert (published.is_published, drafted.is_published) == (True, False)


@pytest.mark.parametrize("status", [Status.CURRENT, Status.SUPERSEDED, Status.DRAFT])
def test_only_a_revoked_revision_was_a_draft(status: Status) -> None:
    with pytest.raises(ValueError, match=f"this one is {status.value}"):
        replace(PLAIN, status=status, was_draft=True)


def test_the_sides_of_a_declared_conflict_are_told_apart() -> None:
    by_claim = Contradiction(namespace="blue", source_id="B", here=ConflictSide(claim="x"))
    by_quote = Contradiction(namespace="blue", source_id="B", here=ConflictSide(quote="x"))
    there = Contradiction(namespace="blue", source_id="B", there=ConflictSide(claim="x"))

    assert len({replace(PLAIN, contradicts=(side,)).digest for side in (by_claim, by_quote, there)}) == 3
