"""Which value do these bytes stand for, read so that no two readers could disagree? (pure)

I-JSON (RFC 7493) and a little more: duplicate keys, NaN, Infinity, numbers beyond a double, integers beyond 2^53 - 1,
lone surrogates, invalid UTF-8, a byte order mark, trailing data and nesting deeper than 64 are refused. One reader
for source lines and for HTTP bodies, which take numbers as they were written. Not useful for writing: see canonical.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

from evidence.errors import EvidenceError, InvalidNumber
from evidence.written_number import written_number

MAX_INTEGER = 2**53 - 1  # RFC 7493, section 2.2: what every reader holds exactly
MAX_DEPTH = 64

_MAX_KEY_SHOWN = 64
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
# A string is consumed whole, without backtracking and also where it never closes, so that the scan is linear.
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


class InvalidJson(EvidenceError):
    """The bytes are no strict JSON.

    path: JSON path of the offending value, `$` where only a position is known.
    problem: one line: what is wrong and what is allowed; never content but a repeated key's name in the path.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class _Refused:
    """Stands in the parsed tree where a value was refused, so that its path can be found."""

    __slots__ = ("key", "problem")

    def __init__(self, problem: str, key: str | None = None) -> None:
        self.problem = problem
        self.key = key


def loads(data: bytes) -> object:
    """The value: dict, list, str, int, float, bool or None. A float is finite; an underflow is 0.0.

    Raises InvalidJson, and nothing else. Time and memory are linear in the length of `data`.

    >>> loads(b'{"a": [1, true]}')
    {'a': [1, True]}
    """
    return _loads(data, _double)


def loads_exactly(data: bytes) -> object:
    """As `loads`, but a number with a fraction or an exponent is the Decimal that was written, digit for digit (R24).

    It too is within the range of a double, and has no more digits than `written_number` takes; one that a double holds
    as zero is kept.

    >>> loads_exactly(b'[0.10, 12345678901234567.5, 3]')
    [Decimal('0.10'), Decimal('12345678901234567.5'), 3]
    """
    return _loads(data, _decimal)


def _loads(data: bytes, number: Callable[[str], float | Decimal]) -> object:
    """`number`: what a number with a fraction or an exponent becomes; raises InvalidNumber."""
    text = _decode(data)
    _check_depth(data)
    refused: list[_Refused] = []

    def refuse(problem: str, key: str | None = None) -> _Refused:
        refused.append(_Refused(problem, key))
        return refused[-1]

    def unique(pairs: list[tuple[str, object]]) -> object:
        record = dict(pairs)
        if len(record) == len(pairs):
            return record
        return refuse("duplicate key", _first_repeated(key for key, _ in pairs))

    def integer(digits: str) -> object:
        # Up to 16 digits and a sign: int() is never given a text whose conversion is slow.
        value = int(digits) if len(digits) <= 17 else MAX_INTEGER + 1
        return value if abs(value) <= MAX_INTEGER else refuse("an integer is at most 2^53 - 1; use a string")

    def real(digits: str) -> object:
        try:
            return number(digits)
        except InvalidNumber as error:
            return refuse(str(error))

    def constant(name: str) -> object:
        return refuse(f"{name} is no JSON value")

    try:
        value: object = json.loads(
            text, object_pairs_hook=unique, parse_int=integer, parse_float=real, parse_constant=constant
        )
    except json.JSONDecodeError as error:
        raise InvalidJson("$", f"not JSON at character {error.pos + 1}: {error.msg.rstrip(': ')}") from None
    if refused:
        raise next(_refusals(value, "$"))
    if _SURROGATE_ESCAPE.search(data):
        _check_surrogates(value, "$")
    return value


def key_path(path: str, key: str) -> str:
    """The JSON path of `key` under `path`, always one short line of ASCII.

    >>> key_path("$", "access"), key_path("$", "a b")
    ('$.access', '$["a b"]')
    """
    if _PLAIN_KEY.fullmatch(key):
        return f"{path}.{key}"
    shown = key if len(key) <= _MAX_KEY_SHOWN else key[:_MAX_KEY_SHOWN] + "..."
    return f"{path}[{json.dumps(shown)}]"


def has_surrogate(text: str) -> bool:
    """Whether `text` holds a lone surrogate, which no UTF-8 can write."""
    return _SURROGATE.search(text) is not None


def _double(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidNumber("a number is within the range of a double; use a string")
    return value


def _decimal(text: str) -> Decimal:
    _double(text)
    return written_number(text)


def _decode(data: bytes) -> str:
    if data.startswith(_BYTE_ORDER_MARK):
        raise InvalidJson("$", "starts with a byte order mark; send UTF-8 without one")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJson("$", f"not UTF-8 at byte {error.start + 1}") from None


def _check_depth(data: bytes) -> None:
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(data):
        token = match[0]
        if token in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidJson("$", f"nested deeper than {MAX_DEPTH} at byte {match.start() + 1}")
        elif token in b"]}":
            depth -= 1


def _first_repeated(keys: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None


def _refusals(value: object, path: str) -> Iterator[InvalidJson]:
    """The refused places of a parsed tree, in document order. Recursion ends at MAX_DEPTH."""
    if isinstance(value, _Refused):
        yield InvalidJson(path if value.key is None else key_path(path, value.key), value.problem)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _refusals(item, key_path(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _refusals(item, f"{path}[{index}]")


def _check_surrogates(value: object, path: str) -> None:
    """Raises InvalidJson at the first lone surrogate of a parsed tree. Recursion ends at MAX_DEPTH."""
    if isinstance(value, str):
        if has_surrogate(value):
            raise InvalidJson(path, "a lone surrogate is no character")
    elif isinstance(value, dict):
        for key, item in value.items():
            place = key_path(path, key)
            _check_surrogates(key, place)
            _check_surrogates(item, place)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_surrogates(item, f"{path}[{index}]")
