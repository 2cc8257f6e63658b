"""Is this value of a record what the schema says, and where does it stand when it is not? (pure)

One function a kind of field; each takes the value and its JSON path, returns it typed, and raises InvalidSource.
"""

import re
from collections.abc import Mapping

from evidence.errors import InvalidInstant, InvalidSource
from evidence.instant import Instant, parse_instant
from evidence.strict_json import has_surrogate, key_path

MAX_NAME = 512  # code points
MAX_ENTRIES = 1000  # of one list: each claim is a search through the text

# Cc, and the two separators that end a line: a name is shown on one line.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def as_object(value: object, path: str, *, allowed: tuple[str, ...], required: tuple[str, ...]) -> Mapping[str, object]:
    """`value` as an object that holds every required key and no key but the allowed ones."""
    if not isinstance(value, dict):
        raise _wrong_type(value, path, "an object")
    for key in value:
        if not isinstance(key, str):
            raise InvalidSource(path, "a key must be a string")
        if key not in allowed:
            raise InvalidSource(key_path(path, key), f"unknown key; allowed: {', '.join(allowed)}")
    for key in required:
        if key not in value:
            raise InvalidSource(key_path(path, key), "required, and missing")
    return value


def as_list(value: object, path: str) -> list[tuple[object, str]]:
    """The entries of `value` with their paths, at most MAX_ENTRIES."""
    if not isinstance(value, list):
        raise _wrong_type(value, path, "an array")
    if len(value) > MAX_ENTRIES:
        raise InvalidSource(path, f"{len(value)} entries, at most {MAX_ENTRIES}")
    return [(entry, f"{path}[{index}]") for index, entry in enumerate(value)]


def as_boolean(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(value, path, "true or false")
    return value


def as_text(value: object, path: str) -> str:
    """`value` as a string without NUL and lone surrogates; it may be empty."""
    if not isinstance(value, str):
        raise _wrong_type(value, path, "a string")
    if "\x00" in value:
        raise InvalidSource(path, "NUL is not allowed")
    if has_surrogate(value):
        raise InvalidSource(path, "a lone surrogate is no character")
    return value


def as_passage(value: object, path: str) -> str:
    """`value` as a string that holds more than white space."""
    text = as_text(value, path)
    if not text or text.isspace():
        raise InvalidSource(path, "must not be empty")
    return text


def as_name(value: object, path: str) -> str:
    """`value` as a name: 1 to MAX_NAME code points, no control characters."""
    name = as_optional_name(value, path)
    if not name:
        raise InvalidSource(path, "must not be empty")
    return name


def as_optional_name(value: object, path: str) -> str:
    """`value` as a name, or the empty string, which stands for none."""
    name = as_text(value, path)
    if len(name) > MAX_NAME:
        raise InvalidSource(path, f"{len(name)} characters, at most {MAX_NAME}")
    if _CONTROL.search(name):
        raise InvalidSource(path, "control characters and line breaks are not allowed")
    return name


def as_name_set(value: object, path: str) -> tuple[str, ...]:
    """`value` as a set of names: sorted by code point, repeats dropped."""
    return tuple(sorted({as_name(entry, place) for entry, place in as_list(value, path)}))


def as_instant(value: object, path: str) -> Instant | None:
    """`value` as a moment; null is open."""
    if value is None:
        return None
    try:
        return parse_instant(as_text(value, path))
    except InvalidInstant as error:
        raise InvalidSource(path, str(error)) from None


def kind_of(value: object) -> str:
    """What JSON calls the type of `value`.

    >>> kind_of(True), kind_of(1), kind_of(None)
    ('a boolean', 'an integer', 'null')
    """
    if value is None:
        return "null"
    kinds = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return kinds.get(type(value), "no JSON value")


def _wrong_type(value: object, path: str, wanted: str) -> InvalidSource:
    return InvalidSource(path, f"must be {wanted}, got {kind_of(value)}")
