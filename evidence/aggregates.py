"""What do all rows of a table come to, exactly? (pure)

Count, sum, minimum and maximum of each numeric column, in exact decimal arithmetic. No mean: it need not be exact.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext

from evidence.canonical import Json


def aggregate(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Json]:
    """One record a numeric column, in the order of the columns; numbers are decimal strings.

    A column is numeric when it holds a number and otherwise nothing but null; true and false are no numbers.
    `count` is how many of its cells hold one.

    >>> aggregate(["name", "price"], [["a", 3], ["b", None], ["c", Decimal("0.50")]])
    [{'column': 'price', 'count': 2, 'sum': '3.50', 'min': '0.50', 'max': '3'}]
    """
    found: list[Json] = []
    for place, column in enumerate(columns):
        cells = [row[place] for row in rows if row[place] is not None]
        numbers = [cell for cell in cells if isinstance(cell, int | Decimal) and not isinstance(cell, bool)]
        if not numbers or len(numbers) < len(cells):
            continue
        found.append(
            {
                "column": column,
                "count": len(numbers),
                "sum": plain(_sum(numbers)),
                "min": plain(Decimal(min(numbers))),
                "max": plain(Decimal(max(numbers))),
            }
        )
    return found


def plain(number: Decimal) -> str:
    """A decimal without an exponent, its last zeros kept.

    >>> plain(Decimal("1E+3")), plain(Decimal("2.50"))
    ('1000', '2.50')
    """
    return f"{number:f}"


def _sum(numbers: Sequence[int | Decimal]) -> Decimal:
    """Exactly. Integers are summed as such: a table of them is summed many times faster."""
    whole = Decimal(sum(number for number in numbers if isinstance(number, int)))
    fractions = [number for number in numbers if isinstance(number, Decimal)]
    return _sum_of_decimals([whole, *fractions]) if fractions else whole


def _sum_of_decimals(numbers: Sequence[Decimal]) -> Decimal:
    """Exactly: with so many digits that nothing is rounded, from the highest place of any number, with a place for
    each carry, to the lowest."""
    highest = max(number.adjusted() for number in numbers) + len(str(len(numbers)))
    lowest = min(int(number.as_tuple().exponent) for number in numbers)
    with localcontext(prec=highest - min(lowest, 0) + 2):
        return sum(numbers, start=Decimal(0))
