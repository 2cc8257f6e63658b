"""Tests of index/lexical_topk.py: what is passed over changes the work and never an answer (R9, R11)."""

from collections.abc import Sequence

import numpy as np
import pytest

from index import lexical
from index.best_k import room_for
from index.bm25 import formula
from index.lexical_topk import BLOCK, fill_best
from index.ranges import RowRanges
from index.statistics import Counted, gather
from tests.index.lexical_corpus import VARIANTS, Corpus, assert_equal, corpus

ROWS = 3 * BLOCK  # so that three blocks are begun with what was learned before


def shuffled(texts: Sequence[Sequence[str]], seed: int = 1) -> Corpus:
    """Rows whose identity is not their order, so that a tie is not settled by who comes first."""
    made = corpus(texts)
    order = np.random.default_rng(seed).permutation(len(texts)).astype(np.int32)
    return Corpus(texts=made.texts, postings=made.postings, lengths=made.lengths, order=order)


def require_the_head_of_all_hits(
    units: Corpus, query: Sequence[str], ranges: RowRanges, ks: Sequence[int] = (1, 10, 300)
) -> None:
    """All hits are found by another loop, which weighs every posting."""
    for variant in VARIANTS:
        hits = units.score(query, ranges, variant)
        by_rank = np.lexsort((units.order[hits.rows], -hits.scores))
        for k in ks:
            found = units.topk(query, ranges, k, variant)
            assert found.rows.tolist() == hits.rows[by_rank[:k]].tolist()
            assert found.scores.tolist() == hits.scores[by_rank[:k]].tolist()


def work(units: Corpus, query: Sequence[str], ranges: RowRanges, k: int) -> int:
    """How many postings are weighed."""
    part = Counted(units.postings, units.lengths, ranges)
    statistics = gather(units.postings, units.lengths, ranges=ranges, formula=formula("lucene"))
    weighing = lexical.weighing_of(part, lexical.weigh([part], statistics, query, ranges=ranges))
    assert weighing is not None
    return fill_best(weighing, ranges.edges, units.order, room_for(k))[1]


def all_of(units: Corpus) -> RowRanges:
    return RowRanges.from_pairs([(0, len(units.texts))])


def holding(units: Corpus, query: Sequence[str]) -> int:
    return sum(term in text for text in units.texts for term in set(query))


def test_rows_that_all_score_the_same_come_by_identity() -> None:
    units = shuffled([["x", "y"]] * ROWS)

    require_the_head_of_all_hits(units, ["x", "y"], all_of(units), ks=(1, 100))


def test_ties_at_the_cut_are_settled_by_identity_across_blocks() -> None:
    """Rows of three scores, so that the k-th always has thousands of equals, before and behind it."""
    units = shuffled([[["x"], ["x", "y"], ["y"]][row % 3] + ["pad"] * (row % 2) for row in range(ROWS)])

    require_the_head_of_all_hits(units, ["x", "y"], all_of(units))


def test_rows_of_the_common_term_alone_that_tie_with_the_cut_are_not_passed_over() -> None:
    """They come behind k equals, in later blocks."""
    early = [["x"] for _ in range(20)] + [["pad", "pad"] for _ in range(BLOCK)]
    late = [["x"] for _ in range(BLOCK)]
    units = shuffled([*early, *late])

    require_the_head_of_all_hits(units, ["x"], all_of(units), ks=(1, 10, 20, 21))


def test_one_row_full_of_a_common_term_is_found_behind_rows_of_rare_ones() -> None:
    texts = [["common", "a", "b"] for _ in range(ROWS)]
    for row in range(50):
        texts[row] = ["rare", "a", "b"]
    texts[-7] = ["common"] * 4000
    units = shuffled(texts)

    require_the_head_of_all_hits(units, ["rare", "common", "rare"], all_of(units))


@pytest.mark.parametrize("seed", range(3))
def test_random_ranges_give_the_head_of_all_hits(seed: int) -> None:
    """Words from nowhere to everywhere; short and long units; visible runs of one row up to most rows."""
    rng = np.random.default_rng(seed)
    words = [f"w{at}" for at in range(40)]
    odds = 1 / np.arange(1, 41) ** 1.5
    sizes = rng.choice([1, 2, 5, 20], ROWS, p=[0.3, 0.3, 0.3, 0.1])
    drawn = rng.choice(40, size=int(sizes.sum()), p=odds / odds.sum())
    texts = [[words[at] for at in part] for part in np.split(drawn, np.cumsum(sizes)[:-1])]
    units = shuffled(texts, seed)
    few = np.unique(rng.integers(0, ROWS, 8))
    many = np.flatnonzero(rng.random(ROWS) < 0.6)
    for ranges in (RowRanges.from_pairs(zip(few[:-1:2], few[1::2], strict=False)), RowRanges.from_rows(many)):
        for query in (["w0", "w1", "w30"], ["w0", "w39", "w38", "w7", "w7"], ["w2", "unheard"]):
            require_the_head_of_all_hits(units, query, ranges)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_rows_no_hits_and_no_k_give_nothing(variant: str) -> None:
    units = shuffled([["x"], ["y"], []])

    assert units.topk(["x"], RowRanges.from_pairs([]), 5, variant).rows.tolist() == []
    assert units.topk(["x"], RowRanges.from_pairs([(1, 3)]), 5, variant).rows.tolist() == []
    assert units.topk(["x"], all_of(units), 0, variant).rows.tolist() == []
    assert units.topk(["x", "y"], all_of(units), 99, variant).rows.tolist() == sorted(
        [0, 1], key=units.order.tolist().__getitem__
    )


def test_a_common_term_is_weighed_only_where_it_can_still_matter() -> None:
    """Twenty rows hold the rare term, all the common one: behind the first block only rows of the rare are weighed."""
    rare = {*range(0, ROWS, ROWS // 20)}
    units = shuffled([["common", "rare"] if row in rare else ["common", "other"] for row in range(ROWS)])
    query = ["rare", "common"]
    in_first_block = sum(row < BLOCK for row in rare)

    assert work(units, query, all_of(units), k=in_first_block) == BLOCK + in_first_block + 2 * (
        len(rare) - in_first_block
    )
    assert work(units, query, all_of(units), k=len(rare) + 1) == holding(units, query) == ROWS + len(rare)


def test_scattered_rows_are_passed_over_too() -> None:
    every_other = RowRanges.from_rows(np.arange(0, 2 * ROWS, 2, dtype=np.int64))
    units = shuffled([["common", "rare"] if row % 64 == 0 else ["common", "other"] for row in range(2 * ROWS)])

    assert_equal(units.topk(["rare", "common"], every_other, 5), units.topk(["common", "rare"], every_other, 5))
    assert work(units, ["rare", "common"], every_other, k=5) == BLOCK + BLOCK // 32 + 2 * (2 * BLOCK // 32)
