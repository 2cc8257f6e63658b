"""How do the published generation and what came after it count as one row space? (pure)

Rows of the published generation keep their numbers; the rows of the delta follow them. Useful for whoever holds row
numbers: which unit is this, where do the rows of a revision lie, which of two rows comes first. Not useful for scoring
(`index/channels.py`) nor for making a delta (`index/delta.py`). Without a delta everything is what the generation says,
and costs as much.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from evidence.identity import RevisionKey, UnitKey
from index.generation import Generation
from index.ranges import RowRanges
from index.selection import Ranking, first_of

Ints = npt.NDArray[np.int64]


class Places:
    """How many rows of a generation come before a key in the order of identity. Costs a sort of its revisions once."""

    def __init__(self, base: Generation) -> None:
        by_identity = sorted(base.runs, key=lambda run: run.key)
        self._keys = [run.key for run in by_identity]
        sizes = np.array([run.end - run.start for run in by_identity], dtype=np.int64)
        self._before: list[int] = [0, *np.cumsum(sizes).tolist()]

    def rows_before(self, key: RevisionKey) -> int:
        """Rows of revisions with a smaller key."""
        return self._before[bisect_left(self._keys, key)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """Those rows of one generation that may be touched, in its own numbers. `first`: what its row 0 is in the row
    space."""

    generation: Generation
    first: int
    ranges: RowRanges


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segments:
    """A published generation, and a delta of what it lacks. Made by `alone` and `joined`.

    name: of the whole row space; equal names stand for equal rows. A cache key, and never part of an answer (R6).
    order_insertions: (delta rows,) int64, ascending: for each row of the delta, in the order of identity, how many
    rows of the generation come before it.
    """

    name: str
    base: Generation
    delta: Generation | None
    order_insertions: Ints = field(repr=False)

    @classmethod
    def alone(cls, base: Generation) -> Self:
        """The published generation and nothing else."""
        return cls(name=base.name, base=base, delta=None, order_insertions=np.empty(0, dtype=np.int64))

    @classmethod
    def joined(cls, base: Generation, delta: Generation, *, places: Places) -> Self:
        """Both. `places`: of the revisions of `base`."""
        by_identity = sorted(delta.runs, key=lambda run: run.key)
        before = [places.rows_before(run.key) for run in by_identity]
        sizes = [run.end - run.start for run in by_identity]
        return cls(
            name=joined_name(base.name, delta.name),
            base=base,
            delta=delta,
            order_insertions=np.repeat(np.array(before, dtype=np.int64), sizes),
        )

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.base.rows + (0 if self.delta is None else self.delta.rows)

    def split(self, ranges: RowRanges) -> list[Part]:
        """The parts of `ranges` in each generation that has some. Raises ValueError for ranges beyond the rows."""
        if ranges.count and ranges.ends[-1] > self.rows:
            raise ValueError(f"the ranges end at row {ranges.ends[-1]}, the rows at {self.rows}")
        border = self.base.rows
        if self.delta is None or not ranges.count or ranges.ends[-1] <= border:
            return [Part(generation=self.base, first=0, ranges=ranges)]
        below, above = ranges.starts < border, ranges.ends > border
        older = RowRanges(starts=ranges.starts[below], ends=np.minimum(ranges.ends[below], border))
        newer = RowRanges(starts=np.maximum(ranges.starts[above], border) - border, ends=ranges.ends[above] - border)
        parts = [Part(generation=self.base, first=0, ranges=older)] if below.any() else []
        return [*parts, Part(generation=self.delta, first=border, ranges=newer)]

    def place(self, keys: Iterable[RevisionKey], *, digests: Mapping[RevisionKey, str]) -> "Placed":
        """Where the rows of `keys` lie. `digests`: of each one's content as the catalog has it now; rows of other
        content do not count."""
        wanted = list(keys)
        base = self.base
        runs = [base.runs[place] for key in wanted if (place := base.run_of.get(key)) is not None]
        spans = {run.key: (run.start, run.end) for run in runs if run.facts_digest == digests[run.key]}
        missing = [key for key in wanted if key not in spans]
        if self.delta is not None:
            runs = [self.delta.runs[place] for key in missing if (place := self.delta.run_of.get(key)) is not None]
            newer = [run for run in runs if run.facts_digest == digests[run.key]]
            spans |= {run.key: (base.rows + run.start, base.rows + run.end) for run in newer}
            missing = [key for key in missing if key not in spans]
        return Placed(ranges=RowRanges.from_pairs(spans.values()), missing=tuple(missing))

    def ranks(self, rows: Ints) -> Ints:
        """(len(rows),) int64: numbers that order `rows` by namespace, source_id, revision, ordinal (R11)."""
        if self.delta is None:
            return self.base.order[rows].astype(np.int64)
        newer = rows >= self.base.rows
        ranks = np.empty(len(rows), dtype=np.int64)
        older = self.base.order[rows[~newer]].astype(np.int64)
        ranks[~newer] = older + np.searchsorted(self.order_insertions, older, side="right")
        place = self.delta.order[rows[newer] - self.base.rows].astype(np.int64)
        ranks[newer] = place + self.order_insertions[place]
        return ranks

    def best(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """The first `k` of rankings that share no row: score descending, then identity."""
        if len(rankings) == 1:
            return rankings[0]
        rows = np.concatenate([ranking.rows for ranking in rankings])
        scores = np.concatenate([ranking.scores for ranking in rankings])
        return first_of(rows, scores, ranks=self.ranks(rows), k=k)

    def keys_of(self, rows: Sequence[int] | npt.NDArray[np.integer[Any]]) -> list[UnitKey]:
        """The units that `rows` stand for, in that order. Raises IndexError outside `[0, rows)`."""
        wanted = np.asarray(rows, dtype=np.int64)
        newer = wanted >= self.base.rows
        if self.delta is None or not newer.any():
            return self.base.keys_of(wanted)
        found = iter(self.delta.keys_of(wanted[newer] - self.base.rows))
        older = iter(self.base.keys_of(wanted[~newer]))
        return [next(found) if is_newer else next(older) for is_newer in newer.tolist()]

    def rows_of(self, key: RevisionKey) -> range:
        """The rows of a revision, the newer ones where it has some in both; empty when it has none."""
        newer = range(0) if self.delta is None else self.delta.rows_of(key)
        if not newer:
            return self.base.rows_of(key)
        return range(self.base.rows + newer.start, self.base.rows + newer.stop)

    def holds(self, term: str, rows: Ints) -> npt.NDArray[np.bool_]:
        """(len(rows),) bool: which of `rows`, in any order, hold the term."""
        if self.delta is None:
            return self.base.postings.holds(term, rows)
        newer = rows >= self.base.rows
        held = np.empty(len(rows), dtype=np.bool_)
        held[~newer] = self.base.postings.holds(term, rows[~newer])
        held[newer] = self.delta.postings.holds(term, rows[newer] - self.base.rows)
        return held


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """Where the rows of some revisions lie. `missing`: those that have none, in the order asked."""

    ranges: RowRanges
    missing: tuple[RevisionKey, ...]


def joined_name(base: str, delta: str) -> str:
    """The name of the row space of two generations."""
    return f"{base}+{delta}"
