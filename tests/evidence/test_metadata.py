"""Tests of `evidence/metadata.py`: which metadata a source may carry."""

import pytest

from evidence.errors import InvalidSource
from evidence.metadata import parse_metadata


def test_metadata_is_kept_in_one_form_whatever_the_order_of_its_keys() -> None:
    """R31."""
    assert parse_metadata({"b": [1, "x", True], "a": "é"}) == '{"a":"é","b":[1,"x",true]}'


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([], "$.metadata"),
        ({"a": 1.5}, "$.metadata.a"),
        ({"a": None}, "$.metadata.a"),
        ({"a": {"b": 1}}, "$.metadata.a"),
        ({"a": ["x", 2**53]}, "$.metadata.a[1]"),
        ({"a": [["x"]]}, "$.metadata.a[0]"),
    ],
)
def test_what_has_no_one_form_is_refused_at_its_place(value: object, path: str) -> None:
    with pytest.raises(InvalidSource) as refused:
        parse_metadata(value)

    assert refused.value.path == path
