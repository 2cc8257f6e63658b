"""When two claims say the same (R18)."""

import pytest

from evidence.claim_value import plain_value, same_value


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("25", " 25\t", True),
        ("caf\u00e9", "cafe\u0301", True),  # NFC
        ("\ufb01ve", "five", False),  # no NFKC: a ligature is another character
        ("Yes", "yes", False),
        ("25", "25.0", False),
        ("a b", "ab", False),
        ("2 5", "2  5", False),  # space inside counts
    ],
)
def test_values_are_compared_after_nfc_and_trim_and_nothing_else(one: str, other: str, same: bool) -> None:
    assert same_value(one, other) is same
    assert (plain_value(one) == plain_value(other)) is same
