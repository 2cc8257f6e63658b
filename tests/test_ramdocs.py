"""Do the RAMDocs documents become records that claim what they answer, and nothing they do not say?"""

import unicodedata
from collections import Counter, defaultdict
from itertools import combinations

import pytest

from evidence.errors import InvalidSource
from evidence.source_record import parse_source
from tests.ramdocs import RamDocs, read_ramdocs, sentence_with
from tests.real_data import data_folder

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module", name="ramdocs")
def fixture_ramdocs() -> RamDocs:
    return read_ramdocs(data_folder() / "ramdocs")


def test_of_2766_documents_17_hold_nul_and_are_left_out(ramdocs: RamDocs) -> None:
    assert (len(ramdocs.records), len(ramdocs.refused)) == (2749, 17)
    assert not set(ramdocs.refused) & {record["source_id"] for record in ramdocs.records}


def test_a_text_with_nul_would_be_refused() -> None:
    with pytest.raises(InvalidSource):
        parse_source(
            {"source_id": "A", "revision": "1", "text": "a\x00b", "access": {"public": True}}, default_label=None
        )


def test_188_answers_are_not_verbatim_in_their_text_and_make_no_claim(ramdocs: RamDocs) -> None:
    """1,918 correct and 307 wrong documents are 2,225; less 188 there are 2,037 claims."""
    claiming = [record["source_id"] for record in ramdocs.records if record["claims"]]

    assert (len(ramdocs.unquoted), len(claiming)) == (188, 2037)
    assert not set(ramdocs.unquoted) & set(claiming)


def test_noise_claims_nothing(ramdocs: RamDocs) -> None:
    kinds = Counter(record["metadata"]["type"] for record in ramdocs.records if record["claims"])

    assert set(kinds) == {"correct", "misinfo"}


def test_every_record_is_taken_with_its_quote_verbatim_around_the_answer(ramdocs: RamDocs) -> None:
    """`parse_source` refuses a quote that is not in the text."""
    for record in ramdocs.records:
        revision = parse_source(record, default_label=None)
        assert [claim.value in claim.quote for claim in revision.facts.claims] in ([], [True])


def test_the_groups_of_the_set_and_the_claims_declare_the_same_conflicts(ramdocs: RamDocs) -> None:
    """R18: equal keys and values that differ after NFC and trim, computed here from the claims alone."""
    claimed = defaultdict(list)
    for record in ramdocs.records:
        for claim in record["claims"]:
            claimed[claim["key"]].append((record["source_id"], unicodedata.normalize("NFC", claim["value"]).strip()))

    for query_id, declared in ramdocs.conflicts.items():
        pairs = combinations(claimed[query_id], 2)
        assert declared == {frozenset((one, other)) for (one, mine), (other, its) in pairs if mine != its}


def test_394_of_500_questions_have_conflicting_documents(ramdocs: RamDocs) -> None:
    assert len(ramdocs.questions) == 500
    assert sum(1 for pairs in ramdocs.conflicts.values() if pairs) == 394


def test_a_sentence_ends_at_its_stop_or_at_the_end_of_the_text() -> None:
    assert sentence_with("One. Two 2.5 two! Three", "2.5") == "Two 2.5 two!"
    assert sentence_with("One. Two 2.5 two! Three", "Three") == "Three"
    assert sentence_with("One\nTwo", "One") == "One"
