r"""Where in a stored text does a place of its sent form lie? (pure)

Adapters send a passage as a JSON string whose hostile characters are escaped (`render.quoted`), and providers count in
what was sent. Built once for a passage, in linear time; a place then takes a binary search.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from evidence.render import quoted

# A surrogate pair is one character of the stored text; the other escapes are one each.
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentText:
    """One passage as it was sent. `length`: of the sent form, in code points. `starts`, `ends`: of its escapes,
    `[start, end)` each, ascending. `saved[n]`: how many code points the first `n` escapes add to the stored text."""

    length: int
    starts: Sequence[int]
    ends: Sequence[int]
    saved: Sequence[int]

    def stored_place(self, at: int) -> int | None:
        r"""The place of the stored text that `at`, 0 to `length`, stands for; None inside an escape.

        >>> sent_text("a<b").length, [sent_text("a<b").stored_place(at) for at in (0, 1, 3, 7, 8)]
        (8, [0, 1, None, 2, 3])
        """
        before = bisect_right(self.starts, at)
        if before and self.ends[before - 1] > at > self.starts[before - 1]:
            return None
        whole = before - 1 if before and self.starts[before - 1] == at else before
        return at - self.saved[whole]


def sent_text(text: str) -> SentText:
    """What an adapter sends for the passage `text`."""
    sent = quoted(text)
    escapes = [escape.span() for escape in _ESCAPE.finditer(sent)]
    saved = [0]
    for start, end in escapes:
        saved.append(saved[-1] + end - start - 1)
    return SentText(
        length=len(sent),
        starts=[start for start, _ in escapes],
        ends=[end for _, end in escapes],
        saved=saved,
    )
