"""What do rows look like that no text was made for?

Vectors without a pattern and terms by Zipf's law, drawn straight as the arrays of a generation, as many as fit on the
disk. Some of the rows are one caller's: in runs that are spread evenly, and the same whatever lies around them, so that
answers over them can be compared between generations of different sizes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eval.bench.generations import Asked, Codes, publish_rows, recipe_of, run_of
from index.generation_format import RevisionRun
from index.postings import Postings
from index.ranges import RowRanges

RUNS = 16  # that the caller's rows lie in
_SEED = 31
_SPREAD = 32.0  # of a code: normalized vectors of 384 numbers at scale 0.2
_ROWS_DRAWN = 500_000  # codes made at once
_REPEATS = 0.3  # chance that a term of a row comes once more
_QUERY_TERMS = 6

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Of which kind the rows are. visible: rows of the caller. terms: different ones of a row, about. vocabulary: terms
    that there are."""

    visible: int
    dimension: int
    terms: int
    vocabulary: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """Rows without a place: postings by term. offsets: (terms + 1,) int64."""

    rows: Rows
    frequencies: Rows
    offsets: npt.NDArray[np.int64]


def publish_drawn(directory: Path, units: int, kind: Kind) -> str:
    """Publish a generation of so many rows in `directory`; its name."""
    runs = caller_rows(units, kind.visible)
    visible = _draw(kind.visible, kind, seed=_SEED)
    hidden = _draw(units - kind.visible, kind, seed=_SEED + 1)
    postings, lengths = _laid_out(visible, hidden, runs, units, kind.vocabulary)
    return publish_rows(
        directory,
        recipe=recipe_of(kind.dimension),
        runs=_sources(units, kind.visible),
        codes=_codes(units, runs, kind),
        postings=postings,
        lengths=lengths,
    )


def array_bytes(units: int, kind: Kind) -> int:
    """What the arrays of a generation take, about."""
    return units * (kind.dimension + 16 + 8 * kind.terms)


def caller_rows(units: int, visible: int) -> RowRanges:
    """The caller's rows: runs of one length, spread evenly."""
    return RowRanges.from_pairs(_edges(units, visible))


def questions(kind: Kind, count: int) -> list[Asked]:
    """Terms neither among the commonest nor among the rare ones, and a code."""
    rng = np.random.default_rng(_SEED + 4)
    codes = _normal(rng, count, kind.dimension)
    terms = rng.integers(10, kind.vocabulary // 10, (count, _QUERY_TERMS))
    return [
        Asked(terms=tuple(f"t{term:06}" for term in row), code=code)
        for row, code in zip(terms.tolist(), codes, strict=True)
    ]


def _edges(units: int, visible: int) -> list[tuple[int, int]]:
    """The caller's runs, `[first, last)`; where nothing else is there, they touch."""
    length = visible // RUNS
    return [(at * units // RUNS, at * units // RUNS + length) for at in range(RUNS)]


def _sources(units: int, visible: int) -> list[RevisionRun]:
    """A source for each run of the caller's, and one for what lies between; the caller's have the same names always."""
    found, end = [], 0
    for number, (first, last) in enumerate(_edges(units, visible)):
        if end < first:
            found.append(run_of(f"z{number:02}", end, first))
        found.append(run_of(f"a{number:02}", first, last))
        end = last
    return [*found, run_of(f"z{RUNS}", end, units)] if end < units else found


def _draw(units: int, kind: Kind, *, seed: int) -> _Drawn:
    """Terms of so many rows: each row holds term t with the chance that Zipf's law gives it, apart from the others.

    The gaps between the rows of a term are geometric, so that nothing is sorted.
    """
    rng = np.random.default_rng(seed)
    odds = 1 / np.arange(1, kind.vocabulary + 1)
    chances = -np.expm1(-kind.terms * odds / odds.sum())
    rows = [_rows_of(chance, units, rng) for chance in chances.tolist()]
    offsets = np.zeros(kind.vocabulary + 1, dtype=np.int64)
    np.cumsum([len(held) for held in rows], out=offsets[1:])
    together = np.concatenate(rows)
    more = rng.random(len(together), dtype=np.float32) < _REPEATS
    return _Drawn(rows=together, frequencies=1 + more.astype(np.int32), offsets=offsets)


def _rows_of(chance: float, units: int, rng: np.random.Generator) -> Rows:
    found: list[npt.NDArray[np.int64]] = []
    last = -1
    while last < units - 1:
        expected = (units - 1 - last) * chance
        gaps = rng.geometric(chance, size=int(expected + 4 * expected**0.5) + 8)
        found.append(last + np.cumsum(gaps))
        last = int(found[-1][-1])
    rows = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    return rows[rows < units].astype(np.int32)


def _laid_out(
    visible: _Drawn, hidden: _Drawn, runs: RowRanges, units: int, vocabulary: int
) -> tuple[Postings, npt.NDArray[np.int32]]:
    """Both in one numbering: the caller's rows in the runs, the others around them, in their own order."""
    places = runs.rows().astype(np.int32)
    gaps = (runs.starts - runs.edges.bases).astype(np.int32)  # how many hidden rows come before each run
    length = len(places) // RUNS
    sizes = np.diff(visible.offsets) + np.diff(hidden.offsets)
    offsets = np.zeros(vocabulary + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    rows = np.empty(offsets[-1], dtype=np.int32)
    frequencies = np.empty(offsets[-1], dtype=np.int32)
    lengths = np.zeros(units, dtype=np.int32)
    for term in range(vocabulary):
        mine = slice(visible.offsets[term], visible.offsets[term + 1])
        others = slice(hidden.offsets[term], hidden.offsets[term + 1])
        target = slice(offsets[term], offsets[term + 1])
        seen, unseen = places[visible.rows[mine]], hidden.rows[others]
        unseen = unseen + length * np.searchsorted(gaps, unseen, side="right").astype(np.int32)
        at = np.searchsorted(unseen, seen)
        rows[target] = np.insert(unseen, at, seen)
        frequencies[target] = np.insert(hidden.frequencies[others], at, visible.frequencies[mine])
        lengths[rows[target]] += frequencies[target]
    terms = {f"t{term:06}": term for term in range(vocabulary)}
    return Postings(terms=terms, offsets=offsets, posting_rows=rows, frequencies=frequencies), lengths


def _codes(units: int, runs: RowRanges, kind: Kind) -> Iterator[Codes]:
    """(n, d) int8 in row order; the caller's rows are the same whatever `units` is."""
    hidden = np.random.default_rng(_SEED + 2)
    mine = _normal(np.random.default_rng(_SEED + 3), kind.visible, kind.dimension)
    for first in range(0, units, _ROWS_DRAWN):
        rows = np.arange(first, min(first + _ROWS_DRAWN, units))
        codes = hidden.integers(-64, 65, (len(rows), kind.dimension), dtype=np.int8)
        held = np.flatnonzero(runs.contains(rows))
        codes[held] = mine[np.searchsorted(runs.rows(), rows[held])]
        yield codes


def _normal(rng: np.random.Generator, rows: int, dimension: int) -> Codes:
    drawn = rng.standard_normal((rows, dimension), dtype=np.float32) * _SPREAD
    codes: Codes = np.clip(np.rint(drawn), -127, 127).astype(np.int8)
    return codes
