"""Where does each term occur, and which of those places are visible? (pure)

Postings are ordered by row within a term, so a visible range is one slice of a term's postings, found by binary
search. Postings of invisible rows are passed over in doubling steps: only single probes of that search read them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from index.compiled import compiled, read_only
from index.ranges import Edges, RowRanges

_TERMS_PER_CHUNK = 4_000_000  # occurrences counted at once: 100 MB or so while a chunk is sorted

Ints = npt.NDArray[np.int64]
SmallInts = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Postings:
    """Which rows hold which term, and how often. Arrays are read-only.

    terms: term -> number; numbers count from 0 in code-point order of the terms.
    offsets: (terms + 1,) int64; the postings of term t are `[offsets[t], offsets[t + 1])`.
    posting_rows: (postings,) int32, strictly ascending within a term.
    frequencies: (postings,) int32, at least 1: how often the term occurs in the row.
    """

    terms: Mapping[str, int]
    offsets: Ints
    posting_rows: SmallInts
    frequencies: SmallInts

    def __post_init__(self) -> None:
        if self.offsets.shape != (len(self.terms) + 1,) or self.posting_rows.shape != self.frequencies.shape:
            raise ValueError(f"{len(self.terms)} terms need as many offsets and one more, got {self.offsets.shape}")
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.posting_rows):
            raise ValueError(f"offsets must run from 0 to {len(self.posting_rows)}")
        for name in ("offsets", "posting_rows", "frequencies"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def numbers(self, terms: Iterable[str]) -> Ints:
        """(known,) int64: the numbers of those terms that occur anywhere in the generation, in the order given."""
        return np.array([self.terms[term] for term in terms if term in self.terms], dtype=np.int64)

    def holds(self, term: str, rows: Ints) -> npt.NDArray[np.bool_]:
        """(len(rows),) bool: which of `rows`, in any order, hold the term. Cost: a binary search a row, also where the
        generation has no such term: that one of other rows has it must not show in the time this takes."""
        number = self.terms.get(term, len(self.terms))  # behind the last one there are no postings
        edges = self.offsets[number : number + 2]
        held = self.posting_rows[edges[0] : edges[-1]]
        places = np.searchsorted(held, rows)
        found = places < len(held)
        found[found] = held[places[found]] == rows[found]
        return found

    def document_frequencies(self, numbers: Ints, *, ranges: RowRanges) -> Ints:
        """(len(numbers),) int64: in how many rows of `ranges` each numbered term occurs.

        Cost per term: the smaller of its postings and the ranges, times a logarithm.
        """
        found = np.zeros(len(numbers), dtype=np.int64)
        _count_rows(self.posting_rows, self.offsets, numbers, ranges.edges, found)
        return found


def build_postings(documents: Iterable[Sequence[str]]) -> tuple[Postings, SmallInts]:
    """Postings of rows 0, 1, ... and their lengths, (rows,) int32: how many terms each holds, repeats counted.

    `documents`: the terms of each row, in order, repeats included; read once, never held as a whole.
    """
    seen: dict[str, int] = {}  # term -> number in order of first appearance
    lengths: list[int] = []
    chunks: list[_Chunk] = []
    pending: list[int] = []
    first_row = 0
    for terms in documents:
        pending.extend([seen.setdefault(term, len(seen)) for term in terms])
        lengths.append(len(terms))
        if len(pending) >= _TERMS_PER_CHUNK:
            chunks.append(_count_chunk(pending, lengths[first_row:], first_row))
            pending, first_row = [], len(lengths)
    chunks.append(_count_chunk(pending, lengths[first_row:], first_row))
    return _merge(chunks, seen), np.array(lengths, dtype=np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    """The postings of some consecutive rows, by term (numbered by first appearance), then by row."""

    terms: SmallInts
    rows: SmallInts
    frequencies: SmallInts


def _count_chunk(occurrences: list[int], lengths: list[int], first_row: int) -> _Chunk:
    rows = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    width = max(len(lengths), 1)
    pairs, counts = np.unique(np.array(occurrences, dtype=np.int64) * width + rows, return_counts=True)
    return _Chunk(
        terms=(pairs // width).astype(np.int32),
        rows=(pairs % width + first_row).astype(np.int32),
        frequencies=counts.astype(np.int32),
    )


def _merge(chunks: list[_Chunk], seen: Mapping[str, int]) -> Postings:
    """Chunks follow each other by row, so each fills the next places of its terms."""
    by_code_point = sorted(seen)
    sizes = np.zeros(len(seen), dtype=np.int64)
    for chunk in chunks:
        sizes += np.bincount(chunk.terms, minlength=len(seen))
    offsets = np.zeros(len(seen) + 1, dtype=np.int64)
    appearance = np.array([seen[term] for term in by_code_point], dtype=np.int64)
    np.cumsum(sizes[appearance], out=offsets[1:])
    next_place = np.empty(len(seen), dtype=np.int64)
    next_place[appearance] = offsets[:-1]
    rows = np.empty(offsets[-1], dtype=np.int32)
    frequencies = np.empty(offsets[-1], dtype=np.int32)
    while chunks:  # each is let go as soon as it is placed
        chunk = chunks.pop(0)
        terms, firsts, counts = np.unique(chunk.terms, return_index=True, return_counts=True)
        places = np.arange(len(chunk.terms)) + np.repeat(next_place[terms] - firsts, counts)
        rows[places], frequencies[places] = chunk.rows, chunk.frequencies
        next_place[terms] += counts
    return Postings(
        terms={term: number for number, term in enumerate(by_code_point)},
        offsets=offsets,
        posting_rows=rows,
        frequencies=frequencies,
    )


@compiled
def first_at_least(values: npt.NDArray[np.integer], begin: int, stop: int, wanted: int) -> int:
    """The first place in ascending `values[begin:stop]` that holds `wanted` or more, else `stop`.

    Steps from `begin` double, then halve: the cost is the logarithm of the distance.
    """
    if begin >= stop or values[begin] >= wanted:
        return begin
    below, step = begin, 1
    while below + step < stop and values[below + step] < wanted:
        below += step
        step *= 2
    above = min(below + step, stop)
    while above - below > 1:
        middle = (below + above) // 2
        if values[middle] < wanted:
            below = middle
        else:
            above = middle
    return above


@compiled
def next_visible(posting_rows: SmallInts, begin: int, stop: int, visible: Edges, index: int) -> tuple[int, int, int]:
    """The next slice `[first, last)` of `posting_rows[begin:stop]` inside one visible range, and that range's index.

    Ranges before `index` are not looked at. `first == last` says that nothing visible is left.
    """
    while begin < stop:
        index = first_at_least(visible.ends, index, visible.ends.size, posting_rows[begin] + 1)
        if index == visible.ends.size:
            break
        begin = first_at_least(posting_rows, begin, stop, visible.starts[index])
        last = first_at_least(posting_rows, begin, stop, visible.ends[index])
        if last > begin:
            return begin, last, index
    return stop, stop, visible.ends.size


@compiled
def _count_rows(posting_rows: SmallInts, offsets: Ints, numbers: Ints, visible: Edges, found: Ints) -> None:
    for at in range(numbers.size):
        begin, stop = offsets[numbers[at]], offsets[numbers[at] + 1]
        index = 0
        while begin < stop:
            first, begin, index = next_visible(posting_rows, begin, stop, visible, index)
            found[at] += begin - first
