"""Moments: what is read, what is refused, and that all of it can be written again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.errors import InvalidInstant
from evidence.instant import Instant, format_instant, parse_instant

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # 0001-01-01 and the last microsecond of 9999, in UTC


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01z", 1_000_000),
        ("1970-01-01t00:00:00.5Z", 500_000),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1969-12-31T23:59:59Z", -1_000_000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T18:30:00-05:30", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("2000-02-29T00:00:00Z", 951_782_400_000_000),
        ("0001-01-01T00:00:00Z", FIRST),
        ("9999-12-31T23:59:59.999999Z", LAST),
    ],
)
def test_a_date_time_with_a_zone_names_one_moment(text: str, microseconds: int) -> None:
    assert parse_instant(text) == microseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2025-03-01",
        "2025-03-01T00:00:00",  # no zone
        "2025-03-01 00:00:00Z",
        "2025-03-01T00:00Z",
        "2025-3-1T00:00:00Z",
        "20250301T000000Z",
        "2025-02-29T00:00:00Z",
        "2025-13-01T00:00:00Z",
        "2025-03-01T24:00:00Z",
        "2025-03-01T23:59:60Z",  # a leap second
        "2025-03-01T00:60:00Z",
        "2025-03-01T00:00:00.Z",
        "2025-03-01T00:00:00.1234567Z",
        "2025-03-01T00:00:00+0100",
        "2025-03-01T00:00:00+24:00",
        "2025-03-01T00:00:00+00:60",
        "2025-03-01T00:00:00+05:99",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",  # before the year 1 in UTC
        "9999-12-31T23:59:59-00:01",  # after the year 9999 in UTC
        "2025-03-01T00:00:00Z\n",
        " 2025-03-01T00:00:00Z",
        "２０２５-03-01T00:00:00Z",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidInstant):
        parse_instant(text)


def test_the_error_does_not_repeat_what_was_given() -> None:
    with pytest.raises(InvalidInstant) as caught:
        parse_instant("secret")

    assert "secret" not in str(caught.value)


@given(st.integers(FIRST, LAST))
def test_every_moment_that_can_be_named_reads_back_as_it_was_written(at: int) -> None:
    assert parse_instant(format_instant(Instant(at))) == at


def test_moments_are_written_in_utc_and_without_a_fraction_of_zero() -> None:
    assert format_instant(parse_instant("2025-03-01T00:30:00.250+01:00")) == "2025-02-28T23:30:00.250000Z"
    assert format_instant(parse_instant("2025-03-01T00:00:00.000Z")) == "2025-03-01T00:00:00Z"
