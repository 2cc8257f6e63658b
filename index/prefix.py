"""What stands in front of a unit? (pure)

Both channels read title and heading path in front of a unit's text (R9). A prefix that is too long for the encoder is
cut from its front, where it says least about the unit.
"""

from collections.abc import Sequence

SEPARATOR = " > "


def write_prefix(title: str, heading: Sequence[str]) -> str:
    """Title and heading path on one line; a title that the outermost heading repeats stands once.

    >>> write_prefix("Desk  manual", ["Uploads", "Size limits"])
    'Desk manual > Uploads > Size limits'
    >>> write_prefix("Uploads", ["Uploads", "Size limits"])
    'Uploads > Size limits'
    """
    title = " ".join(title.split())
    repeated = list(heading[:1]) == [title]
    return SEPARATOR.join(heading if repeated or not title else (title, *heading))


def join(prefix: str, text: str) -> str:
    """What the channels read, before there is a unit: its `input_text`."""
    return f"{prefix}\n{text}" if prefix else text


def last_tokens(prefix: str, offsets: Sequence[tuple[int, int]], kept: int) -> tuple[int, str]:
    """The end of `prefix` that its last `kept` tokens stand for, and how many those are: fewer than asked where
    several tokens share a code point. `offsets`: the code points of each of the prefix's tokens, in order.

    >>> last_tokens("size limits", [(0, 4), (5, 10), (10, 11)], 2)
    (2, 'limits')
    """
    first = len(offsets) - kept
    while 0 < first < len(offsets) and offsets[first][0] < offsets[first - 1][1]:
        first += 1
    return (len(offsets) - first, prefix[offsets[first][0] :]) if first < len(offsets) else (0, "")
