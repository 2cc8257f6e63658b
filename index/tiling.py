"""Which spans of a text, each about so many tokens long, tile it best? (pure)

A span that is too long is cut at the strongest level that has a cut inside: between blocks, inside blocks level by
level, then sentences, lines, spaces, words, then anywhere. The parts, cut further where they are still too long, are
then gathered from the left into spans of even size.

Lengths are estimates: tokens of the text tokenized once, of which some begin before a span and end in it. Whoever
needs a hard limit counts each span again and asks `middle` for another cut.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from index.blocks import Section, Structure
from index.breaks import BREAKS

Span: TypeAlias = tuple[int, int]  # code points [start, end)

# WordPiece makes one unknown token of any word longer than 100 characters, of a megabyte too. A unit is a passage
# nonetheless: it counts as at least a sixteenth of its code points (English prose has 4 to 5 a token, tables 8).
CODE_POINTS_PER_TOKEN = 16
TOKENIZED_AT_ONCE = 65_536  # code points; bounds memory, a few tokens at the seams are estimated wrong
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """How long spans should be, in tokens. `target` is aimed at; `room` is what tables, lists and code may fill."""

    target: int
    room: int

    @property
    def stretch(self) -> int:
        """The length up to which prose stays in one span: a quarter above target saves a small last piece."""
        return min(self.room, self.target * 5 // 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """How long is a span, in tokens? `starts`: where each token of the text starts, ascending."""

    starts: Sequence[int]
    end: int

    def size(self, start: int, end: int) -> int:
        return max(self._token(end) - self._token(start), (end - start) // CODE_POINTS_PER_TOKEN)

    def after(self, start: int, tokens: int) -> int:
        """Where the token starts that comes `tokens` after the first one from `start` on, or the end of the text."""
        token = self._token(start) + tokens
        return self.starts[token] if token < len(self.starts) else self.end

    def _token(self, position: int) -> int:
        return bisect_left(self.starts, position)


def measure(text: str, offsets: Callable[[str], Sequence[Span]]) -> Ruler:
    """Tokenizes `text` once, in slices that end at a space where they can. `offsets`: the code points of each token."""
    starts = array("q")
    position, latest = 0, 0
    while position < len(text):
        end = min(position + TOKENIZED_AT_ONCE, len(text))
        if end < len(text):
            end = max(text.rfind("\n", position, end), text.rfind(" ", position, end), position) + 1
            end = end if end > position + 1 else position + TOKENIZED_AT_ONCE
        for start, _ in offsets(text[position:end]):
            latest = max(latest, position + start)  # some tokenizers give offsets out of order
            starts.append(latest)
        position = end
    return Ruler(starts=starts, end=len(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiler:
    """Cuts one text. `held`: disjoint ascending spans inside which no cut falls."""

    text: str
    structure: Structure
    ruler: Ruler
    held: Sequence[Span]

    def sections(self) -> Iterator[tuple[Section, ...]]:
        """The sections in order, those that a held span joins together."""
        joined: list[Section] = []
        for section in self.structure.sections:
            if joined and self._is_free(section.start):
                yield tuple(joined)
                joined = []
            joined.append(section)
        yield tuple(joined)

    def spans(self, start: int, end: int, goal: Goal) -> list[Span]:
        """Spans that tile [start, end), in order; longer than the goal's room only where a held span is."""
        return self._split((start, end), 0, goal)

    def middle(self, start: int, end: int) -> int | None:
        """The strongest cut in the middle half of [start, end), or the one nearest to its middle; None without any."""
        center = (start + end) // 2
        for level in range(self._levels):
            cuts = self._cuts(level, start, end)
            nearest = min(cuts, key=lambda cut: abs(cut - center), default=start)
            if abs(nearest - center) * 4 <= end - start and nearest > start:
                return nearest
        edges = _holding(self.held, center) or (center, center)
        return min((cut for cut in edges if start < cut < end), key=lambda cut: abs(cut - center), default=None)

    @property
    def _levels(self) -> int:
        return len(self.structure.cuts) + len(BREAKS)

    def _split(self, span: Span, level: int, goal: Goal) -> list[Span]:
        start, end = span
        if self.ruler.size(start, end) <= (goal.room if span in self.structure.wholes else goal.stretch):
            return [span]
        for finer in range(level, self._levels):
            cuts = self._cuts(finer, start, end)
            if cuts:
                parts: list[Span] = []
                for part in pairwise((start, *cuts, end)):
                    parts += self._split(part, finer + 1, goal)
                return self._gather(parts, goal)
        return list(self._slices(start, end, goal))

    def _cuts(self, level: int, start: int, end: int) -> list[int]:
        """The free positions strictly inside [start, end) that `level` offers, ascending."""
        depth = len(self.structure.cuts)
        if level < depth:
            cuts = self.structure.cuts[level]
            inside: Sequence[int] = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
        else:
            inside = [start + cut for cut in BREAKS[level - depth](self.text[start:end])]
        opening = _holding(self.structure.openings, start + 1)  # headings stay with what follows them
        return [cut for cut in inside if self._is_free(cut) and (opening is None or cut > opening[1])]

    def _gather(self, parts: Sequence[Span], goal: Goal) -> list[Span]:
        """Neighbouring parts joined: up to the goal's target, and as even as the parts allow."""
        gathered: list[Span] = []
        end = parts[-1][1]
        at = 0
        while at < len(parts):
            start = parts[at][0]
            remaining = self.ruler.size(start, end)
            if remaining <= goal.stretch:
                gathered.append((start, end))
                break
            even = remaining / -(-remaining // goal.target)
            size = self.ruler.size(*parts[at])
            at += 1
            while at < len(parts):
                longer = self.ruler.size(start, parts[at][1])
                if longer > goal.target or longer - even > even - size:
                    break
                size = longer
                at += 1
            gathered.append((start, parts[at - 1][1]))
        return gathered

    def _slices(self, start: int, end: int, goal: Goal) -> Iterator[Span]:
        """Cuts anywhere between tokens, for a stretch with no better place."""
        while self.ruler.size(start, end) > goal.stretch:
            cut = self._slice_end(start, goal.target)
            if cut >= end:
                break
            yield start, cut
            start = cut
        yield start, end

    def _slice_end(self, start: int, tokens: int) -> int:
        cut = self.ruler.after(start, tokens)
        most = self._skip_space(start, cut) + tokens * CODE_POINTS_PER_TOKEN
        if cut > most:
            cut = self._skip_space(most, cut)  # space is no reason for a unit of its own
        cut = max(cut, start + 1)
        held = _holding(self.held, cut)
        if held is None:
            return cut
        return held[0] if held[0] > start else held[1]

    def _skip_space(self, position: int, end: int) -> int:
        match = _SPACE.match(self.text, position, end)
        assert match is not None  # the pattern matches nothing, too
        return match.end()

    def _is_free(self, position: int) -> bool:
        return _holding(self.held, position) is None


def _holding(spans: Sequence[Span], position: int) -> Span | None:
    """The one of `spans`, disjoint and ascending, that a cut at `position` would part."""
    at = bisect_left(spans, (position, 0)) - 1
    return spans[at] if at >= 0 and position < spans[at][1] else None
