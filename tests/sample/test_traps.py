"""Would a search that scores everything put what is forbidden or stale before what is right?

Without that the sample proves nothing: an engine that never filters would pass (R2, R4).
"""

import pytest

from evidence.source_record import SourceRevision
from tests.sample.conftest import Channels
from tests.sample.ranking import Scores, best_rank
from tests.sample.shipped import ListedQuery, queries, traps
from tests.sample.standing import STEADY_FROM, obstacle

EVERY_TRAP = pytest.mark.parametrize("trap", traps(), ids=[trap.id for trap in traps()])


@EVERY_TRAP
@pytest.mark.parametrize("stop_words", [False, True], ids=["all words", "without stop words"])
def test_in_bm25_over_everything_the_wrong_source_outranks_the_right_one(
    channels: Channels, trap: ListedQuery, stop_words: bool
) -> None:
    scores = channels.lexical(trap, stop_words=stop_words)

    wrong, right = _ranks(channels, trap, scores)
    assert wrong < right


@EVERY_TRAP
def test_in_cosine_over_everything_the_wrong_source_outranks_the_right_one(
    channels: Channels, trap: ListedQuery
) -> None:
    scores = channels.dense[trap.id]

    wrong, right = _ranks(channels, trap, scores)
    assert wrong < right


@EVERY_TRAP
def test_a_trap_names_one_right_source_and_lists_the_wrong_one_as_forbidden(trap: ListedQuery) -> None:
    assert len(trap.must_include) == 1
    assert trap.outranked_by in trap.must_not_include


def test_there_are_at_least_twelve_traps() -> None:
    assert len(traps()) >= 12


def test_the_traps_cover_every_reason_for_which_a_source_may_not_be_used(sample: list[SourceRevision]) -> None:
    facts = [revision.facts for revision in sample]

    reasons = {obstacle(trap, facts, trap.outranked_by, now=STEADY_FROM) for trap in traps() if trap.outranked_by}

    assert reasons == {
        *("foreign", "role", "purpose", "region", "case"),
        *("draft", "stale", "revoked", "inapplicable"),
    }


def test_the_public_explanation_outranks_both_upload_policies_in_both_channels(channels: Channels) -> None:
    (query,) = (query for query in queries() if query.id == "public-words-broad")
    public, *policies = query.must_include

    for scores in (channels.lexical(query, stop_words=False), channels.dense[query.id]):
        ranks = [best_rank(policy, scores, channels.passages) for policy in policies]
        assert best_rank(public, scores, channels.passages) < min(ranks)


def _ranks(channels: Channels, trap: ListedQuery, scores: Scores) -> tuple[int, int]:
    """The best rank of the wrong source and of the right one."""
    assert trap.outranked_by is not None
    (right,) = trap.must_include
    return best_rank(trap.outranked_by, scores, channels.passages), best_rank(right, scores, channels.passages)
