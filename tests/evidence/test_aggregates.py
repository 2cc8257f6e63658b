"""Exact aggregates of a table's numeric columns (R24)."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.aggregates import aggregate, plain

numbers = st.integers(-(2**53), 2**53) | st.decimals(allow_nan=False, allow_infinity=False)


def test_a_column_of_numbers_has_its_count_sum_minimum_and_maximum() -> None:
    rows = [[3, Decimal("0.10")], [-4, Decimal("0.20")], [5, Decimal("0.30")]]

    assert aggregate(["n", "x"], rows) == [
        {"column": "n", "count": 3, "sum": "4", "min": "-4", "max": "5"},
        {"column": "x", "count": 3, "sum": "0.60", "min": "0.10", "max": "0.30"},
    ]


def test_null_is_not_counted_and_a_column_of_nothing_else_has_no_aggregate() -> None:
    assert aggregate(["a", "b"], [[1, None], [None, None]]) == [
        {"column": "a", "count": 1, "sum": "1", "min": "1", "max": "1"}
    ]


def test_texts_and_booleans_are_no_numbers_and_one_of_them_makes_its_column_no_numeric_one() -> None:
    assert aggregate(["text", "flag", "mixed"], [["1", True, 1], ["2", False, "2"]]) == []


@settings(max_examples=100)
@given(st.lists(numbers, min_size=1, max_size=20))
def test_a_sum_is_exact_whatever_the_places_of_its_numbers(cells: list[int | Decimal]) -> None:
    """Against rational arithmetic."""
    (found,) = aggregate(["x"], [[cell] for cell in cells])

    assert isinstance(found, dict)
    assert Fraction(str(found["sum"])) == sum(map(Fraction, cells))
    assert Fraction(str(found["min"])) == min(map(Fraction, cells))
    assert Fraction(str(found["max"])) == max(map(Fraction, cells))


def test_the_largest_and_the_smallest_double_add_up_exactly() -> None:
    extremes = [Decimal(repr(1.7976931348623157e308)), Decimal(repr(5e-324))]

    (found,) = aggregate(["x"], [[cell] for cell in extremes])
    assert isinstance(found, dict)
    assert Fraction(str(found["sum"])) == sum(map(Fraction, extremes))


def test_a_number_is_written_without_an_exponent() -> None:
    assert plain(Decimal("1E+3")) == "1000"
    assert plain(Decimal("1E-7")) == "0.0000001"
