"""Which bytes stand for a record, and what is their digest? (pure)

RFC 8785 (JSON Canonicalization Scheme) without floats: hashed records hold integers below 2^53,
strings, booleans, null, lists and string-keyed objects (R31).
"""

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

import rfc8785

from evidence.errors import NotCanonical

Json: TypeAlias = "bool | int | str | Sequence[Json] | Mapping[str, Json] | None"


def canonical(value: Json) -> bytes:
    """The RFC 8785 bytes of `value`. Raises NotCanonical for floats, integers of 2^53 or more, lone surrogates."""
    _refuse_floats(value)
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise NotCanonical(str(error)) from None
    except UnicodeEncodeError:  # rfc8785 lets it through where an object key holds a lone surrogate
        raise NotCanonical("an object key holds a lone surrogate, which UTF-8 cannot write") from None


def digest(value: Json) -> str:
    """`sha256:` and the hex SHA-256 of the canonical bytes of `value`."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """`sha256:` and the hex SHA-256 of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_text(text: str) -> str:
    """`sha256:` and the hex SHA-256 of the UTF-8 bytes of `text`."""
    return digest_bytes(text.encode("utf-8"))


def _refuse_floats(value: Json) -> None:
    if isinstance(value, float | Decimal):
        raise NotCanonical("a hashed record holds no floats; scale it to an integer")
    if isinstance(value, Mapping):
        for item in value.values():
            _refuse_floats(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            _refuse_floats(item)
