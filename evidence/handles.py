"""What does a citation handle look like, alone and inside a text? (pure)

Useful for finding handles in what callers and models wrote. Not useful for saying what one stands for, or whether it
stands for anything: `citations` makes handles, and the catalog finds their units.
"""

import re
from collections.abc import Iterator

from evidence.short_name import pattern_of

PREFIX = "EV-"

_HANDLE = re.compile(pattern_of(PREFIX))
_LOOKALIKE = re.compile(rf"\b{PREFIX}[0-9A-Z](?:[0-9A-Z-]*[0-9A-Z])?", re.ASCII | re.IGNORECASE)


def is_handle(text: str) -> bool:
    """Whether `text` has the form of a handle: nothing else is worth a look into the catalog.

    >>> is_handle("EV-0123456789ABCDEF"), is_handle("EV-0123456789ABCDEF "), is_handle("ev-0123456789abcdef")
    (True, False, False)
    """
    return _HANDLE.fullmatch(text) is not None


def handles_in(text: str) -> list[str]:
    """Everything in `text` that has the form of a handle, in order, repeats kept, whatever stands around it.

    >>> handles_in("[EV-0123456789ABCDEF], see EV-99 and xEV-ZZZZZZZZZZZZZZZZz")
    ['EV-0123456789ABCDEF', 'EV-ZZZZZZZZZZZZZZZZ']
    """
    return _HANDLE.findall(text)


def lookalikes_in(text: str) -> Iterator[re.Match[str]]:
    """Everything in `text` that a model may have meant for a handle, right or made up, in order.

    >>> [found[0] for found in lookalikes_in("[EV-0123456789ABCDEF], see ev-99 and xEV-1.")]
    ['EV-0123456789ABCDEF', 'ev-99']
    """
    return _LOOKALIKE.finditer(text)
