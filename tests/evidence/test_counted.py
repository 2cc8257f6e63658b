"""Tests of `evidence/counted.py`."""

import pytest

from evidence.counted import counted


@pytest.mark.parametrize(("number", "words"), [(0, "0 units"), (1, "1 unit"), (2, "2 units")])
def test_one_thing_alone_stands_in_the_singular(number: int, words: str) -> None:
    assert counted(number, "unit") == words
