"""How much does one term add to one unit's lexical score? (pure)

Four formulas. `okapi`, `plus` and `l` are those of the package rank-bm25 0.2.2 with its defaults; `lucene` is its
Okapi with Lucene's idf, which is never negative (Robertson & Zaragoza 2009; Lucene's BM25Similarity). They need
N, document frequency and length over the usable units alone (R9).

Weights are float64, computed in the order written here with no fused or reordered operation, then rounded half to
even to an integer multiple of 2^-32, so that any device adds them to the same score.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.compiled import compiled

SCORE_BITS = 32  # a lexical score is an integer in units of 2^-32
_SCALE = float(2**SCORE_BITS)


class Variant(StrEnum):
    """Which member of the BM25 family (Trotman, Puurula & Burgess 2014)."""

    LUCENE = "lucene"
    OKAPI = "okapi"
    PLUS = "plus"
    L = "l"


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A variant with its parameters. `delta` lifts long units in `plus` and `l`; `epsilon` floors `okapi`'s idf."""

    variant: Variant
    k1: float  # how soon repeats stop to count
    b: float  # how much length counts, 0 to 1
    delta: float
    epsilon: float


DEFAULTS = {
    Variant.LUCENE: Formula(variant=Variant.LUCENE, k1=1.2, b=0.75, delta=0.0, epsilon=0.0),
    Variant.OKAPI: Formula(variant=Variant.OKAPI, k1=1.5, b=0.75, delta=0.0, epsilon=0.25),
    Variant.PLUS: Formula(variant=Variant.PLUS, k1=1.5, b=0.75, delta=1.0, epsilon=0.0),
    Variant.L: Formula(variant=Variant.L, k1=1.5, b=0.75, delta=0.5, epsilon=0.0),
}


def formula(variant: Variant | str, *, k1: str | None = None, b: str | None = None) -> Formula:
    """The variant with its defaults, but for `k1` (0 to 100) and `b` (0 to 1), decimal strings as a recipe holds them.

    Raises ValueError for an unknown variant or a value outside its bounds.

    >>> formula("okapi", b="0.5")
    Formula(variant=<Variant.OKAPI: 'okapi'>, k1=1.5, b=0.5, delta=0.0, epsilon=0.25)
    """
    chosen = DEFAULTS[Variant(variant)]
    return Formula(
        variant=chosen.variant,
        k1=chosen.k1 if k1 is None else _bounded("k1", k1, 100.0),
        b=chosen.b if b is None else _bounded("b", b, 1.0),
        delta=chosen.delta,
        epsilon=chosen.epsilon,
    )


def rarity(chosen: Formula, *, units: int, frequency: int) -> float:
    """The idf of a term that `frequency` >= 1 of `units` hold, before `okapi`'s floor."""
    match chosen.variant:
        case Variant.LUCENE:
            return math.log(1 + (units - frequency + 0.5) / (frequency + 0.5))
        case Variant.OKAPI:
            return math.log(units - frequency + 0.5) - math.log(frequency + 0.5)
        case Variant.PLUS:
            return math.log((units + 1) / frequency)
        case Variant.L:
            return math.log(units + 1) - math.log(frequency + 0.5)


def floored(chosen: Formula, idf: float, *, mean_idf: float) -> float:
    """`okapi` gives a term with a negative idf `epsilon` of the mean idf of the scope's vocabulary instead."""
    return chosen.epsilon * mean_idf if chosen.variant is Variant.OKAPI and idf < 0 else idf


class Curve(NamedTuple):
    """How a weight rises with repeats and falls with length, in one scope: what a compiled loop needs of a formula.

    factors: float64, for each length from 0 to the longest of the scope: `1 - b + b * length / average`, times k1
    but for `l`.
    """

    is_l: bool
    k1: float
    delta: float
    factors: npt.NDArray[np.float64]


def curve(chosen: Formula, *, longest: int, average_length: float) -> Curve:
    """The formula in a scope with these lengths. `average_length` is above 0: some unit has a term."""
    is_l = chosen.variant is Variant.L
    ratios = (1 - chosen.b) + chosen.b * np.arange(longest + 1, dtype=np.float64) / average_length
    return Curve(is_l=is_l, k1=chosen.k1, delta=chosen.delta, factors=ratios if is_l else chosen.k1 * ratios)


@compiled
def to_fixed_point(score: float) -> int:
    """`score` in units of 2^-32, rounded half to even."""
    return int(np.rint(score * _SCALE))


@compiled
def weight(bend: Curve, idf: float, frequency: int, length: int) -> int:
    """What a term adds to a unit of `length` terms that holds it `frequency` >= 1 times, in units of 2^-32.

    `l`: idf * tf * (k1 + 1) * (c + delta) / (k1 + c + delta) with c = tf / factor, from left to right.
    The others: idf * (delta + tf * (k1 + 1) / (factor + tf)); with delta 0 that is idf times the fraction.
    """
    factor = bend.factors[length]
    if bend.is_l:
        lifted = frequency / factor
        score = idf * frequency * (bend.k1 + 1) * (lifted + bend.delta) / (bend.k1 + lifted + bend.delta)
    else:
        score = idf * (bend.delta + frequency * (bend.k1 + 1) / (factor + frequency))
    return to_fixed_point(score)


@compiled
def highest(bend: Curve, idf: float) -> float:
    """No unit of the scope gets more for a term with this idf than this many units of 2^-32; the idf is 0 or more.

    A weight rises with repeats, and at equal repeats falls with length: it is highest for a unit as long as the
    longest that is nothing but the term. The allowance is for float64, which may order two such weights otherwise.
    """
    longest = bend.factors.size - 1
    return weight(bend, idf, longest, longest) * (1 + 2.0**-40) + 1


def _bounded(name: str, text: str, limit: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= limit:
        raise ValueError(f"{name} must be a decimal number from 0 to {limit:g}, got {text!r}")
    return value
