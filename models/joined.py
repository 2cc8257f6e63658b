"""How many tokens do several pieces have once they are joined, without reading all of them each time?

Packing tries many selections of the same rendered units. Each piece is read once, between its first and its last
seam; then only what lies between two pieces is read again. Where the tokenizer's counts are not known to add at seams
(see seams), or a piece has none, the joined text is read: the number is exact either way.

Useful within one request. Not useful for longer: it remembers texts, and no cache is shared between tenants (R35).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from models.seams import SEAM
from models.tokens import Counter

REMEMBERED = 4096  # pieces, and texts between pieces; a packet has hundreds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A piece with seams. first, last: the places of its outermost ones. between: the tokens between these two."""

    first: int
    last: int
    between: int


class JoinedCounter:
    """Counts joined pieces for one request. Safe to call from several threads.

    remembered: how many pieces are kept, those used last; forgetting one costs time only.
    """

    def __init__(self, counter: Counter, *, remembered: int = REMEMBERED) -> None:
        self._counter = counter
        self._piece = lru_cache(maxsize=remembered)(self._read)
        self._between = lru_cache(maxsize=remembered)(self._after)

    def count(self, pieces: Sequence[str]) -> int:
        """The tokens of `"".join(pieces)`. Raises NotText."""
        if not self._counter.adds_at_seams:
            return self._counter.count("".join(pieces))
        total, before, open_text = 0, "", ""
        for text in pieces:
            piece = self._piece(text)
            if piece is None:
                open_text += text
                continue
            total += self._between(before, open_text + text[: piece.first]) + piece.between
            before, open_text = text[piece.last - 1], text[piece.last :]
        return total + self._between(before, open_text)

    def _read(self, text: str) -> _Piece | None:
        seams = [seam.start() for seam in SEAM.finditer(text)]
        if not seams:
            return None
        first, last = seams[0], seams[-1]
        return _Piece(first=first, last=last, between=self._after(text[first - 1], text[first:last]))

    def _after(self, before: str, text: str) -> int:
        """The tokens of `text` where the character `before` and a seam stand before it; "" at the very start."""
        return self._counter.count(before + text) - self._counter.count(before)
