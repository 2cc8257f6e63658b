"""Which usable units answer a query, in which order, and why in that order?

Both channels score the usable rows alone (R2), each offers its first `depth`, the union is scored in both and fused
exactly (R12); with `rerank`, the best few are ordered again. Nothing here can reach a row that is not usable.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from evidence.canonical import Json, digest, digest_bytes
from evidence.identity import UnitId, UnitKey, unit_id
from evidence.unit import Unit
from index.approximate import Approximation
from index.channels import Lexical
from index.compartments import Eligible
from index.fusion import DENSE, FUSED_BITS, LEXICAL, ChannelScores, fuse_minmax, fuse_rrf
from index.ranges import RowRanges
from index.segments import Segments
from index.selection import Ranking
from index.statistics import ScopeStatistics
from models.reranker import RerankResult
from server.reranking import Mixed
from server.schemas import Channel, FusionMethod, Retrieval
from server.searchable import Searchable

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
FUSED, RERANK = "fused", "rerank"
APPROXIMATE = "dense: approximate, some of the best units may be missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query as the channels read it; None for a channel that is not wanted, or cannot be had: then a note says so."""

    text: str
    terms: tuple[str, ...] | None
    code: Codes | None
    tokens_seen: int  # by the encoder, of `tokens_total` (R14)
    tokens_total: int
    notes: tuple[str, ...]  # for `degraded` (R15)

    def record(self) -> dict[str, Json]:
        """The query as a hashed record. The code itself stays in the sealed record; here is its digest (R10)."""
        return {
            "terms": self.terms,
            "code": None if self.code is None else digest_bytes(self.code.tobytes()),
            "tokens_seen": self.tokens_seen,
            "tokens_total": self.tokens_total,
        }

    @property
    def digest(self) -> str:
        """Of the text and of what the channels made of it."""
        return digest({"text": self.text, **self.record()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """What a reranker made of a candidate. `position` counts from 1; `score` is in units of 2^-20."""

    position: int
    score: int
    tokens_seen: int
    tokens_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate in its final place, with what each stage said of it (R13)."""

    row: int
    key: UnitKey
    score: int
    ranks: Mapping[str, int]
    scores: Mapping[str, int]
    reranked: Reranked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Candidates, best first, with the digest of each layer that led to them (R32)."""

    candidates: tuple[Ranked, ...]
    layers: Mapping[str, str]
    degraded: tuple[str, ...] = ()  # what a channel, or a stage after them, lacked (R15)
    approximation: Approximation | None = None  # how the dense channel was narrowed; None where all rows were scored


def retrieve(
    request: Retrieval, query: Query, *, searchable: Searchable, eligible: Eligible, statistics: ScopeStatistics
) -> Outcome:
    """Rank the usable units for `request`, without reranking. `statistics` are those of `eligible.ranges`."""
    scope = _Scope(searchable=searchable, ranges=eligible.ranges, statistics=statistics)
    depth = request.fusion.depth
    offered: dict[str, Ranking] = {}
    words = None if query.terms is None else scope.lexical(query.terms)
    if words is not None:
        offered[LEXICAL] = words.topk(depth)
    approximation = None
    if query.code is not None:
        approximation = searchable.dense.approximation(eligible.ranges, k=depth)
        offered[DENSE] = scope.dense(query.code, depth)
    union = _union(offered.values())
    keys = dict(zip(union.tolist(), scope.segments.keys_of(union), strict=True))
    if request.channel is Channel.HYBRID:
        ranked = _fused(request, query.code, words, offered, scope, union=union, keys=keys)
    else:
        ranked = [one for name, ranking in offered.items() for one in _alone(name, ranking, keys)]
    ids = {row: unit_id(key) for row, key in keys.items()}
    return Outcome(
        candidates=tuple(ranked),
        layers={
            "candidates": digest({name: _listed(ranking, ids) for name, ranking in offered.items()}),
            "fusion": digest([[ids[one.row], one.score] for one in ranked]),
        },
        degraded=() if approximation is None else (APPROXIMATE,),
        approximation=approximation,
    )


def rerank(outcome: Outcome, query: Query, units: Sequence[Unit], *, mixed: Mixed) -> Outcome:
    """Order the first `len(units)` candidates again; `units` are theirs, in order.

    Their fused and reranked scores are mixed by min-max with the reranker's own weight, exactly; ties keep the fused
    order. Their `score` is the mix over 2^32, rounded half to even, and `ranks` has the reranker's own order among
    them. Candidates behind them stay where they were, with the scores they had.
    """
    head, tail = outcome.candidates[: len(units)], outcome.candidates[len(units) :]
    result = mixed.reranker.score(query.text, [unit.input_text for unit in units])
    values = _mix([candidate.score for candidate in head], result.scores, mixed.weight)
    by_rerank = sorted(range(len(head)), key=lambda at: (-result.scores[at], at))
    position = {at: place for place, at in enumerate(by_rerank, start=1)}
    order = sorted(range(len(head)), key=lambda at: (-values[at], at))
    reordered = tuple(
        replace(
            head[at],
            score=round(values[at] * 2**FUSED_BITS),
            ranks={**head[at].ranks, RERANK: position[at]},
            scores={**head[at].scores, RERANK: result.scores[at]},
            reranked=Reranked(
                position=position[at],
                score=result.scores[at],
                tokens_seen=result.tokens_seen[at][0],
                tokens_total=result.tokens_seen[at][1],
            ),
        )
        for at in order
    )
    notes = () if result.query_tokens_seen[0] == result.query_tokens_seen[1] else (_query_cut(result),)
    listed: list[Json] = [
        [unit_id(candidate.key), candidate.reranked.score if candidate.reranked else None] for candidate in reordered
    ]
    return replace(
        outcome,
        candidates=(*reordered, *tail),
        layers={**outcome.layers, "rerank": digest(listed)},
        degraded=(*outcome.degraded, *notes),
    )


def _query_cut(result: RerankResult) -> str:
    seen, total = result.query_tokens_seen
    return f"rerank: the reranker read {seen} of the query's {total} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """The usable rows of one row space, and their statistics."""

    searchable: Searchable
    ranges: RowRanges
    statistics: ScopeStatistics

    @property
    def segments(self) -> Segments:
        return self.searchable.segments

    def lexical(self, terms: Sequence[str]) -> Lexical:
        return Lexical.read(self.segments, self.statistics, terms, ranges=self.ranges, large=self.searchable.large)

    def dense(self, code: Codes, depth: int) -> Ranking:
        return self.searchable.dense.topk(code, ranges=self.ranges, k=depth)

    def dense_scores(self, code: Codes, union: Ints) -> dict[int, int]:
        """Place in the union -> score."""
        return dict(enumerate(self.searchable.dense.score_rows(code, union, ranges=self.ranges).tolist()))


def _union(offered: Iterable[Ranking]) -> Ints:
    """Every row that a channel offers, ascending."""
    rows = [ranking.rows for ranking in offered]
    return np.unique(np.concatenate(rows)) if rows else np.empty(0, dtype=np.int64)


def _fused(
    request: Retrieval,
    code: Codes | None,
    words: Lexical | None,
    offered: Mapping[str, Ranking],
    scope: _Scope,
    *,
    union: Ints,
    keys: Mapping[int, UnitKey],
) -> list[Ranked]:
    """The union of what the channels offer, scored in both and fused (R12). Candidates are fused by their place in the
    union, which stands for a row and says nothing about order. keys: of each row in it."""
    channels: dict[str, ChannelScores] = {}
    if words is not None:
        scores, hits = words.score_rows(union)
        matched = dict(zip(np.flatnonzero(hits).tolist(), scores[hits].tolist(), strict=True))
        channels[LEXICAL] = ChannelScores(offered=_places(offered[LEXICAL], union), scores=matched)
    if code is not None:
        channels[DENSE] = ChannelScores(offered=_places(offered[DENSE], union), scores=scope.dense_scores(code, union))
    order = scope.segments.ranks(union).astype(np.int32)
    if request.fusion.method is FusionMethod.MINMAX:
        fused = fuse_minmax(channels, dense_weight=request.fusion.weight, order=order)
    else:
        fused = fuse_rrf(channels, rrf_k=request.fusion.constant, order=order)
    found = union[[one.row for one in fused]] if fused else union
    return [
        Ranked(
            row=row, key=keys[row], score=one.numerator, ranks=one.ranks, scores={**one.scores, FUSED: one.numerator}
        )
        for one, row in zip(fused, found.tolist(), strict=True)
    ]


def _places(ranking: Ranking, union: Ints) -> list[int]:
    places: list[int] = np.searchsorted(union, ranking.rows).tolist()
    return places


def _alone(name: str, ranking: Ranking, keys: Mapping[int, UnitKey]) -> list[Ranked]:
    """One channel's own ranking."""
    return [
        Ranked(row=row, key=keys[row], score=score, ranks={name: rank}, scores={name: score})
        for rank, (row, score) in enumerate(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True), start=1)
    ]


def _listed(ranking: Ranking, ids: Mapping[int, UnitId]) -> list[Json]:
    return [[ids[row], score] for row, score in zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True)]


def _mix(fused: Sequence[int], reranked: Sequence[int], weight: Fraction) -> list[Fraction]:
    """(1 - weight) of the fused score and `weight` of the reranked one, each put on 0..1 by min-max, exactly."""
    return [(1 - weight) * one + weight * other for one, other in zip(_min_max(fused), _min_max(reranked), strict=True)]


def _min_max(scores: Sequence[int]) -> list[Fraction]:
    low, high = min(scores, default=0), max(scores, default=0)
    return [Fraction(score - low, high - low) if high > low else Fraction(1) for score in scores]
