"""Tests of index/bm25.py: formulas, parameters and rounding."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.bm25 import Formula, Variant, curve, formula, highest, rarity, to_fixed_point, weight

frequencies = st.integers(1, 3000)
lengths = st.integers(1, 3000)
averages = st.fractions(1, 500, max_denominator=997).map(float)
idfs = st.floats(-5, 25, allow_nan=False)


def fixed(score: float) -> int:
    """Python's own rounding is half to even, over the exact value of the float."""
    return round(score * 2**32)


@settings(deadline=None)  # the first call compiles
@given(idfs, frequencies, lengths, averages, st.sampled_from(["lucene", "okapi", "plus"]))
def test_a_weight_is_the_written_formula_bit_for_bit(
    idf: float, frequency: int, length: int, average: float, variant: str
) -> None:
    """R9: Python never fuses or reorders, so neither does the compiled loop."""
    chosen = formula(variant)

    found = weight(curve(chosen, longest=length, average_length=average), idf, frequency, length)

    factor = chosen.k1 * (1 - chosen.b + chosen.b * length / average)
    assert found == fixed(idf * (chosen.delta + frequency * (chosen.k1 + 1) / (factor + frequency)))


@settings(deadline=None)  # the first call compiles
@given(idfs, frequencies, lengths, averages)
def test_a_weight_of_l_is_the_written_formula_bit_for_bit(
    idf: float, frequency: int, length: int, average: float
) -> None:
    chosen = formula("l")
    k1, delta = chosen.k1, chosen.delta

    found = weight(curve(chosen, longest=length, average_length=average), idf, frequency, length)

    lifted = frequency / (1 - chosen.b + chosen.b * length / average)
    assert found == fixed(idf * frequency * (k1 + 1) * (lifted + delta) / (k1 + lifted + delta))


@settings(deadline=None)  # the first call compiles
@given(st.floats(0, 25), lengths, st.data(), averages, st.sampled_from(["lucene", "okapi", "plus", "l"]))
def test_no_weight_in_a_scope_is_above_the_highest(
    idf: float, longest: int, data: st.DataObject, average: float, variant: str
) -> None:
    length = data.draw(st.integers(1, longest))
    frequency = data.draw(st.integers(1, length))
    bend = curve(formula(variant), longest=longest, average_length=average)

    assert weight(bend, idf, frequency, length) <= highest(bend, idf)
    assert weight(bend, idf, longest, longest) >= highest(bend, idf) * (1 - 1e-11) - 1


@pytest.mark.parametrize(
    ("units", "fixed_point"), [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (0.75, 1), (-0.25, 0)]
)
def test_a_score_rounds_half_to_even(units: float, fixed_point: int) -> None:
    assert to_fixed_point(units / 2**32) == fixed_point


@pytest.mark.parametrize(
    ("variant", "idf"),
    [
        ("lucene", math.log(1 + 6.5 / 4.5)),
        ("okapi", math.log(6.5 / 4.5)),
        ("plus", math.log(11 / 4)),
        ("l", math.log(11 / 4.5)),
    ],
)
def test_the_idf_of_a_term_in_4_of_10_units(variant: str, idf: float) -> None:
    assert rarity(formula(variant), units=10, frequency=4) == pytest.approx(idf, rel=1e-14)


def test_lucenes_idf_is_above_0_even_for_a_term_in_every_unit() -> None:
    assert rarity(formula("lucene"), units=1_000_000, frequency=1_000_000) > 0


def test_parameters_can_be_set_and_others_keep_the_variants_defaults() -> None:
    assert formula("plus", k1="0.9") == Formula(variant=Variant.PLUS, k1=0.9, b=0.75, delta=1.0, epsilon=0.0)
    assert formula("lucene", b="0") == Formula(variant=Variant.LUCENE, k1=1.2, b=0.0, delta=0.0, epsilon=0.0)


@pytest.mark.parametrize("parameters", [{"k1": "-1"}, {"k1": "101"}, {"b": "1.01"}, {"b": "nan"}, {"k1": "wide"}])
def test_a_parameter_outside_its_bounds_is_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must be a decimal number from 0 to"):
        formula("lucene", k1=parameters.get("k1"), b=parameters.get("b"))


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(ValueError, match="bm26"):
        formula("bm26")


def test_a_curve_has_a_factor_for_every_length_up_to_the_longest() -> None:
    bend = curve(formula("lucene"), longest=4, average_length=2.0)

    assert bend.factors == pytest.approx(1.2 * np.array([0.25, 0.625, 1.0, 1.375, 1.75]))
