"""How much of something still fits? (pure)

Useful where a size can only be measured, and measuring costs more the more there is: the search goes up from little.
"""

from bisect import bisect_left
from collections.abc import Callable


def largest_below(too_many: int, fits: Callable[[int], bool]) -> int:
    """The largest number from 0 that fits, where `too_many` does not. 0 is taken to fit without being tried.

    Each number up to the answer should fit, and none above it. Where that does not hold exactly, as token counts
    may sink by one when a text grows, the answer still fits and one more does not.

    >>> largest_below(1000, lambda n: n * n <= 500)
    22
    """
    fitting, probe = 0, 1
    while probe < too_many:
        if fits(probe):
            fitting, probe = probe, 2 * probe
        else:
            too_many = probe
    return fitting + bisect_left(range(fitting + 1, too_many), True, key=lambda number: not fits(number))
