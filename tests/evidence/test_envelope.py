"""Which unit owns a claim, and what a trace keeps apart."""

from evidence.envelope import RetrievalTrace, SeenTokens, locate_claims
from evidence.revision import Claim
from tests.builders import SearchedText

TEXT = "Limit: 25 MB.\nNo executables.\nLimit: 25 MB."
LIMIT = Claim(key="upload.max_mb", value="25", quote="25 MB")
RULE = Claim(key="upload.executables", value="no", quote="No executables")


def owned(start: int, end: int) -> tuple[Claim, ...]:
    return locate_claims([LIMIT, RULE], text=TEXT).owned_by(start, end)


def test_a_claim_belongs_to_the_unit_that_holds_the_first_occurrence_of_its_quote() -> None:
    """R18: the units are the three lines; the third repeats the quote and claims nothing."""
    assert owned(0, 14) == (LIMIT,)
    assert owned(14, 30) == (RULE,)
    assert owned(30, len(TEXT)) == ()


def test_a_quote_must_lie_in_the_unit_whole() -> None:
    assert owned(0, 11) == ()
    assert owned(0, 12) == (LIMIT,)
    assert owned(8, 14) == ()


def test_spans_count_code_points() -> None:
    claim = Claim(key="k", value="v", quote="é𝄞")

    assert locate_claims([claim], text="𝄞é𝄞").owned_by(1, 3) == (claim,)


def test_a_trace_keeps_each_channels_rank_and_score_and_says_what_was_not_read() -> None:
    """R13, R14: side by side, and nothing cut in silence."""
    trace = RetrievalTrace(
        ranks={"dense": 2},
        scores={"dense": 11_000, "lexical": 0},
        fused=2**31,
        rerank_position=1,
        rerank_score=-5,
        encoder_tokens=SeenTokens(seen=256, total=300),
    )

    assert trace.record() == {
        "ranks": {"dense": 2},
        "scores": {"dense": 11_000, "lexical": 0},
        "fused": 2**31,
        "rerank": {"position": 1, "score": -5},
        "encoder_tokens": {"seen": 256, "total": 300},
        "reranker_tokens": None,
    }


def test_claims_come_in_the_order_in_which_they_were_declared() -> None:
    found = locate_claims([RULE, LIMIT], text=TEXT)

    assert found.owned_by(0, len(TEXT)) == (RULE, LIMIT)


def test_a_quote_that_the_text_does_not_hold_makes_no_claim() -> None:
    claim = Claim(key="k", value="v", quote="nowhere")

    assert locate_claims([claim], text=TEXT).owned_by(0, len(TEXT)) == ()


def test_each_quote_is_searched_once_however_many_claims_and_units_there_are() -> None:
    text = SearchedText(TEXT)
    located = locate_claims([Claim(key=f"k{n}", value="v", quote="25 MB") for n in range(100)], text=text)

    assert [len(located.owned_by(start, start + 14)) for start in range(30)] == [100] * 8 + [0] * 22
    assert text.searches == 1
