"""How do both channels search several generations as if they were one?

Statistics are sums over the generations, and the first k of all are among the first k of each: so scores and order are
those that one generation of the same rows would give, byte by byte (R9, R10, R11). Where everything lies in one
generation, it is searched as it is. Where dense search is approximate, so it is over all of them at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from index import lexical
from index.approximate import Approximation, Narrowing, Signs
from index.bm25 import Formula
from index.dense import DenseIndex
from index.device_lexical import LargeScopes
from index.ranges import RowRanges
from index.segments import Part, Segments
from index.selection import Ranking
from index.statistics import Counted, ScopeStatistics, gather, gather_all

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]


def count(segments: Segments, ranges: RowRanges, *, formula: Formula) -> ScopeStatistics:
    """What BM25 needs of exactly these rows (R9). Raises ValueError for ranges beyond the rows."""
    parts = segments.split(ranges)
    if len(parts) == 1 and parts[0].ranges is ranges:
        return gather(segments.base.postings, segments.base.lengths, ranges=ranges, formula=formula)
    return gather_all([_counted(part) for part in parts], ranges=ranges, formula=formula)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lexical:
    """One query's words over one scope. Made by `read`. large: where large scopes of the published generation are
    searched, None for the CPU."""

    segments: Segments
    parts: tuple[Part, ...]
    weights: lexical.QueryWeights
    large: LargeScopes | None

    @classmethod
    def read(
        cls,
        segments: Segments,
        statistics: ScopeStatistics,
        terms: Sequence[str],
        *,
        ranges: RowRanges,
        large: LargeScopes | None = None,
    ) -> "Lexical":
        """Weigh `terms` over `ranges`. Statistics of other ranges are refused with ValueError."""
        parts = tuple(segments.split(ranges))
        weights = lexical.weigh([_counted(part) for part in parts], statistics, terms, ranges=ranges)
        return cls(segments=segments, parts=parts, weights=weights, large=large)

    def score(self) -> Ranking:
        """Every hit, in row order."""
        found = [_shifted(lexical.score_weighed(_counted(part), self.weights), part) for part in self.parts]
        return Ranking(
            rows=np.concatenate([ranking.rows for ranking in found]),
            scores=np.concatenate([ranking.scores for ranking in found]),
        )

    def topk(self, k: int) -> Ranking:
        """The first `k` hits: score descending, then identity."""
        found = []
        for part in self.parts:
            best = self._on_device(part, k)
            if best is None:
                best = lexical.topk_weighed(_counted(part), self.weights, order=part.generation.order, k=k)
            found.append(_shifted(best, part))
        return self.segments.best(found, k)

    def _on_device(self, part: Part, k: int) -> Ranking | None:
        """The first `k` hits of the part, or None where it is for the CPU to find them."""
        if self.large is None or part.generation is not self.segments.base or k < 1:
            return None
        weighing = lexical.weighing_of(_counted(part), self.weights)
        return None if weighing is None else self.large.topk(weighing, part.ranges, k=k)

    def score_rows(self, rows: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """The scores of `rows` (any order, none twice, all in the ranges) and which are hits, both (len(rows),)."""
        scores, hits = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.bool_)
        for part, chosen, local in _localized(self.parts, rows):
            scores[chosen], hits[chosen] = lexical.score_rows_weighed(_counted(part), self.weights, rows=local)
        return scores, hits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dense:
    """The codes of all rows, ready to be searched. `newer`: the index of the delta, None where there is no delta.

    approximate: what narrows large searches; None where every usable row is scored.
    """

    segments: Segments
    older: DenseIndex
    newer: DenseIndex | None
    approximate: "Approximate | None" = None

    def topk(self, query: Codes, *, ranges: RowRanges, k: int) -> Ranking:
        """The first `k` rows of `ranges` for one query, (d,) int8: score descending, then identity.

        Where `approximation` gives a rule: of those of them that are worth a score. The cut is then one for all
        generations, so that it does not matter which of them holds a row.
        """
        parts = self.segments.split(ranges)
        if self.approximate is not None and self.approximation(ranges, k=k) is not None:
            signed = [(self._signs(self.approximate, part), part.ranges) for part in parts]
            narrowed = self.approximate.narrowing.narrow(query, signed, k=k)
            parts = [replace(part, ranges=worth) for part, worth in zip(parts, narrowed, strict=True)]
        found = [_shifted(self._index(part).topk(query[None], ranges=part.ranges, k=k)[0], part) for part in parts]
        return self.segments.best(found, k)

    def approximation(self, ranges: RowRanges, *, k: int) -> Approximation | None:
        """By what rule `topk` scores only some of these rows; None where it scores all of them."""
        if self.approximate is None:
            return None
        rule = self.approximate.narrowing.approximation
        return rule if rule.applies(ranges.count, k=k) else None

    def score_rows(self, query: Codes, rows: Ints, *, ranges: RowRanges) -> Ints:
        """(len(rows),) int64: the scores of `rows`, in their order. Raises ValueError for a row outside `ranges`."""
        scores = np.empty(len(rows), dtype=np.int64)
        for part, chosen, local in _localized(self.segments.split(ranges), rows):
            scores[chosen] = self._index(part).score_rows(query, local, ranges=part.ranges)
        return scores

    def codes_of(self, rows: Ints) -> Codes:
        """(len(rows), d) int8: the codes of `rows`, in their order."""
        base, delta = self.segments.base, self.segments.delta
        if delta is None:
            return np.asarray(base.codes[rows])
        codes = np.empty((len(rows), base.dimension), dtype=np.int8)
        newer = rows >= base.rows
        codes[~newer], codes[newer] = base.codes[rows[~newer]], delta.codes[rows[newer] - base.rows]
        return codes

    def _signs(self, approximate: "Approximate", part: Part) -> Signs:
        if part.generation is self.segments.base:
            return approximate.older
        assert approximate.newer is not None, "a row space with a delta has its signs"
        return approximate.newer

    def _index(self, part: Part) -> DenseIndex:
        if part.generation is self.segments.base:
            return self.older
        assert self.newer is not None, "a row space with a delta has an index of it"
        return self.newer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Approximate:
    """What narrows a search, with the signs of all rows. `newer`: those of the delta, None where there is none."""

    narrowing: Narrowing
    older: Signs
    newer: Signs | None


def _counted(part: Part) -> Counted:
    return Counted(postings=part.generation.postings, lengths=part.generation.lengths, ranges=part.ranges)


def _shifted(ranking: Ranking, part: Part) -> Ranking:
    return ranking if part.first == 0 else Ranking(rows=ranking.rows + part.first, scores=ranking.scores)


def _localized(parts: Sequence[Part], rows: Ints) -> list[tuple[Part, npt.NDArray[np.bool_] | slice, Ints]]:
    """For each part: which of `rows` are its own, and their numbers there. Raises ValueError for a row in none."""
    if len(parts) == 1 and parts[0].first == 0:
        return [(parts[0], slice(None), rows)]
    found: list[tuple[Part, npt.NDArray[np.bool_] | slice, Ints]] = []
    taken = 0
    for part in parts:
        chosen = (rows >= part.first) & (rows < part.first + part.generation.rows)
        found.append((part, chosen, rows[chosen] - part.first))
        taken += int(chosen.sum())
    if taken != len(rows):
        raise ValueError("only usable rows are scored: a row lies outside the ranges")
    return found
