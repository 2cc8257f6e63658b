"""Which numbers are kept digit for digit, and which are refused?"""

from decimal import Decimal

import pytest

from evidence.errors import InvalidNumber
from evidence.written_number import MAX_DIGITS, written_number


@pytest.mark.parametrize("text", ["0.10", "-0.0", "1.5e3", "1E-7", "12345678901234567.5", "1234567890.123456789", "7"])
def test_a_number_keeps_every_digit_that_was_written(text: str) -> None:
    """R24."""
    number = written_number(text)

    assert (number, number.as_tuple()) == (Decimal(text), Decimal(text).as_tuple())


@pytest.mark.parametrize(
    "text", ["0." + "0" * (MAX_DIGITS - 2) + "1", "1" * MAX_DIGITS, f"1e{MAX_DIGITS - 1}", f"1e-{MAX_DIGITS - 1}"]
)
def test_a_number_of_exactly_the_most_digits_is_kept_and_one_digit_more_is_refused(text: str) -> None:
    longer = text.replace(str(MAX_DIGITS - 1), str(MAX_DIGITS)) if "e" in text else text + "1"

    assert len(f"{written_number(text):f}".replace(".", "")) == MAX_DIGITS
    with pytest.raises(InvalidNumber, match=rf"^a number has at most {MAX_DIGITS} digits"):
        written_number(longer)


@pytest.mark.parametrize("text", ["1e99999999", "1e-99999999", "0e99999999", "1" * 1_000_000, "1e" + "9" * 30])
def test_an_enormous_number_is_refused_before_any_work(text: str) -> None:
    with pytest.raises(InvalidNumber):
        written_number(text)


@pytest.mark.parametrize("text", ["", "x", "NaN", "Infinity", "1_000", " 1", "1.", ".5", "+1", "1,5", "١"])
def test_what_json_would_not_write_as_a_number_is_none(text: str) -> None:
    with pytest.raises(InvalidNumber, match="no number"):
        written_number(text)
