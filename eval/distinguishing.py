"""Can two worlds be told apart by how long their answers take? (pure)

Useful for saying how much time tells. Not useful for proving that it tells nothing: a test that finds no difference
has found none at this many measurements, on this machine.

Times are arrays of float64, one measurement each, in any unit.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Reparaz, Balasch & Verbauwhede, "Dude, is my code constant time?", DATE 2017: Welch's t over measurements without the
# slow tail, cut at several thresholds that are the same for both classes.
CROPS = (1.0, 0.999, 0.99, 0.95, 0.9, 0.75, 0.5)
T_LIMIT = 4.5  # of |t|: Goodwill et al., "A testing methodology for side-channel resistance validation", NIST 2011
AUC_LIMIT = 0.52
BINS = 64

Times = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Welch:
    """Welch's t of two classes. crop: the quantile of both together beyond which measurements were left out.

    difference: of the means, second less first. kept: measurements of both that are left.
    """

    t: float
    difference: float
    crop: float
    kept: int


def welch(first: Times, second: Times) -> float:
    """Welch's t: how many standard errors the second mean lies above the first; 0.0 where nothing varies or differs.

    Raises ValueError for fewer than two measurements.

    >>> round(welch(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])), 4)
    1.2247
    """
    if min(len(first), len(second)) < 2:
        raise ValueError("a variance needs two measurements of each class")
    error = math.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    difference = float(second.mean() - first.mean())
    if error == 0.0:
        return 0.0 if difference == 0.0 else math.copysign(math.inf, difference)
    return difference / error


def strongest(first: Times, second: Times) -> Welch:
    """The crop whose |t| is largest: the most that this test can make of the difference.

    Looking at several crops makes a large value by chance a little likelier than one would.
    """
    together = np.concatenate([first, second])
    found = []
    for crop in CROPS:
        threshold = np.quantile(together, crop)
        left, right = first[first <= threshold], second[second <= threshold]
        if min(len(left), len(right)) >= 2:
            found.append(
                Welch(
                    t=welch(left, right),
                    difference=float(right.mean() - left.mean()),
                    crop=crop,
                    kept=len(left) + len(right),
                )
            )
    return max(found, key=lambda one: abs(one.t))


def attack(first: Times, second: Times) -> float:
    """The AUC of an attacker who learns from every other measurement and judges the rest.

    The attacker counts how often each class falls into each of BINS intervals that hold equal shares of all, and judges
    by the ratio. 0.5 is guessing, 1.0 is certainty; below 0.5 what was learned was chance. Raises ValueError for fewer
    than four measurements of a class.
    """
    if min(len(first), len(second)) < 4:
        raise ValueError("learning and judging need two measurements each")
    learned = np.concatenate([first[::2], second[::2]])
    edges = np.unique(np.quantile(learned, np.linspace(0, 1, BINS + 1)[1:-1]))
    ratios = np.log(_shares(second[::2], edges)) - np.log(_shares(first[::2], edges))
    return auc(ratios[np.searchsorted(edges, first[1::2])], ratios[np.searchsorted(edges, second[1::2])])


def auc(low: Times, high: Times) -> float:
    """How often a score of `high` lies above one of `low`; equal ones count half (Mann & Whitney).

    >>> auc(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.875
    """
    ordered = np.sort(low)
    below = np.searchsorted(ordered, high, side="left")
    not_above = np.searchsorted(ordered, high, side="right")
    return float((below + not_above).sum() / (2 * len(low) * len(high)))


def auc_error(low: int, high: int) -> float:
    """The standard error of the AUC of so many scores of two classes that do not differ (Mann & Whitney).

    >>> round(auc_error(50, 50), 3)
    0.058
    """
    return math.sqrt((low + high + 1) / (12 * low * high))


def in_groups(times: Times, size: int) -> Times:
    """Means of `size` measurements each, in their order, a rest left out: what an attacker gets who asks so often."""
    whole = len(times) - len(times) % size
    means: Times = times[:whole].reshape(-1, size).mean(axis=1)
    return means


def _shares(times: Times, edges: Times) -> Times:
    """The share of measurements in each interval, none of them zero (Laplace)."""
    counts = np.bincount(np.searchsorted(edges, times), minlength=len(edges) + 1) + 1.0
    shares: Times = counts / counts.sum()
    return shares
