"""Tests of index/lexical.py: which units are hits, in which order, and what cannot change it (R2, R9, R11, R12)."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from index import lexical, lexical_topk, vocabulary
from index import postings as postings_module
from index import statistics as statistics_module
from index.bm25 import Variant, formula
from index.postings import Postings
from index.ranges import RowRanges
from index.selection import Ranking
from index.statistics import gather
from tests.index.lexical_corpus import (
    POLICIES,
    VARIANTS,
    WINDY,
    Corpus,
    assert_equal,
    corpus,
    mixed_corpus,
    scopes,
    whole,
)


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_invisible_changes_a_score(variant: str) -> None:
    """R2, R6: lengths and frequencies of invisible rows are overwritten, and other rows are put around."""
    units, runs = mixed_corpus(seed=8)
    for ranges in scopes(runs, count=20, seed=9):
        query = ["w0", "w3", "w17", "сло0", "語2"]
        hidden = ~ranges.contains(np.arange(len(units.texts)))
        lengths, frequencies = units.lengths.copy(), units.postings.frequencies.copy()
        lengths[hidden] = 2**31 - 1
        frequencies[hidden[units.postings.posting_rows]] = -(2**31)
        postings = Postings(
            terms=units.postings.terms,
            offsets=units.postings.offsets,
            posting_rows=units.postings.posting_rows,
            frequencies=frequencies,
        )
        poisoned = Corpus(texts=units.texts, postings=postings, lengths=lengths, order=units.order)
        alone = corpus([units.texts[row] for row in ranges.rows()])

        found = units.score(query, ranges, variant)

        assert_equal(poisoned.score(query, ranges, variant), found)
        apart = alone.score(query, RowRanges.from_pairs([(0, ranges.count)]), variant)
        assert_equal(Ranking(rows=ranges.rows()[apart.rows], scores=apart.scores), found)


@pytest.mark.parametrize("k", [1, 2, 10, 200, 5000])
@pytest.mark.parametrize("variant", VARIANTS)
def test_topk_is_the_head_of_all_hits_by_score_then_identity(variant: str, k: int) -> None:
    units, runs = mixed_corpus(seed=10)
    order = np.random.default_rng(11).permutation(len(units.texts)).astype(np.int32)
    units = Corpus(texts=units.texts, postings=units.postings, lengths=units.lengths, order=order)
    for ranges in scopes(runs, count=6, seed=12):
        hits = units.score(["w1", "w2", "w5"], ranges, variant)

        found = units.topk(["w1", "w2", "w5"], ranges, k, variant)

        scored = dict(zip(hits.rows.tolist(), hits.scores.tolist(), strict=True))
        assert found.rows.tolist() == sorted(scored, key=lambda row: (-scored[row], order[row]))[:k]
        assert found.scores.tolist() == [scored[row] for row in found.rows.tolist()]


@pytest.mark.parametrize("variant", VARIANTS)
def test_single_rows_score_as_in_the_whole_and_a_row_without_a_match_says_so(variant: str) -> None:
    """R12: the union is scored by the scope's statistics, not by its own."""
    units, runs = mixed_corpus(seed=13)
    for ranges in scopes(runs, count=10, seed=14):
        query = ["w0", "w9", "w9", "語0"]
        hits = units.score(query, ranges, variant)
        scored = dict(zip(hits.rows.tolist(), hits.scores.tolist(), strict=True))
        rows = np.random.default_rng(15).permutation(ranges.rows())[:50].tolist()

        scores, matched = units.score_rows(query, ranges, rows, variant)

        assert scores.tolist() == [scored.get(row, 0) for row in rows]
        assert matched.tolist() == [row in scored for row in rows]


def test_a_score_of_0_or_less_is_still_a_hit() -> None:
    units, everything = whole(WINDY)

    scores, matched = units.score_rows(["windy"], everything, [1, 0], "okapi")

    assert scores.tolist() == [0, 0]
    assert matched.tolist() == [False, True]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_repeated_query_term_counts_as_often_as_it_is_repeated(variant: str) -> None:
    units, everything = whole(POLICIES)

    once, thrice = units.score(["policy"], everything, variant), units.score(["policy"] * 3, everything, variant)

    assert thrice.scores.tolist() == (3 * once.scores).tolist()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("query", [[], ["unheard"], ["phoenix"]], ids=["empty", "unknown", "outside the scope"])
def test_a_query_without_a_term_of_the_scope_has_no_hits(variant: str, query: list[str]) -> None:
    units = corpus([["upload"], ["phoenix"]])
    scope = RowRanges.from_pairs([(0, 1)])

    assert units.topk(query, scope, 5, variant).rows.tolist() == []
    assert units.score_rows(query, scope, [0], variant)[1].tolist() == [False]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_term_outside_the_scope_adds_nothing_beside_one_inside(variant: str) -> None:
    units = corpus([["upload"], ["phoenix"], ["limit"]])
    scope = RowRanges.from_pairs([(0, 1), (2, 3)])

    assert_equal(units.score(["upload", "phoenix"], scope, variant), units.score(["upload"], scope, variant))


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_empty_scope_and_a_scope_of_empty_units_have_no_hits(variant: str) -> None:
    units = corpus([[], ["upload"], []])

    for scope in (RowRanges.from_pairs([]), RowRanges.from_pairs([(0, 1), (2, 3)])):
        assert units.score(["upload"], scope, variant).rows.tolist() == []
        assert units.topk(["upload"], scope, 3, variant).rows.tolist() == []


def test_thousands_of_tiny_ranges_score_as_their_rows_do_alone() -> None:
    texts = [[f"w{row % 7}", f"w{row % 11}", *["pad"] * (row % 5)] for row in range(9000)]
    ranges = RowRanges.from_pairs([(row, row + 1) for row in range(0, 9000, 3)])
    units, alone = corpus(texts), corpus([texts[row] for row in ranges.rows()])

    found = units.topk(["w1", "w4"], ranges, 300)

    apart = alone.topk(["w1", "w4"], RowRanges.from_pairs([(0, 3000)]), 300)
    assert_equal(Ranking(rows=ranges.rows()[apart.rows], scores=apart.scores), found)


def test_parameters_other_than_the_defaults_reach_the_score() -> None:
    units, everything = whole(POLICIES)
    statistics = gather(units.postings, units.lengths, ranges=everything, formula=formula("lucene", k1="0", b="1"))

    found = lexical.score(units.postings, units.lengths, statistics, ["a"], ranges=everything)

    assert found.scores.tolist() == [round(math.log(1 + 2.5 / 1.5) * 2**32)]


def test_statistics_of_other_rows_are_refused() -> None:
    units, everything = whole(POLICIES)
    others = units.statistics(RowRanges.from_pairs([(0, 2)]), Variant.LUCENE)

    with pytest.raises(ValueError, match="gathered over other rows"):
        lexical.score(units.postings, units.lengths, others, ["policy"], ranges=everything)


def test_ranges_beyond_the_generation_are_refused() -> None:
    units, _ = whole(POLICIES)
    beyond = RowRanges.from_pairs([(0, 4)])

    with pytest.raises(ValueError, match="the ranges end at row 4"):
        units.statistics(beyond, "lucene")
    with pytest.raises(ValueError, match="the ranges end at row 4"):
        lexical.score(
            units.postings,
            units.lengths,
            gather(units.postings, np.ones(4, dtype=np.int32), ranges=beyond, formula=formula("lucene")),
            ["policy"],
            ranges=beyond,
        )


def test_after_prepare_a_query_compiles_nothing(tmp_path: Path) -> None:
    units, everything = whole(POLICIES)
    units.lengths.tofile(tmp_path / "lengths")
    mapped = np.memmap(tmp_path / "lengths", dtype=np.int32, mode="r")

    lexical.prepare()

    known = compiled_versions()
    text, offsets = vocabulary.write_terms(["a", "policy"])
    text.tofile(tmp_path / "terms")
    terms = vocabulary.Vocabulary(text=np.memmap(tmp_path / "terms", dtype=np.uint8, mode="r"), offsets=offsets)
    assert terms["policy"] == 1
    statistics = gather(units.postings, mapped, ranges=everything, formula=formula("plus"))
    lexical.topk(units.postings, mapped, statistics, ["policy"], ranges=everything, order=units.order, k=2)
    lexical.score(units.postings, units.lengths, statistics, ["policy"], ranges=everything)
    assert compiled_versions() == known


def compiled_versions() -> list[int]:
    """For how many argument types each loop was compiled."""
    loops: list[Any] = [
        lexical._add_weights,
        lexical_topk.fill_best,
        vocabulary._find,
        postings_module._count_rows,
        statistics_module._add_lengths,
    ]
    return [len(loop.signatures) for loop in loops]


def test_a_row_outside_the_ranges_is_refused() -> None:
    units, _ = whole(POLICIES)

    with pytest.raises(ValueError, match="only usable rows are scored"):
        units.score_rows(["policy"], RowRanges.from_pairs([(0, 2)]), [1, 2])
