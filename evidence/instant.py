"""Which moment does a text name? (pure)

A moment is an integer count of microseconds since 1970-01-01T00:00:00Z, so that comparing, storing and
hashing it needs no time zone and no float.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import NewType

from evidence.errors import InvalidInstant

Instant = NewType("Instant", int)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt]((?!24)\d{2}:\d{2}:\d{2})(\.\d{1,6})?([Zz]|[+-]\d{2}:[0-5]\d)", re.ASCII)


def parse_instant(text: str) -> Instant:
    """The moment that an RFC 3339 date-time with a zone names, to the microsecond.

    Raises InvalidInstant for anything else: no zone, a leap second, more than six decimals, a year outside 1-9999
    (in UTC too, so that `format_instant` can write every moment that was read).
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise InvalidInstant("not an RFC 3339 date-time with a zone, as 2025-03-01T00:00:00Z")
    day, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{fraction or ''}{'+00:00' if zone in 'Zz' else zone}")
        return Instant((moment.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1))
    except (ValueError, OverflowError):
        raise InvalidInstant("no such date or time") from None


def format_instant(at: Instant) -> str:
    """`at` in UTC, without a fraction when it is a whole second.

    >>> format_instant(parse_instant("2025-03-01T01:00:00+01:00"))
    '2025-03-01T00:00:00Z'
    """
    text = (_EPOCH + timedelta(microseconds=at)).isoformat()
    return text.replace("+00:00", "Z")
