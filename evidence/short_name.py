"""Which short name do equal records share? (pure)"""

import hashlib

from evidence.canonical import Json, canonical

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O, U to misread
_CHARACTERS = 16  # 80 bits: two of a million names collide with a chance of 4 in 10^13


def pattern_of(prefix: str) -> str:
    """A regular expression for what `short_name` gives under `prefix`, which is taken as it stands."""
    return f"{prefix}[{_ALPHABET}]{{{_CHARACTERS}}}"


def short_name(prefix: str, value: Json) -> str:
    """`prefix` and 16 characters of Crockford's base 32: the first 80 bits of a SHA-256 over the canonical `value`."""
    bits = int.from_bytes(hashlib.sha256(canonical(value)).digest(), "big") >> (256 - 5 * _CHARACTERS)
    return prefix + "".join(_ALPHABET[bits >> 5 * place & 31] for place in reversed(range(_CHARACTERS)))
