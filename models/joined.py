"""How many tokens do several pieces have once they are joined, without reading all of them each time?

Packing tries many selections of the same rendered units. Each piece is read once, between its first and its last
seam; then only what lies between two pieces is read again, and not even that where they stood side by side before.
Where the tokenizer's counts are not known to add at seams (see seams), or a piece has none, the joined text is read:
the number is exact either way.

Useful within one request. Not useful for longer: it remembers texts, and no cache is shared between tenants (R35).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from models.seams import outermost_seams
from models.tokens import Counter

REMEMBERED = 4096  # pieces, texts between pieces, and steps from one to the next; a packet has hundreds
_LONGEST_OPEN = 256  # characters of text between seams up to which a step is remembered; rendered JSON has a dozen


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A piece with seams. first, last: the places of its outermost ones. between: the tokens between these two."""

    first: int
    last: int
    between: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Place:
    """How far some pieces are counted: up to the last seam in them.

    before: the character in front of it; "" where there is none yet. open_text: what follows it. steps: for a piece
    that came next once, the tokens up to the last seam in it, and the place after it.
    """

    before: str
    open_text: str
    steps: dict[str, tuple[int, "_Place"]] = field(default_factory=dict)


class JoinedCounter:
    """Counts joined pieces for one request. Safe to call from several threads.

    remembered: how many pieces and steps are kept; forgetting one costs time only.
    """

    def __init__(self, counter: Counter, *, remembered: int = REMEMBERED) -> None:
        self._counter = counter
        self._remembered = remembered
        self._piece = lru_cache(maxsize=remembered)(self._read)
        self._between = lru_cache(maxsize=remembered)(self._after)
        self._alone = lru_cache(maxsize=remembered)(counter.count)
        self._forget()

    def count(self, pieces: Sequence[str]) -> int:
        """The tokens of `"".join(pieces)`. Raises NotText."""
        if not self._counter.adds_at_seams:
            return self._counter.count("".join(pieces))
        total, place = 0, self._start
        for text in pieces:
            tokens, place = place.steps.get(text) or self._step(place, text)
            total += tokens
        return total + self._between(place.before, place.open_text)

    def _step(self, place: _Place, text: str) -> tuple[int, _Place]:
        """The tokens that are certain once `text` follows, and the place after it; remembered, all or none of them."""
        piece = self._piece(text)
        if piece is None:
            step = 0, self._place(place.before, place.open_text + text)
        else:
            tokens = self._between(place.before, place.open_text + text[: piece.first]) + piece.between
            step = tokens, self._place(text[piece.last - 1], text[piece.last :])
        if len(place.open_text) <= _LONGEST_OPEN:
            if self._steps >= self._remembered:
                self._forget()
            place.steps[text] = step
            self._steps += 1
        return step

    def _place(self, before: str, open_text: str) -> _Place:
        """The one place of these texts, so that pieces are recognized behind others that end alike."""
        if len(open_text) > _LONGEST_OPEN:
            return _Place(before=before, open_text=open_text)
        return self._places.setdefault((before, open_text), _Place(before=before, open_text=open_text))

    def _forget(self) -> None:
        self._steps = 0
        self._start = _Place(before="", open_text="")
        self._places: dict[tuple[str, str], _Place] = {}

    def _read(self, text: str) -> _Piece | None:
        seams = outermost_seams(text)
        if seams is None:
            return None
        first, last = seams
        return _Piece(first=first, last=last, between=self._after(text[first - 1], text[first:last]))

    def _after(self, before: str, text: str) -> int:
        """The tokens of `text` where the character `before` and a seam stand before it; "" at the very start."""
        return self._counter.count(before + text) - self._alone(before)
