"""Which fields do several request bodies hold, and what is refused with one clear word?"""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from evidence.strict_json import loads_exactly
from server.errors import Invalid
from server.parsing import parse
from server.schemas import PacketRequest


def body(fields: str) -> PacketRequest:
    """A request with these fields, read as a body is."""
    return parse(loads_exactly(f'{{"query": "q", {fields}}}'.encode()), PacketRequest)


def table(cell: str) -> str:
    return f'"tool_results": [{{"tool": "t", "columns": ["a"], "rows": [[1], [{cell}]]}}]'


@pytest.mark.parametrize("number", ["0.10", "12345678901234567.5", "1234567890.123456789", "-0.0", "1E+3"])
def test_a_cell_is_the_number_that_the_body_wrote(number: str) -> None:
    """R24."""
    cell = body(table(number)).tool_results[0].rows[1][0]

    assert isinstance(cell, Decimal)
    assert str(cell) == number


@pytest.mark.parametrize(("cell", "kind"), [("7", int), ("true", bool), ('"7"', str), ("null", type(None))])
def test_a_cell_of_another_kind_stays_of_that_kind(cell: str, kind: type) -> None:
    assert type(body(table(cell)).tool_results[0].rows[1][0]) is kind


@pytest.mark.parametrize("cell", ["[]", "{}", '"\\u0000"', '"' + "x" * 8193 + '"'])
def test_a_refused_cell_is_named_by_its_place_and_by_nothing_of_this_process(cell: str) -> None:
    """R6: the words of two servers are the same."""
    with pytest.raises(Invalid) as refused:
        body(table(cell))

    assert refused.value.path == "$.tool_results[0].rows[1][0]"
    assert str(refused.value).endswith(
        "a cell is a text of at most 8192 characters without NUL, a number, a boolean or null; an integer is at most"
        " 2^53 - 1"
    )


def test_a_float_is_no_cell_because_it_is_no_longer_what_a_body_wrote() -> None:
    table: dict[str, Any] = {"tool": "t", "columns": ["a"], "rows": [[0.1]]}

    with pytest.raises(Invalid):
        parse({"query": "q", "tool_results": [table]}, PacketRequest)


@pytest.mark.parametrize(
    ("weight", "fraction"),
    [("0.3", "3/10"), ("1", "1"), ("0.12345678901234567891", "12345678901234567891/" + "1" + "0" * 20)],
)
def test_a_weight_is_exactly_what_the_body_wrote(weight: str, fraction: str) -> None:
    """R12."""
    assert body(f'"fusion": {{"dense_weight": {weight}}}').fusion.weight == Fraction(fraction)


@pytest.mark.parametrize("weight", ["true", '"0.5"', "[]", "1.5", "-0.1", "2"])
def test_what_is_no_weight_is_refused_at_its_place(weight: str) -> None:
    with pytest.raises(Invalid) as refused:
        body(f'"fusion": {{"dense_weight": {weight}}}')

    assert refused.value.path == "$.fusion.dense_weight"
