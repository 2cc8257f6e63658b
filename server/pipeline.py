"""How does one request become one answer?

The use case, top to bottom: who may ask, one consistent read of the authority, the usable rows, the two channels,
fusion, reranking; then hits, or assembly into a packet. The command line, the server and the evaluation all run
exactly this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog
import torch

from evidence.access import Principal
from evidence.assembly import assemble, is_stale_version, refuse_version
from evidence.canonical import Json
from evidence.eligibility import Eligibility, Filter, Use
from evidence.errors import InvalidRequest
from evidence.instant import Instant
from evidence.ranking import LayerDigests
from evidence.ranking import Retrieval as Retrieved
from evidence.request import Strategy
from index import lexical
from index.analysis import Analyzer
from index.bm25 import formula
from index.catalog import Catalog
from index.compartments import Eligible
from index.fusion import FUSED_BITS, FUSION_VERSION
from index.snapshot import Snapshot, Snapshots
from models.errors import ModelError
from server import clock
from server.errors import Invalid
from server.hits import families, hit, matched_terms
from server.queries import QueryEncoder, QueryReader
from server.requests import eligibility_for, meter_for, resolve_packet_request
from server.reranking import UNAVAILABLE, RerankerSlot
from server.retrieval import Outcome, Query, Ranked, rerank, retrieve
from server.schemas import Channel, PacketRequest, Retrieval, SearchRequest
from server.scope import scope_for
from server.searchable import SearchableRows
from server.selecting import as_candidates, in_identity_order
from server.settings import Settings
from server.timing import Stopwatch
from server.views import View, Views

Answer = dict[str, Json]
"""An HTTP body, `run` included."""


class Pipeline:
    """Answers requests over one catalog. Shared by the threads of a process; made by `server/opening.py`.

    encoder: None where the dense channel cannot be had; `encoder_trouble` then says why. clock: gives the moment that
    a request without `as_of` is judged at.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        settings: Settings,
        device: torch.device,
        encoder: QueryEncoder | None,
        encoder_trouble: str | None,
        analyzer: Analyzer,
        reranker: RerankerSlot,
        clock: Callable[[], Instant] = clock.now,
    ) -> None:
        recipe = catalog.recipe
        self.device = device
        self.catalog = catalog
        self._settings = settings
        self._clock = clock
        self._reranker = reranker
        self._log = structlog.get_logger("muniment.pipeline")
        self._snapshots = Snapshots(catalog)
        self._views = Views(recipe)
        self._rows = SearchableRows(
            formula=formula(recipe.bm25, k1=recipe.k1, b=recipe.b), device=device, product=settings.dense_product.value
        )
        self._queries = QueryReader(
            recipe,
            encoder=encoder,
            encoder_trouble=encoder_trouble,
            analyzer=analyzer,
            lexical=settings.lexical,
            max_terms=settings.max_query_terms,
        )

    def search(self, request: SearchRequest, principal: Principal) -> Answer:
        """The body of `POST /v1/search`."""
        watch = Stopwatch()
        self._check(request, k=request.k)
        eligibility = eligibility_for(request, principal, now=self._clock())
        with self._snapshots.pin() as snapshot:
            eligible = snapshot.resolve(eligibility)
            fixed: Answer = {"catalog_version": eligible.catalog_version, "recipe": self.catalog.recipe.digest}
            if request.catalog_version not in (None, eligible.catalog_version):
                stale: Answer = {"fusion": None, "degraded": [], "stats_scope": None, "disposition": "stale-version"}
                return {"hits": [], **fixed, **stale, "run": self._run(watch)}
            pinned = _Pinned(snapshot=snapshot, eligible=eligible, watch=watch)
            query = self._read(request, watch)
            outcome = self._rank(request, query, pinned)
            with watch.step("read"):
                hits = self._hits(outcome.candidates[: request.k], query, pinned)
            return {
                "hits": hits,
                **fixed,
                "fusion": _fusion(request),
                "degraded": list(_degraded(query, outcome, eligible)),
                "stats_scope": self._stats_scope(pinned),
                "disposition": "accepted",
                "run": self._run(watch),
            }

    def packet(self, request: PacketRequest, principal: Principal) -> Answer:
        """The body of `POST /v1/packets`."""
        watch = Stopwatch()
        self._check(request, k=request.k)
        eligibility = eligibility_for(request, principal, now=self._clock())
        resolved = resolve_packet_request(request, principal)
        meter = meter_for(resolved.tokenizer)
        with self._snapshots.pin() as snapshot:
            eligible = snapshot.resolve(eligibility)
            view = self._views.of(snapshot, eligible)
            if is_stale_version(resolved, snapshot=view.snapshot):
                layers = LayerDigests(policy=view.policy, corpus=view.corpus)
                answer = refuse_version(resolved, snapshot=view.snapshot, layers=layers, meter=meter)
                return {**answer.response(), "run": self._run(watch)}
            pinned = _Pinned(snapshot=snapshot, eligible=eligible, watch=watch)
            retrieved = (
                self._select_all(pinned, view)
                if request.strategy is Strategy.BROAD
                else self._select_best(request, resolved.k, pinned, view)
            )
        with watch.step("assemble"):
            try:
                answer = assemble(resolved, snapshot=view.snapshot, retrieval=retrieved, meter=meter)
            except InvalidRequest as error:
                raise Invalid(error.problem, path=error.path) from None
        return {**answer.response(), "run": self._run(watch)}

    def overview(self, principal: Principal, *, purpose: str | None) -> Answer:
        """The body of `GET /v1/catalog`: what is visible, counted; currency and time play no part."""
        eligibility = Eligibility(
            scope=scope_for(principal, purpose=purpose),
            use=Use.CURRENT,
            at=self._clock(),
            as_of=None,
            subject=None,
            filter=Filter(),
        )
        with self._snapshots.pin() as snapshot:
            eligible = snapshot.resolve(eligibility)
            counts = snapshot.reading.holdings.unit_counts
            return {
                "catalog_version": eligible.catalog_version,
                "recipe": self.catalog.recipe.digest,
                "sources": len({key.source for key in eligible.visible}),
                "units": sum(counts[key] for key in eligible.visible),
                "families": families(eligible.visible.values()),
            }

    def warm_up(self) -> None:
        """Check and map the index, compile the loops, run the models once: what the first request would wait for."""
        lexical.prepare()
        nobody = Principal(sub="warm-up", tenant=None)
        self.search(SearchRequest(query="warm up"), nobody)

    def _check(self, request: Retrieval, *, k: int | None) -> None:
        settings = self._settings
        size = len(request.query.encode("utf-8"))
        if size > settings.max_query_bytes:
            raise Invalid(f"has {size} bytes, at most {settings.max_query_bytes} are allowed", path="$.query")
        if k is not None and k > settings.max_k:
            raise Invalid(f"is {k}, at most {settings.max_k} is allowed", path="$.k")

    def _read(self, request: Retrieval, watch: Stopwatch) -> Query:
        with watch.step("encode"):
            return self._queries.read(request.query, request.channel)

    def _rank(self, request: Retrieval, query: Query, pinned: "_Pinned") -> Outcome:
        generation = pinned.snapshot.generation
        with pinned.watch.step("search"):
            outcome = retrieve(
                request,
                query,
                searchable=self._rows.of(generation),
                eligible=pinned.eligible,
                statistics=self._rows.statistics(generation, pinned.eligible.ranges),
            )
        if not request.rerank:
            return outcome
        with pinned.watch.step("rerank"):
            mixed = self._reranker.get()
            if mixed is None:
                return replace(outcome, degraded=(UNAVAILABLE,))
            head = outcome.candidates[: self._settings.rerank_depth]
            units = pinned.snapshot.reading.units([candidate.key for candidate in head])
            try:
                return rerank(outcome, query, units, mixed=mixed)
            except ModelError as error:
                self._log.error("candidates could not be reranked", reason=type(error).__name__)
                return replace(outcome, degraded=(UNAVAILABLE,))

    def _hits(self, best: Sequence[Ranked], query: Query, pinned: "_Pinned") -> list[Json]:
        units = pinned.snapshot.reading.units([ranked.key for ranked in best])
        terms = matched_terms(query.terms, [ranked.row for ranked in best], pinned.snapshot.generation.postings)
        return [
            hit(
                ranked,
                unit,
                pinned.eligible.usable[unit.key.revision_key],  # a unit outside the usable set stops here (R2)
                matched_terms=matched,
            )
            for ranked, unit, matched in zip(best, units, terms, strict=True)
        ]

    def _select_best(self, request: PacketRequest, k: int, pinned: "_Pinned", view: View) -> Retrieved:
        """The k best, ranked."""
        query = self._read(request, pinned.watch)
        outcome = self._rank(request, query, pinned)
        with pinned.watch.step("read"):
            selection = as_candidates(outcome.candidates[:k], snapshot=pinned.snapshot, usable=pinned.eligible.usable)
        recipe = self.catalog.recipe
        return Retrieved(
            selection=selection,
            unselected=tuple(ranked.key for ranked in outcome.candidates[k:]),
            degraded=_degraded(query, outcome, pinned.eligible),
            parameters={
                "fusion": _fusion(request),
                "lexical": {"formula": recipe.bm25, "k1": recipe.k1, "b": recipe.b},
                "reranker": self._reranker.record() if request.rerank else None,
                "query": query.record(),
            },
            stats_scope=self._stats_scope(pinned),
            layers=LayerDigests(
                policy=view.policy,
                corpus=view.corpus,
                query=query.digest,
                eligibility=view.eligibility,
                candidates=outcome.layers["candidates"],
                fusion=outcome.layers["fusion"],
                rerank=outcome.layers.get("rerank"),
            ),
        )

    def _select_all(self, pinned: "_Pinned", view: View) -> Retrieved:
        """Every usable unit in identity order: nothing is scored."""
        units, most = view.snapshot.usable_units, self._settings.max_broad_units
        if units > most:
            raise Invalid(f"broad would take {units} units, at most {most} are allowed", path="$.strategy")
        with pinned.watch.step("read"):
            selection = in_identity_order(pinned.snapshot, pinned.eligible)
        return Retrieved(
            selection=selection,
            unselected=(),
            degraded=(),
            parameters={},
            stats_scope=None,
            layers=LayerDigests(policy=view.policy, corpus=view.corpus, eligibility=view.eligibility),
        )

    def _stats_scope(self, pinned: "_Pinned") -> dict[str, Json]:
        statistics = self._rows.statistics(pinned.snapshot.generation, pinned.eligible.ranges)
        return {
            "set": "usable units",
            "digest": self._views.usable_digest(pinned.eligible),
            "units": statistics.units,
            "terms": statistics.total_length,
        }

    def _run(self, watch: Stopwatch) -> Answer:
        fallback = self._rows.fallback
        return {"device": self.device.type, "fallback": fallback, "milliseconds": watch.milliseconds()}  # type: ignore[dict-item]  # the one place with floats: never hashed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pinned:
    """What one request holds on to from its first step to its last."""

    snapshot: Snapshot
    eligible: Eligible
    watch: Stopwatch


def _fusion(request: Retrieval) -> dict[str, Json] | None:
    """Method, parameters, the version of their formulas, and the denominator of fused scores (R12, R13)."""
    if request.channel is not Channel.HYBRID:
        return None
    return {**request.fusion.normalized(), "version": FUSION_VERSION, "denominator": 2**FUSED_BITS}


def _degraded(query: Query, outcome: Outcome, eligible: Eligible) -> tuple[str, ...]:
    return tuple(sorted((*query.notes, *outcome.degraded, *_unindexed(eligible))))


def _unindexed(eligible: Eligible) -> tuple[str, ...]:
    """Usable revisions that wait for a reindex are missing from this answer, and it says so."""
    waiting = len(eligible.unindexed)
    return (f"index: usable revisions that wait for a reindex: {waiting}",) if waiting else ()
