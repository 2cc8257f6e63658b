"""Tests of `eval/distinguishing.py`."""

import math
import statistics

import numpy as np
import pytest

from eval.distinguishing import AUC_LIMIT, T_LIMIT, Times, attack, auc, in_groups, strongest, welch

N = 20_000


def normal(seed: int, *, mean: float = 0.0, n: int = N) -> Times:
    return np.random.default_rng(seed).normal(mean, 1.0, n)


def test_welch_is_the_difference_in_standard_errors() -> None:
    first, second = normal(1, n=50), 3 * normal(2, mean=0.5, n=80)

    error = math.sqrt(
        statistics.variance(first.tolist()) / len(first) + statistics.variance(second.tolist()) / len(second)
    )
    difference = statistics.fmean(second.tolist()) - statistics.fmean(first.tolist())
    assert welch(first, second) == pytest.approx(difference / error)
    assert welch(second, first) == pytest.approx(-difference / error)


def test_measurements_that_never_vary_differ_infinitely_or_not_at_all() -> None:
    assert welch(np.ones(3), np.ones(3)) == 0.0
    assert welch(np.ones(3), np.full(3, 2.0)) == math.inf
    assert welch(np.full(3, 2.0), np.ones(3)) == -math.inf


def test_a_variance_of_one_measurement_is_refused() -> None:
    with pytest.raises(ValueError, match="two measurements"):
        welch(np.ones(1), np.ones(9))


def test_equal_classes_stay_below_the_limits() -> None:
    first, second = normal(3), normal(4)

    assert abs(strongest(first, second).t) < T_LIMIT
    assert attack(first, second) < AUC_LIMIT


def test_a_small_shift_is_seen_through_a_slow_tail_that_hides_it_from_the_plain_test() -> None:
    first, second = normal(5), normal(6, mean=0.1)
    for times in (first, second):
        times[::100] += 1000 * np.random.default_rng(7).random(len(times[::100]))

    found = strongest(first, second)
    assert abs(welch(first, second)) < 1
    assert found.t > T_LIMIT
    assert found.crop < 1.0
    assert found.kept < 2 * N


def test_the_attacker_of_a_shifted_normal_does_as_well_as_theory_says() -> None:
    """The AUC of two normal classes one standard deviation apart is Phi(1 / sqrt 2) = 0.760."""
    assert attack(normal(8), normal(9, mean=1.0)) == pytest.approx(0.760, abs=0.01)


def test_the_attacker_sees_a_difference_that_no_mean_has() -> None:
    wide = 3 * normal(11)

    assert attack(normal(10), wide) > 0.7


def test_the_attacker_judges_what_was_not_learned_from() -> None:
    """Every measurement is a value of its own: who judged what was learned would be right throughout."""
    first, second = normal(12, n=100), normal(13, n=100)

    assert attack(first, second) < 0.65


def test_equal_scores_count_half() -> None:
    assert auc(np.ones(4), np.ones(5)) == 0.5
    assert auc(np.zeros(4), np.ones(5)) == 1.0


def test_groups_are_means_in_order_without_a_rest() -> None:
    assert in_groups(np.array([1.0, 3.0, 5.0, 7.0, 100.0]), 2).tolist() == [2.0, 6.0]
