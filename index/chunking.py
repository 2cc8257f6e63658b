"""Which units tile a revision? (pure)

Units are passages of one section each, about 220 of the encoder's tokens long, cut where structure or language allows
it (`index/blocks.py`, `index/breaks.py`, `index/tiling.py`). Always: `text[start:end]` is the unit's text and the units
in order are the whole text; special tokens, prefix and unit fit the encoder's window, counted on the very text the
encoder gets; no unit boundary falls inside the first occurrence of a quote.

Useful for documents of any kind and size: cost is linear, whatever the text. A text without structure or spaces is cut
between tokens.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol, TypeAlias

from evidence.canonical import digest_text
from evidence.identity import RevisionKey, UnitKey
from evidence.unit import Unit
from index.blocks import read_structure
from index.prefix import join, last_tokens, write_prefix
from index.tiling import Goal, Span, Tiler, measure

CHUNKER_VERSION = 1  # counts changes of where cuts fall
Heading: TypeAlias = tuple[str, ...]
TARGET_TOKENS = 220  # leaves a title room in MiniLM's 256; BM25's nDCG@10 on SciFact 0.683, over whole texts 0.686


class TokenCounter(Protocol):
    """An encoder's own tokenizer, without truncation, padding and special tokens."""

    @property
    def special_tokens(self) -> int:
        """How many tokens the encoder adds to any text."""

    def offsets(self, text: str) -> Sequence[Span]:
        """The code points that each token of `text` stands for, in order."""

    def count(self, text: str) -> int:
        """How many tokens `text` has."""


class QuoteTooLong(ValueError):
    """A quote must stand in one unit, and the encoder's window does not hold it. Both lengths in tokens."""

    def __init__(self, *, needed: int, window: int) -> None:
        super().__init__(
            f"a quote (with those that overlap it) is longer than the encoder's window:"
            f" {needed} tokens with special ones, the window is {window}"
        )
        self.needed = needed
        self.window = window


def chunker_name() -> str:
    """What cuts depend on apart from tokenizer and settings; goes into the recipe (R10)."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("markdown-it-py", "unicode-segmentation-rs"))
    return f"muniment-chunker {CHUNKER_VERSION} ({libraries})"


def chunk(
    key: RevisionKey,
    *,
    title: str,
    text: str,
    quotes: Sequence[str],
    counter: TokenCounter,
    window: int,
    target: int = TARGET_TOKENS,
    contextual: bool = True,
) -> list[Unit]:
    """The units of a revision in text order, at least one: an empty text has an empty unit, found by its title.

    window: tokens the encoder takes, special ones included, less those of a prompt. target: tokens of text to aim at
    in a unit. contextual: put title and heading path in front. A prefix longer than half the window is cut to half
    when the text needs the room, further only where a quote fills the window. A quote that is not in the text holds
    nothing together.
    Raises QuoteTooLong, and ValueError for a window or target that holds no token, or a window smaller than the
    tokens of some single code point.
    """
    room = window - counter.special_tokens
    if room < 1:
        raise ValueError(f"window of {window} tokens must hold more than {counter.special_tokens} special tokens")
    if target < 1:
        raise ValueError(f"target must be at least 1 token, got {target}")
    tiler = Tiler(
        text=text, structure=read_structure(text), ruler=measure(text, counter.offsets), held=_held(text, quotes)
    )
    chunker = _Chunker(title=title if contextual else None, tiler=tiler, counter=counter, window=window, target=target)
    return [
        Unit(
            key=UnitKey(key.namespace, key.source_id, key.revision, ordinal),
            start=passage.start,
            end=passage.end,
            heading=passage.heading,
            text=text[passage.start : passage.end],
            digest=digest_text(text[passage.start : passage.end]),
            prefix=passage.prefix,
            prefix_tokens=passage.prefix_tokens,
            prefix_tokens_cut=passage.prefix_tokens_cut,
            tokens=passage.tokens,
        )
        for ordinal, passage in enumerate(chunker.passages())
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    """A unit before it has a name; fields as there."""

    start: int
    end: int
    heading: Heading
    prefix: str
    prefix_tokens: int
    prefix_tokens_cut: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunker:
    """One text being cut. `title` is None where no prefix is wanted."""

    title: str | None
    tiler: Tiler
    counter: TokenCounter
    window: int
    target: int

    def passages(self) -> Iterator[_Passage]:
        for sections in self.tiler.sections():
            room = min(self._room(self._heading(section.content, section.end)) for section in sections)
            goal = Goal(target=min(self.target, room), room=room)
            for start, end in self.tiler.spans(sections[0].start, sections[-1].end, goal):
                yield from self._fit(start, end)

    def _fit(self, start: int, end: int) -> Iterator[_Passage]:
        """The passage [start, end), or several where its exact length turns out too long."""
        passage = self._prefixed(start, end, least=self._half)
        if passage is None:
            cut = self.tiler.middle(start, end)
            if cut is not None:
                yield from self._fit(start, cut)
                yield from self._fit(cut, end)
                return
            passage = self._prefixed(start, end, least=0)
        if passage is None:
            needed = self.counter.special_tokens + self.counter.count(self.tiler.text[start:end])
            if end - start > 1:
                raise QuoteTooLong(needed=needed, window=self.window)
            raise ValueError(f"window of {self.window} tokens is too small: one code point takes {needed}")
        yield passage

    def _prefixed(self, start: int, end: int, *, least: int) -> _Passage | None:
        """[start, end) with as much of its prefix's end as the window holds beside it, but at least `least` tokens of
        it (all, when it has fewer). None when that is too much."""
        heading, text = self._heading(start, end), self.tiler.text[start:end]
        whole = prefix = self._prefix(heading)
        offsets = self.counter.offsets(whole)
        kept = len(offsets)
        while True:
            tokens = self.counter.special_tokens + self.counter.count(join(prefix, text))
            if tokens <= self.window:
                return _Passage(
                    start=start,
                    end=end,
                    heading=heading,
                    prefix=prefix,
                    prefix_tokens=len(offsets),
                    prefix_tokens_cut=len(offsets) - kept,
                    tokens=tokens,
                )
            if not prefix or (least and kept <= least):
                return None
            kept, prefix = last_tokens(whole, offsets, max(least, kept - (tokens - self.window)))

    @property
    def _half(self) -> int:
        """What a prefix may take when the text needs the rest."""
        return (self.window - self.counter.special_tokens) // 2

    def _room(self, heading: Heading) -> int:
        """Tokens left for text beside a heading path's prefix."""
        taken = self.counter.count(join(self._prefix(heading), ""))
        return self.window - self.counter.special_tokens - min(taken, self._half)

    def _prefix(self, heading: Heading) -> str:
        return "" if self.title is None else write_prefix(self.title, heading)

    def _heading(self, start: int, end: int) -> Heading:
        """The path in force where the content of [start, end) starts; its last heading's when it has no content."""
        structure = self.tiler.structure
        section = structure.sections[bisect_right(structure.sections, start, key=lambda section: section.start) - 1]
        reached = section.content if section.content < end else end - 1
        at = bisect_right(structure.headings, reached, key=lambda heading: heading[0]) - 1
        return structure.headings[at][1] if at >= 0 else ()


def _held(text: str, quotes: Sequence[str]) -> list[Span]:
    """Where the first occurrences of quotes are, those that overlap as one: disjoint, ascending."""
    held: list[Span] = []
    for start, end in sorted((start, start + len(quote)) for quote in quotes if (start := text.find(quote)) >= 0):
        if held and start < held[-1][1]:
            held[-1] = (held[-1][0], max(end, held[-1][1]))
        else:
            held.append((start, end))
    return held
