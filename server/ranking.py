"""Which units rank best for one request, over one pinned state?

The first half of the use case: read the query, score both channels over the usable rows, fuse, rerank when asked. What
a channel or a reranker lacks is said in words that are hashed with the answer (R15).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import structlog

from evidence.canonical import Json
from index.compartments import Eligible
from index.fusion import FUSED_BITS, FUSION_VERSION
from index.recipe import Recipe
from index.snapshot import Snapshot
from models.errors import ModelError
from server.queries import QueryReader
from server.reranking import UNAVAILABLE, RerankerSlot
from server.retrieval import Codes, Outcome, Query, rerank, retrieve
from server.schemas import Channel, Retrieval
from server.searchable import SearchableRows
from server.timing import Stopwatch
from server.views import Views


class Stage(StrEnum):
    """A place on the path of one request at which the world may have moved; tests move it there."""

    PINNED = "pinned"  # the first consistent read has begun
    ENCODED = "encoded"  # the query was read
    RANKED = "ranked"  # both channels, fused
    RERANKED = "reranked"
    SELECTED = "selected"  # units were read, the first read has ended
    GATED = "gated"  # the second consistent read has admitted the selection
    ASSEMBLED = "assembled"  # the packet stands, the second read has ended
    WRITTEN = "written"  # the bytes of the answer stand, and its record is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What one attempt holds on to from its first step to its selection. `reached` hears of each stage."""

    snapshot: Snapshot
    eligible: Eligible
    watch: Stopwatch
    reached: Callable[[Stage], None]


class Ranker:
    """Ranks over one catalog. Shared by the threads of a process."""

    def __init__(
        self,
        recipe: Recipe,
        *,
        rows: SearchableRows,
        queries: QueryReader,
        reranker: RerankerSlot,
        rerank_depth: int,
        views: Views,
    ) -> None:
        self._recipe = recipe
        self._rows = rows
        self._queries = queries
        self._reranker = reranker
        self._rerank_depth = rerank_depth
        self._views = views
        self._log = structlog.get_logger("muniment.ranking")

    def read(self, request: Retrieval, pinned: Pinned, *, code: Codes | None = None) -> Query:
        """The query as the channels read it. `code`: one kept from an earlier run, taken as it is (R10)."""
        with pinned.watch.step("encode"):
            who = pinned.eligible.eligibility.scope.principal
            query = self._queries.read(request.query, request.channel, asker=(who.namespace, who.sub), code=code)
        pinned.reached(Stage.ENCODED)
        return query

    def rank(self, request: Retrieval, query: Query, pinned: Pinned) -> Outcome:
        """Every candidate, best first."""
        segments = pinned.snapshot.segments
        with pinned.watch.step("search"):
            outcome = retrieve(
                request,
                query,
                searchable=self._rows.of(segments, fell_back=pinned.watch.fell_back),
                eligible=pinned.eligible,
                statistics=self._rows.statistics(segments, pinned.eligible.ranges),
            )
        pinned.reached(Stage.RANKED)
        if request.rerank:
            outcome = self._reranked(outcome, query, pinned)
            pinned.reached(Stage.RERANKED)
        return outcome

    def parameters(self, request: Retrieval, query: Query, outcome: Outcome) -> dict[str, Json]:
        """Formulas and parameters, for the manifest (R13). `dense` is there where it was approximate, and not else."""
        recipe, rule = self._recipe, outcome.approximation
        return {
            **({} if rule is None else {"dense": {"approximate": True, **rule.record()}}),
            "fusion": fusion_record(request),
            "lexical": {"formula": recipe.bm25, "k1": recipe.k1, "b": recipe.b},
            "reranker": self._reranker.record() if request.rerank else None,
            "query": query.record(),
        }

    def stats_scope(self, pinned: Pinned) -> dict[str, Json]:
        """The set behind the lexical statistics (R9, R13)."""
        statistics = self._rows.statistics(pinned.snapshot.segments, pinned.eligible.ranges)
        return {
            "set": "usable units",
            "digest": self._views.usable_digest(pinned.eligible),
            "units": statistics.units,
            "terms": statistics.total_length,
        }

    def _reranked(self, outcome: Outcome, query: Query, pinned: Pinned) -> Outcome:
        with pinned.watch.step("rerank"):
            mixed = self._reranker.get()
            if mixed is None:
                return replace(outcome, degraded=(*outcome.degraded, UNAVAILABLE))
            head = outcome.candidates[: self._rerank_depth]
            units = pinned.snapshot.reading.units([candidate.key for candidate in head])
            try:
                return rerank(outcome, query, units, mixed=mixed)
            except ModelError as error:
                self._log.error("candidates could not be reranked", reason=type(error).__name__)
                return replace(outcome, degraded=(*outcome.degraded, UNAVAILABLE))


def fusion_record(request: Retrieval) -> dict[str, Json] | None:
    """Method, parameters, the version of their formulas, and the denominator of fused scores (R12, R13)."""
    if request.channel is not Channel.HYBRID:
        return None
    return {**request.fusion.normalized(), "version": FUSION_VERSION, "denominator": 2**FUSED_BITS}


def degraded(query: Query, outcome: Outcome, eligible: Eligible) -> tuple[str, ...]:
    """Everything this answer lacks, in code-point order."""
    return tuple(sorted((*query.notes, *outcome.degraded, *_unindexed(eligible))))


def _unindexed(eligible: Eligible) -> tuple[str, ...]:
    """Usable revisions that wait for a reindex are missing from this answer, and it says so."""
    waiting = len(eligible.unindexed)
    return (f"index: usable revisions that wait for a reindex: {waiting}",) if waiting else ()
