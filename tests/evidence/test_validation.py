"""Tests of `evidence/validation.py`: R33, one occurrence at a time, and R7."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evidence.citations import citation_handle
from evidence.eligibility import Standing
from evidence.occurrence import Occurrence
from evidence.revision import RevisionFacts
from evidence.unit import Unit
from evidence.validation import Finding, Passage, Shown, Verdict, validate
from tests.builders import revision, unit

UPLOADS = revision("UP", text="Uploads are limited to 25 MB. Videos are not.")
UPLOAD_LIMIT = unit(UPLOADS.key, "Uploads are limited to 25 MB. ")
VIDEOS = unit(UPLOADS.key, "Videos are not.", ordinal=1, start=30)
RETENTION = revision("RE", text="Files are kept for 30 days.")
THIRTY_DAYS = unit(RETENTION.key, "Files are kept for 30 days.")
NOWHERE = "EV-0000000000000000"


def shown(passage: Unit) -> Shown:
    return Shown(
        handle=citation_handle(passage),
        namespace=passage.key.namespace,
        source_id=passage.key.source_id,
        revision=passage.key.revision,
        span=(passage.start, passage.end),
        text=passage.text,
    )


def held(passage: Unit, *, standing: Standing = Standing.USABLE, citable_for: Sequence[str] = ()) -> Passage:
    facts: RevisionFacts = UPLOADS if passage.key.source_id == "UP" else RETENTION
    return Passage(unit=passage, facts=replace(facts, citable_for=tuple(citable_for)), standing=standing)


def judged(
    occurrence: Occurrence,
    *,
    packet: Sequence[Shown] = (shown(UPLOAD_LIMIT), shown(VIDEOS), shown(THIRTY_DAYS)),
    catalog: Sequence[Passage] = (held(UPLOAD_LIMIT), held(VIDEOS), held(THIRTY_DAYS)),
) -> Finding:
    by_handle = {citation_handle(passage.unit): [passage] for passage in catalog}
    (finding,) = validate(
        [occurrence],
        shown=packet,
        held=by_handle,
        elsewhere=lambda cited, quote: any(
            quote in passage.unit.text for passage in catalog if passage.unit.key != cited.unit.key
        ),
    )
    return finding


def cite(passage: Unit, quote: str | None = None, *, claim_type: str | None = None) -> Occurrence:
    return Occurrence(handle=citation_handle(passage), quote=quote, claim_type=claim_type)


def test_a_verbatim_quote_of_the_cited_passage_is_valid_and_its_place_is_given() -> None:
    finding = judged(cite(VIDEOS, "are not"))

    assert finding == Finding(handle=citation_handle(VIDEOS), verdict=Verdict.VALID, span=(37, 44))


def test_a_quote_that_stands_twice_in_the_passage_is_placed_at_the_first() -> None:
    repeated = unit(UPLOADS.key, "limit, limit", start=100)

    assert judged(cite(repeated, "limit"), packet=[shown(repeated)], catalog=[held(repeated)]).span == (100, 105)


def test_without_a_quote_only_the_handle_is_judged_and_the_place_is_the_passage() -> None:
    finding = judged(replace(cite(VIDEOS), claim="Videos may be larger."))

    assert (finding.verdict, finding.span) == (Verdict.VALID, (30, 45))


def test_a_handle_that_is_not_in_the_packet_is_fabricated() -> None:
    assert judged(Occurrence(handle=NOWHERE)).verdict is Verdict.FABRICATED


def test_a_handle_of_the_catalog_that_is_not_in_the_packet_is_fabricated() -> None:
    assert judged(cite(VIDEOS), packet=[shown(UPLOAD_LIMIT)]).verdict is Verdict.FABRICATED


@pytest.mark.parametrize("altered", ["lower", "strip"])
def test_a_handle_is_compared_letter_by_letter(altered: str) -> None:
    handle = citation_handle(VIDEOS).lower() if altered == "lower" else f" {citation_handle(VIDEOS)} "

    assert judged(Occurrence(handle=handle)).verdict is Verdict.FABRICATED


def test_a_valid_citation_is_no_help_to_a_fabricated_one_beside_it() -> None:
    findings = validate(
        [cite(VIDEOS, "are not"), Occurrence(handle=NOWHERE, quote="are not"), cite(VIDEOS, "are not")],
        shown=[shown(VIDEOS)],
        held={citation_handle(VIDEOS): [held(VIDEOS)]},
        elsewhere=lambda _, __: True,
    )

    assert [finding.verdict for finding in findings] == [Verdict.VALID, Verdict.FABRICATED, Verdict.VALID]


@pytest.mark.parametrize(
    "standing", [Standing.STALE, Standing.REVOKED, Standing.INAPPLICABLE, Standing.FILTERED], ids=lambda one: one.value
)
def test_a_passage_that_may_not_be_used_now_is_no_longer_eligible(standing: Standing) -> None:
    finding = judged(cite(VIDEOS, "are not"), catalog=[held(VIDEOS, standing=standing)])

    assert finding == Finding(handle=citation_handle(VIDEOS), verdict=Verdict.NO_LONGER_ELIGIBLE)


def test_a_passage_that_is_hidden_or_deleted_and_one_that_never_was_look_alike() -> None:
    """R7: the catalog shows neither, so that only the packet's word is left for both."""
    made_up = replace(shown(VIDEOS), handle=NOWHERE)

    assert judged(cite(VIDEOS, "are not"), catalog=[]).verdict is Verdict.NO_LONGER_ELIGIBLE
    assert judged(Occurrence(handle=NOWHERE, quote="are not"), packet=[made_up]).verdict is Verdict.NO_LONGER_ELIGIBLE


@pytest.mark.parametrize(
    "altered",
    [
        replace(shown(VIDEOS), namespace="red"),
        replace(shown(VIDEOS), source_id="OTHER"),
        replace(shown(VIDEOS), revision="2"),
        replace(shown(VIDEOS), span=(29, 45)),
        replace(shown(VIDEOS), text="Videos are unlimited."),
    ],
    ids=["namespace", "source", "revision", "span", "text"],
)
def test_a_packet_that_shows_something_else_under_the_handle_makes_the_citation_misattributed(altered: Shown) -> None:
    assert judged(cite(VIDEOS, "are not"), packet=[altered]).verdict is Verdict.MISATTRIBUTED


def test_a_packet_that_shows_two_passages_under_one_handle_makes_the_citation_misattributed() -> None:
    both = [shown(VIDEOS), replace(shown(VIDEOS), revision="2")]

    assert judged(cite(VIDEOS, "are not"), packet=both).verdict is Verdict.MISATTRIBUTED


def test_a_packet_without_texts_is_held_against_revision_and_span_alone() -> None:
    assert judged(cite(VIDEOS, "are not"), packet=[replace(shown(VIDEOS), text=None)]).verdict is Verdict.VALID


def test_a_quote_of_another_passage_is_misattributed() -> None:
    assert judged(cite(VIDEOS, "30 days")).verdict is Verdict.MISATTRIBUTED


def test_words_that_stand_in_no_passage_are_misquoted() -> None:
    assert judged(cite(VIDEOS, "Videos are unlimited")).verdict is Verdict.MISQUOTED


def test_a_quote_stitched_from_two_passages_is_misquoted_even_where_they_touch() -> None:
    assert UPLOAD_LIMIT.end == VIDEOS.start
    assert judged(cite(UPLOAD_LIMIT, "25 MB. Videos")).verdict is Verdict.MISQUOTED


def test_a_quote_stitched_from_two_places_of_one_passage_is_misquoted() -> None:
    assert judged(cite(UPLOAD_LIMIT, "Uploads 25 MB")).verdict is Verdict.MISQUOTED


@pytest.mark.parametrize(
    "quote",
    [
        "videos are not",
        "Videos  are not",
        "Videos\u00a0are not",
        "Videos are not. ",
        "Videos are not\u200b",
        "V\u0131deos",
    ],
    ids=["case", "two spaces", "no-break space", "space behind", "zero-width space", "look-alike"],
)
def test_verbatim_means_the_same_code_points(quote: str) -> None:
    assert judged(cite(VIDEOS, quote)).verdict is Verdict.MISQUOTED


def test_the_same_word_in_another_unicode_form_is_no_verbatim_quote() -> None:
    composed = unit(UPLOADS.key, "caf\u00e9")

    finding = judged(cite(composed, "cafe\u0301"), packet=[shown(composed)], catalog=[held(composed)])

    assert finding.verdict is Verdict.MISQUOTED


@pytest.mark.parametrize("quote", ["", " ", "\n\t"], ids=["empty", "space", "line and tab"])
def test_a_blank_quote_bears_out_nothing_though_every_text_holds_it(quote: str) -> None:
    blank = unit(UPLOADS.key, "one \n\t two")

    finding = judged(cite(blank, quote), packet=[shown(blank)], catalog=[held(blank), held(VIDEOS)])

    assert finding.verdict is Verdict.MISQUOTED


def test_a_stated_place_must_hold_the_quote() -> None:
    assert judged(replace(cite(VIDEOS, "are not"), span=(37, 44))).span == (37, 44)
    assert judged(replace(cite(VIDEOS, "are not"), span=(36, 43))).verdict is Verdict.MISQUOTED


@pytest.mark.parametrize("span", [(29, 44), (37, 46), (37, 37)], ids=["before", "behind", "empty"])
def test_a_stated_place_outside_the_passage_is_misquoted(span: tuple[int, int]) -> None:
    assert judged(replace(cite(VIDEOS), span=span)).verdict is Verdict.MISQUOTED


def test_a_claim_of_a_type_that_the_revision_may_be_cited_for_is_valid() -> None:
    catalog = [held(VIDEOS, citable_for=["limit", "scope"])]

    assert judged(cite(VIDEOS, "are not", claim_type="scope"), catalog=catalog).verdict is Verdict.VALID


def test_a_claim_of_another_type_is_not_citable_though_the_quote_stands_there() -> None:
    finding = judged(cite(VIDEOS, "are not", claim_type="approval"), catalog=[held(VIDEOS, citable_for=["limit"])])

    assert (finding.verdict, finding.span) == (Verdict.NOT_CITABLE, (37, 44))


def test_a_revision_that_names_no_claim_type_may_be_cited_for_none() -> None:
    assert judged(cite(VIDEOS, "are not", claim_type="limit")).verdict is Verdict.NOT_CITABLE


def test_a_misquote_of_a_wrong_claim_type_is_a_misquote_first() -> None:
    assert judged(cite(VIDEOS, "are free", claim_type="approval")).verdict is Verdict.MISQUOTED


def test_where_two_passages_share_a_handle_the_one_that_the_packet_shows_is_cited() -> None:
    other = replace(held(THIRTY_DAYS), facts=RETENTION)
    findings = validate(
        [cite(VIDEOS, "are not")],
        shown=[shown(VIDEOS)],
        held={citation_handle(VIDEOS): [other, held(VIDEOS)]},
        elsewhere=lambda _, __: False,
    )

    assert [finding.verdict for finding in findings] == [Verdict.VALID]
