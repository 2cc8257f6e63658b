"""Tests of index/fusion.py: exact, totally ordered fusion (R11, R12, R13)."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.fusion import ChannelScores, Fused, fuse_minmax, fuse_rrf

ONE = 2**32
ROW_ORDER = np.arange(1000, dtype=np.int32)


def ranked(rows: Sequence[int]) -> ChannelScores:
    """A channel that offers these rows, with scores that fall by rank."""
    return ChannelScores(offered=rows, scores={row: -place for place, row in enumerate(dict.fromkeys(rows))})


def scored(scores: dict[int, int]) -> ChannelScores:
    """A channel that offers all it scores, best first."""
    return ChannelScores(offered=sorted(scores, key=lambda row: (-scores[row], row)), scores=scores)


def rows(fused: Sequence[Fused]) -> list[int]:
    return [each.row for each in fused]


def shares(fused: Sequence[Fused]) -> dict[int, float]:
    return {each.row: each.numerator / ONE for each in fused}


def test_rrf_of_two_disjoint_lists_ties_at_every_rank_and_identity_decides() -> None:
    a1, a2, a3, b1, b2, b3 = 10, 21, 30, 11, 20, 31

    fused = fuse_rrf({"lexical": ranked([a1, a2, a3]), "dense": ranked([b1, b2, b3])}, order=ROW_ORDER)

    assert rows(fused) == [a1, b1, b2, a2, a3, b3]
    assert [round(share, 6) for share in shares(fused).values()] == [0.016393] * 2 + [0.016129] * 2 + [0.015873] * 2


def test_rrf_counts_a_duplicate_within_a_channel_once_where_it_came_first() -> None:
    s, x = 1, 2

    fused = fuse_rrf({"lexical": ranked([s, s, s, x]), "dense": ranked([x, s])}, order=ROW_ORDER)

    assert rows(fused) == [s, x]
    assert fused[0].numerator == fused[1].numerator == round(ONE * (Fraction(1, 61) + Fraction(1, 62)))
    assert [dict(each.ranks) for each in fused] == [{"lexical": 1, "dense": 2}, {"lexical": 2, "dense": 1}]


def test_rrf_takes_its_constant_from_the_request() -> None:
    fused = fuse_rrf({"dense": ranked([5])}, rrf_k=1, order=ROW_ORDER)

    assert shares(fused) == {5: 0.5}


def test_rrf_refuses_a_constant_below_1() -> None:
    with pytest.raises(ValueError, match="rrf_k must be at least 1, got 0"):
        fuse_rrf({}, rrf_k=0, order=ROW_ORDER)


def test_a_tie_goes_to_the_better_rank_in_any_channel_before_identity() -> None:
    """R11: identity alone would give 3, 2, 1."""
    lexical, dense = scored({1: 4, 2: 2, 3: 0}), scored({3: 4, 2: 2, 1: 0})

    fused = fuse_minmax({"lexical": lexical, "dense": dense}, order=ROW_ORDER[::-1].copy())

    assert shares(fused) == {1: 0.5, 2: 0.5, 3: 0.5}
    assert rows(fused) == [3, 1, 2]


def test_minmax_gives_a_row_without_a_lexical_match_0_there() -> None:
    a, b, c = 1, 2, 3

    fused = fuse_minmax(
        {"lexical": scored({b: 1, c: 2}), "dense": scored({a: 2, b: 1, c: 0})},
        dense_weight=Fraction(0),
        order=ROW_ORDER,
    )

    assert shares(fused) == {c: 1.0, b: 0.5, a: 0.0}


def test_minmax_gives_equal_scores_1_also_where_they_are_negative() -> None:
    """R12: an `okapi` score may lie below 0; a non-match still gets 0."""
    fused = fuse_minmax(
        {"lexical": scored({1: -5, 2: -5}), "dense": scored({1: 0, 2: 0, 3: 9})},
        dense_weight=Fraction(0),
        order=ROW_ORDER,
    )

    assert shares(fused) == {1: 1.0, 2: 1.0, 3: 0.0}


def test_minmax_gives_a_single_hit_1() -> None:
    fused = fuse_minmax({"lexical": scored({7: -5}), "dense": scored({7: 0})}, order=ROW_ORDER)

    assert shares(fused) == {7: 1.0}


def test_minmax_gives_equal_scores_1_each() -> None:
    fused = fuse_minmax({"lexical": scored({1: 5, 2: 5}), "dense": scored({1: 3, 2: 9})}, order=ROW_ORDER)

    assert shares(fused) == {2: 1.0, 1: 0.5}


def test_minmax_spans_the_union_and_not_the_offer() -> None:
    """Row 3 is offered by lexical alone, but dense scored it too, and lowest."""
    dense = ChannelScores(offered=[1, 2], scores={1: 8, 2: 4, 3: 0})

    fused = fuse_minmax({"lexical": scored({3: 1}), "dense": dense}, order=ROW_ORDER)

    assert shares(fused) == {1: 0.5, 3: 0.5, 2: 0.25}
    assert dict(fused[1].ranks) == {"lexical": 1}
    assert dict(fused[1].scores) == {"lexical": 1, "dense": 0}


def test_minmax_weighs_as_asked() -> None:
    channels = {"lexical": scored({1: 1, 2: 0}), "dense": scored({1: 0, 2: 1})}

    fused = fuse_minmax(channels, dense_weight=Fraction(3, 4), order=ROW_ORDER)

    assert shares(fused) == {2: 0.75, 1: 0.25}


@pytest.mark.parametrize("lexical", [{}, {"lexical": ChannelScores(offered=[], scores={})}], ids=["off", "empty"])
def test_a_channel_that_is_off_or_empty_adds_nothing_and_keeps_its_weight(lexical: dict[str, ChannelScores]) -> None:
    """R15: an empty channel promotes no noise; the ranking is the other channel's."""
    fused = fuse_minmax({**lexical, "dense": scored({1: 4, 2: 8, 3: 0})}, order=ROW_ORDER)

    assert shares(fused) == {2: 0.5, 1: 0.25, 3: 0.0}


def test_no_channel_and_no_row_give_an_empty_ranking() -> None:
    nothing = ChannelScores(offered=[], scores={})

    assert fuse_minmax({}, order=ROW_ORDER) == fuse_rrf({}, order=ROW_ORDER) == []
    assert fuse_minmax({"lexical": nothing, "dense": nothing}, order=ROW_ORDER) == []


def test_rows_whose_rounded_scores_are_equal_are_ordered_by_the_exact_ones() -> None:
    """Row 1 is ahead by 2^-41, though row 2 has the better rank."""
    lexical, dense = scored({8: 2**40, 2: 1, 1: 0}), scored({9: 2**40, 7: 2**39, 1: 2, 2: 0})

    fused = fuse_minmax({"lexical": lexical, "dense": dense}, order=ROW_ORDER)

    assert [(each.row, each.numerator) for each in fused][3:] == [(1, 0), (2, 0)]
    assert [min(each.ranks.values()) for each in fused][3:] == [3, 2]


def test_a_fused_score_rounds_half_to_even() -> None:
    """Shares of 1/2^33 and 3/2^33 are 0.5 and 1.5 units: they round to 0 and 2."""
    channels = {"dense": scored({1: 0, 2: 1, 3: 3, 4: 2**33})}

    fused = fuse_minmax(channels, dense_weight=Fraction(1), order=ROW_ORDER)

    assert {each.row: each.numerator for each in fused} == {4: ONE, 3: 2, 2: 0, 1: 0}


small_scores = st.dictionaries(st.integers(0, 9), st.integers(-4, 4), max_size=8)


@given(small_scores, small_scores, st.fractions(0, 1, max_denominator=100))
def test_minmax_equals_the_definition_in_rational_arithmetic(
    lexical: dict[int, int], dense: dict[int, int], weight: Fraction
) -> None:
    def share(scores: dict[int, int], row: int) -> Fraction:
        if len(set(scores.values())) > 1:
            scores_in_span = [scores.get(other, 0) for other in lexical | dense]
        else:
            scores_in_span = list(scores.values())
        low, high = min(scores_in_span, default=0), max(scores_in_span, default=0)
        if row not in scores:
            return Fraction(0)
        return Fraction(scores[row] - low, high - low) if high > low else Fraction(1)

    fused = fuse_minmax({"lexical": scored(lexical), "dense": scored(dense)}, dense_weight=weight, order=ROW_ORDER)

    exact = {row: (1 - weight) * share(lexical, row) + weight * share(dense, row) for row in lexical | dense}
    assert {each.row: each.numerator for each in fused} == {row: round(value * ONE) for row, value in exact.items()}
    best = {each.row: min(each.ranks.values()) for each in fused}
    assert rows(fused) == sorted(exact, key=lambda row: (-exact[row], best[row], row))


@given(st.lists(st.integers(0, 9), unique=True), st.lists(st.integers(0, 9), unique=True), st.integers(1, 80))
def test_rrf_equals_the_definition_in_rational_arithmetic(lexical: list[int], dense: list[int], rrf_k: int) -> None:
    fused = fuse_rrf({"lexical": ranked(lexical), "dense": ranked(dense)}, rrf_k=rrf_k, order=ROW_ORDER)

    exact = {
        row: sum((Fraction(1, rrf_k + 1 + each.index(row)) for each in (lexical, dense) if row in each), Fraction())
        for row in {*lexical, *dense}
    }
    assert {each.row: each.numerator for each in fused} == {row: round(value * ONE) for row, value in exact.items()}
    best = {each.row: min(each.ranks.values()) for each in fused}
    assert rows(fused) == sorted(exact, key=lambda row: (-exact[row], best[row], row))


def test_the_order_in_which_channels_are_named_changes_nothing() -> None:
    lexical, dense = scored({4: 9, 2: 7, 1: 3}), scored({2: 8, 4: 6, 3: 6})
    one, other = {"lexical": lexical, "dense": dense}, {"dense": dense, "lexical": lexical}

    assert fuse_rrf(one, order=ROW_ORDER) == fuse_rrf(other, order=ROW_ORDER)
    assert fuse_minmax(one, order=ROW_ORDER) == fuse_minmax(other, order=ROW_ORDER)


def test_a_channel_that_offers_a_row_without_a_score_is_refused() -> None:
    torn = {"dense": ChannelScores(offered=[1, 2], scores={1: 3})}

    with pytest.raises(ValueError, match="scores every row"):
        fuse_rrf(torn, order=ROW_ORDER)
    with pytest.raises(ValueError, match="scores every row"):
        fuse_minmax(torn, order=ROW_ORDER)


@pytest.mark.parametrize("weight", [Fraction(-1, 10), Fraction(11, 10)])
def test_a_weight_outside_0_to_1_is_refused(weight: Fraction) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        fuse_minmax({}, dense_weight=weight, order=ROW_ORDER)


def test_a_channel_without_a_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="has weights for"):
        fuse_minmax({"rerank": ranked([1])}, order=ROW_ORDER)
