"""Which bytes stand for a record, and what is their digest? (pure)

RFC 8785 (JSON Canonicalization Scheme) without floats: hashed records hold integers below 2^53,
strings, booleans, null, lists and string-keyed objects (R31).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import rfc8785

from evidence.errors import NotCanonical

Json: TypeAlias = "bool | int | str | Sequence[Json] | Mapping[str, Json] | None"

MAX_INTEGER = 2**53 - 1

# For a value that `_is_plain` passes, these are the bytes of RFC 8785, five times as fast as its reference in Python.
_write_plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def canonical(value: Json) -> bytes:
    """The RFC 8785 bytes of `value`. Raises NotCanonical for floats, integers of 2^53 or more, lone surrogates."""
    try:
        if _is_plain(value):
            return _write_plain(value).encode("utf-8")
        _refuse_floats(value)
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise NotCanonical(str(error)) from None
    except UnicodeEncodeError:
        raise NotCanonical("a text holds a lone surrogate, which UTF-8 cannot write") from None


def digest(value: Json) -> str:
    """`sha256:` and the hex SHA-256 of the canonical bytes of `value`."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """`sha256:` and the hex SHA-256 of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_text(text: str) -> str:
    """`sha256:` and the hex SHA-256 of the UTF-8 bytes of `text`."""
    return digest_bytes(text.encode("utf-8"))


def _is_plain(value: Any) -> bool:
    """Whether Python's own JSON has the same bytes: nothing in it but what JSON has a form for, and no key in which the
    order of code points could differ from that of UTF-16 code units."""
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is str or item is None or kind is bool:
            continue
        if kind is dict:
            if not _has_plain_keys(item):
                return False
            pending += item.values()
        elif kind is list or kind is tuple:
            pending += item
        elif kind is not int or not -MAX_INTEGER <= item <= MAX_INTEGER:
            return False
    return True


def _has_plain_keys(record: dict[object, object]) -> bool:
    try:
        return "".join(record).isascii()  # type: ignore[arg-type]  # a key that is no text is found here
    except TypeError:
        return False


def _refuse_floats(value: Json) -> None:
    if isinstance(value, float | Decimal):
        raise NotCanonical("a hashed record holds no floats; scale it to an integer")
    if isinstance(value, Mapping):
        for item in value.values():
            _refuse_floats(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            _refuse_floats(item)
