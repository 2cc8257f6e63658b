"""Which number did a text write, digit for digit? (pure)

For numbers that are handed on and summed exactly: a double would alter 0.10 and 12345678901234567.5 in silence. Not
useful for arithmetic within a bound of error; that is what a double is for.
"""

import re
from decimal import Decimal

from evidence.errors import InvalidNumber

MAX_DIGITS = 400  # of a number written out without an exponent; the smallest double has 340, the largest 309

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,8})?", re.ASCII)
_MAX_TEXT = MAX_DIGITS + 12  # a sign, a point and an exponent come on top


def written_number(text: str) -> Decimal:
    """The decimal that `text` writes as JSON writes numbers, its last zeros kept.

    Raises InvalidNumber for another text, and for a number that takes more than MAX_DIGITS digits where no exponent
    shortens it: whoever writes it out, or adds it up, is never made to write more.

    >>> written_number("0.10"), written_number("1.5e3")
    (Decimal('0.10'), Decimal('1.5E+3'))
    """
    if len(text) > _MAX_TEXT:
        raise _too_long()
    if _NUMBER.fullmatch(text) is None:
        raise InvalidNumber("is no number, or has an exponent of more than 8 digits")
    number = Decimal(text)
    places = max(-int(number.as_tuple().exponent), 0)
    if max(number.adjusted(), 0) + 1 + places > MAX_DIGITS:
        raise _too_long()
    return number


def _too_long() -> InvalidNumber:
    return InvalidNumber(f"a number has at most {MAX_DIGITS} digits, written without an exponent; use a string")
