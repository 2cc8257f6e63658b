"""Do two claims say the same? (pure)"""

import unicodedata


def plain_value(value: str) -> str:
    """A claim's value as it is compared: in NFC, without the space around it (R18)."""
    return unicodedata.normalize("NFC", value).strip()


def same_value(one: str, other: str) -> bool:
    """Whether two claim values say the same.

    >>> same_value(" 25 ", "25"), same_value("25", "25 MB")
    (True, False)
    """
    return plain_value(one) == plain_value(other)
