"""Which usable rows are worth an exact score, where there are too many to score each of them?

Useful where so many rows are usable that a whole scan takes too long, and a hit that is missed now and then is no harm.
Not useful for proving that something is absent. A row is summed up by the signs of its numbers, one bit each: an eighth
of the bytes. The rows whose signs agree best with the query are then scored and ordered exactly, as ever.

What a row is worth follows from its own code and the query, and where the cut falls from the usable rows alone. So no
other row can change an answer (R6), and one generation, or two, or a catalog just rebuilt, give the same bytes (R10).
An index that is trained or built over rows, a graph or centroids, has neither property: a draft or a relabelled
revision that the caller may not see would move the edges that lead to what they may.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evidence.canonical import Json
from index.compiled import compiled, read_only
from index.ranges import RowRanges

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
SmallInts = npt.NDArray[np.uint16]

VERSION = "signs-1"  # of the measure and of the cut: an answer names it

_LARGEST_WEIGHT = 7
_BITS_OF_WEIGHT = 3
_MOST_NUMBERS = np.iinfo(np.uint16).max // _LARGEST_WEIGHT  # of a row, so that its distance fits
_TILE = 64  # rows that lie side by side
_ROWS_PER_STEP = 65_536  # whole tiles; whose signs are taken at once
_ROWS_PER_JOB = 131_072  # a third of a millisecond: less is not worth handing to another thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximation:
    """When dense search is approximate, and how many rows it scores then.

    above: so many usable rows are still scored all. oversampling: rows scored exactly for each that is wanted.
    Raises ValueError for a negative `above`, or an `oversampling` below 1.
    """

    above: int
    oversampling: int

    def __post_init__(self) -> None:
        if self.above < 0 or self.oversampling < 1:
            raise ValueError(f"need above >= 0 and oversampling >= 1, got {self.above} and {self.oversampling}")

    def wanted(self, k: int) -> int:
        """How many rows are scored exactly where `k` are wanted, at least."""
        return self.oversampling * k

    def applies(self, usable: int, *, k: int) -> bool:
        """Whether a search for `k` of `usable` rows is approximate. Nothing but these numbers decides it."""
        return usable > self.above and usable > self.wanted(k)

    def record(self) -> dict[str, Json]:
        """For the manifest."""
        return {"version": VERSION, "above": self.above, "oversampling": self.oversampling}


class Signs:
    """The signs of the codes of one generation. Safe for threads.

    codes: (n, d) int8, may be a memory map; read once, here. Takes d/8 bytes a row, rounded up to eights.
    Raises ValueError for rows of too many numbers.
    """

    def __init__(self, codes: Codes) -> None:
        count, dimension = codes.shape
        if dimension > _MOST_NUMBERS:
            raise ValueError(f"rows of at most {_MOST_NUMBERS} numbers can be approximated, got {dimension}")
        self.rows, self.dimension = count, dimension
        # The same word of 64 neighbours side by side: so a loop over rows becomes vector instructions.
        tiles = np.zeros((-(-count // _TILE), -(-dimension // 64), _TILE), dtype=np.uint64)
        for first in range(0, count, _ROWS_PER_STEP):
            words = np.zeros((min(_ROWS_PER_STEP, len(tiles) * _TILE - first), tiles.shape[1]), dtype=np.uint64)
            step = codes[first : first + _ROWS_PER_STEP]
            words[: len(step)] = _packed(step > 0)
            tile = first // _TILE
            by_tile = words.reshape(-1, _TILE, tiles.shape[1]).transpose(0, 2, 1)
            tiles[tile : tile + len(by_tile)] = by_tile
        self.tiles = read_only(tiles)


class Narrowing:
    """Narrows what is usable to what is worth an exact score. Shared by the threads of a process.

    Its loop is compiled when this is made, about a second, so that the first query does not wait for it.
    """

    def __init__(self, approximation: Approximation, *, threads: int) -> None:
        self.approximation = approximation
        self._threads = threads
        self._workers = ThreadPoolExecutor(threads, thread_name_prefix="narrowing") if threads > 1 else None
        self.narrow(
            np.zeros(1, dtype=np.int8), [(Signs(np.zeros((1, 1), dtype=np.int8)), RowRanges.from_pairs([(0, 1)]))], k=1
        )

    def narrow(self, query: Codes, parts: Sequence[tuple[Signs, RowRanges]], *, k: int) -> list[RowRanges]:
        """For each part, those of its rows that are scored exactly where the first `k` rows of all parts are wanted.

        query: (d,) int8 in [-127, 127]. They are the rows nearest by signs, `wanted(k)` of them and all that are as
        near as the last one: equals are never parted. One pass over the signs of the rows in the parts, no others.
        Raises ValueError for a query of another size than the rows, or ranges beyond them.
        """
        for signs, ranges in parts:
            if query.shape != (signs.dimension,):
                raise ValueError(f"need a query of {signs.dimension} numbers, as a row has, got {query.shape}")
            if ranges.count and ranges.ends[-1] > signs.rows:
                raise ValueError(f"the ranges end at row {ranges.ends[-1]}, the signs at {signs.rows}")
        jobs = [(at, signs, piece) for at, (signs, ranges) in enumerate(parts) for piece in self._pieces(ranges)]
        asked = _asked(query)
        measure = partial(_measured, asked)
        each = list((self._workers.map if self._workers and len(jobs) > 1 else map)(measure, jobs))
        counts = np.zeros(asked.distances, dtype=np.int64)
        for measured in each:
            counts += measured.counts
        cut = np.searchsorted(np.cumsum(counts), min(self.approximation.wanted(k), counts.sum()))
        near: list[list[Ints]] = [[] for _ in parts]
        for (at, _, piece), measured in zip(jobs, each, strict=True):
            near[at].append(piece.rows_at(np.flatnonzero(measured.distances <= cut)))
        return [RowRanges.from_rows(np.concatenate([np.empty(0, dtype=np.int64), *rows])) for rows in near]

    def _pieces(self, ranges: RowRanges) -> list[RowRanges]:
        if not ranges.count:
            return []
        return ranges.cut(min(self._threads, 1 + ranges.count // _ROWS_PER_JOB))


class _Asked(NamedTuple):
    """A query: (words,) its signs, and (3, words) the bits of the weights of its numbers, the lowest first.

    distances: how many there can be, from 0 to the sum of the weights.
    """

    signs: Words
    weights: Words
    distances: int


class _Measured(NamedTuple):
    """distances: (rows,) of each row. counts: how many rows lie at each distance."""

    distances: SmallInts
    counts: Ints


def _asked(query: Codes) -> _Asked:
    """The weight of a number is its share of the largest one, in sevenths, rounded half up; all in integers."""
    sizes = np.abs(query.astype(np.int64))
    largest = max(int(sizes.max()), 1)
    weights = (2 * _LARGEST_WEIGHT * sizes + largest) // (2 * largest)
    bits = [(weights >> place) & 1 == 1 for place in range(_BITS_OF_WEIGHT)]
    return _Asked(
        signs=read_only(_packed(query[None] > 0)[0]),
        weights=read_only(_packed(np.stack(bits))),
        distances=1 + int(weights.sum()),
    )


def _packed(bits: npt.NDArray[np.bool_]) -> Words:
    """(m, words) uint64 of (m, d) bits, filled up with zeros."""
    octets = np.packbits(bits, axis=1)
    words = np.zeros((len(octets), -(-octets.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : octets.shape[1]] = octets
    return words.view(np.uint64)


def _measured(asked: _Asked, job: tuple[int, Signs, RowRanges]) -> _Measured:
    _, signs, ranges = job
    distances = np.empty(ranges.count, dtype=np.uint16)
    counts = np.zeros(asked.distances, dtype=np.int64)
    measured = _Measured(distances=distances, counts=counts)
    _measure(signs.tiles, ranges.starts, ranges.ends, asked, measured)
    return measured


@compiled
def _measure(tiles: Words, starts: Ints, ends: Ints, asked: _Asked, measured: _Measured) -> None:
    distances, counts = measured
    lanes = np.empty(_TILE, dtype=np.uint64)
    at = 0
    for index in range(starts.size):
        start, end = starts[index], ends[index]
        for tile in range(start // _TILE, (end - 1) // _TILE + 1):
            first, last = max(start - tile * _TILE, 0), min(end - tile * _TILE, _TILE)
            if last - first == _TILE:
                _measure_tile(tiles[tile], asked, lanes, 0, _TILE)  # of constant length: three times as fast
            else:
                _measure_tile(tiles[tile], asked, lanes, first, last)
            for lane in range(first, last):
                distances[at] = lanes[lane]
                counts[lanes[lane]] += 1
                at += 1


@compiled
def _measure_tile(tile: Words, asked: _Asked, lanes: Words, first: int, last: int) -> None:
    """The distance of a row: the weights of those numbers of the query whose sign it does not share, summed."""
    signs, weights, _ = asked  # out of the tuple once, as for every loop that should be fast
    for lane in range(first, last):
        lanes[lane] = np.uint64(0)
    for place in range(signs.size):
        words, sign = tile[place], signs[place]
        ones, twos, fours = weights[0, place], weights[1, place], weights[2, place]
        for lane in range(first, last):
            unlike = words[lane] ^ sign
            lanes[lane] += (
                _set_bits(unlike & ones)
                + np.uint64(2) * _set_bits(unlike & twos)
                + np.uint64(4) * _set_bits(unlike & fours)
            )


@compiled
def _set_bits(word: np.uint64) -> np.uint64:
    """How many bits are set: sums of neighbours, in pairs, fours and eights; compilers know it, and take one step."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
