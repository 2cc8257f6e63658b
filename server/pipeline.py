"""How does one request become one answer?

The use case, wired once: who may ask, one consistent read of the authority, the usable rows, the two channels, fusion,
reranking; then hits (`searching`), or a second consistent read and assembly into a packet (`packets`). The command
line, the server and the evaluation all run exactly this.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from evidence.access import Principal
from evidence.canonical import Json
from evidence.eligibility import Eligibility, Filter, Use
from evidence.instant import Instant
from index import compiled_scan, lexical
from index.analysis import Analyzer
from index.approximate import Approximation
from index.bm25 import formula
from index.catalog import Catalog
from index.snapshot import Snapshots
from server import clock
from server.attempts import Authority
from server.compatible.embedding import Embedder
from server.containment import AnswerKind, Checked, Told, conclude, invisible_among, untold
from server.errors import Invalid
from server.hits import families
from server.intake import TextEncoder
from server.packets import Answered, PacketMaker
from server.queries import QueryReader
from server.ranking import Pinned, Ranker, Stage
from server.requests import Requests
from server.reranking import RerankerSlot
from server.retrieval import Codes
from server.schemas import PacketRequest, Retrieval, SearchRequest
from server.scope import scope_for, still_granted
from server.search_batches import SearchBatch, refusing_all, require_few_hits
from server.searchable import SearchableRows
from server.searching import Searcher
from server.settings import Settings
from server.timing import Stopwatch
from server.views import Views

WARM_UP = "warm up"
Answer = dict[str, Json]
"""An HTTP body, `run` included."""


class Pipeline:
    """Answers requests over one catalog. Shared by the threads of a process; made by `server/opening.py`.

    encoder: None where the dense channel cannot be had; `encoder_trouble` then says why. clock: gives the moment that
    a request without `as_of` is judged at. reached: hears of each stage of each attempt. stopwatch: makes what times
    one request.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        settings: Settings,
        device: torch.device,
        encoder: TextEncoder | None,
        encoder_trouble: str | None,
        analyzer: Analyzer,
        reranker: RerankerSlot,
        requests: Requests,
        clock: Callable[[], Instant] = clock.now,
        reached: Callable[[Stage], None] = lambda _: None,
        stopwatch: Callable[[], Stopwatch] = Stopwatch,
    ) -> None:
        recipe = catalog.recipe
        self.device = device
        self.catalog = catalog
        self.encoder = encoder
        self.embedder = Embedder(recipe, encoder=encoder)
        self.reranker = reranker
        self.requests = requests
        self._stopwatch = stopwatch
        self._settings = settings
        self._snapshots = Snapshots(catalog)
        self._views = Views(recipe)
        self._authority = Authority(
            self._snapshots, self._views, clock=clock, reached=reached, max_units=settings.max_broad_units
        )
        self._rows = SearchableRows(
            formula=formula(recipe.bm25, k1=recipe.k1, b=recipe.b),
            device=device,
            product=settings.dense_product.value,
            gathers=settings.gather_searches,
            approximation=approximation_of(settings),
        )
        self._queries = QueryReader(
            recipe,
            encoder=encoder,
            encoder_trouble=encoder_trouble,
            analyzer=analyzer,
            lexical=settings.lexical,
            max_terms=settings.max_query_terms,
            gathers=settings.gather_queries,
        )
        self.ranker = Ranker(
            recipe,
            rows=self._rows,
            queries=self._queries,
            reranker=reranker,
            rerank_depth=settings.rerank_depth,
            views=self._views,
        )

    def search(self, request: SearchRequest, principal: Principal, *, told: Told = untold) -> Answer:
        """The body of `POST /v1/search`. told: hears of each answer that was looked through before it leaves."""
        watch = self._stopwatch()
        self._check(request, k=request.k)
        return {**self._searcher(request, principal, watch=watch, told=told).search(), "run": self._run(watch)}

    def search_batch(
        self, requests: Sequence[SearchRequest], principal: Principal, *, told: Told = untold
    ) -> SearchBatch:
        """The searches of `POST /v1/search/batch`, checked and still to be made. told: as for a search.

        Raises Invalid where a request is beyond the limits, or all of them together.
        """
        for place, request in enumerate(requests):
            with refusing_all(place):
                self._check(request, k=request.k)
        require_few_hits(requests, most=self._settings.max_batch_hits)
        return SearchBatch(
            requests,
            principal,
            authority=self._authority,
            ahead=lambda texts: self._queries.read_ahead(texts, asker=(principal.namespace, principal.sub)),
            searcher=lambda request: self._searcher(request, principal, watch=self._stopwatch(), told=told),
            run=lambda searcher: self._run(searcher.watch),
        )

    def packet(
        self,
        request: PacketRequest,
        principal: Principal,
        *,
        deliver: Callable[[Answered], None] = lambda _: None,
        code: Codes | None = None,
        told: Told = untold,
    ) -> Answer:
        """The body of `POST /v1/packets`.

        deliver: gets each answer just before the authority is looked at for the last time; what it does for an answer
        that then turns out to be too old is done again for the next one. code: of the query, where an earlier run kept
        it (R10). told: as for a search.
        """
        watch = self._stopwatch()
        self._check(request, k=request.k)
        resolved, means = self.requests.resolve(request, principal)
        maker = PacketMaker(
            request=request,
            resolved=resolved,
            means=means,
            principal=principal,
            code=code,
            authority=self._authority,
            ranker=self.ranker,
            views=self._views,
            max_units=self._settings.max_broad_units,
            watch=watch,
            told=told,
            run=lambda: self._run(watch),
        )
        return maker.make(deliver).body

    def overview(self, principal: Principal, *, purpose: str | None, told: Told = untold) -> Answer:
        """The body of `GET /v1/catalog`: what is visible, counted; currency and time play no part. told: as for a
        search. Raises NotContained where it would count anything else: there is no answer that closes this one."""
        with self._snapshots.pin() as snapshot:
            eligibility = Eligibility(
                scope=scope_for(still_granted(principal, snapshot.reading.revocations), purpose=purpose),
                use=Use.CURRENT,
                at=self.now(),
                as_of=None,
                subject=None,
                filter=Filter(),
            )
            eligible = snapshot.resolve(eligibility)
            outside = invisible_among(eligible.visible, eligibility=eligibility, reading=snapshot.reading)
            conclude(Checked(answer=AnswerKind.CATALOG, named=len(eligible.visible), outside=len(outside)), told=told)
            counts = snapshot.reading.holdings.unit_counts
            return {
                "catalog_version": eligible.catalog_version,
                "recipe": self.catalog.recipe.digest,
                "sources": len({key.source for key in eligible.visible}),
                "units": sum(counts[key] for key in eligible.visible),
                "families": families(eligible.visible.values()),
            }

    @property
    def fallback(self) -> str | None:
        """What serves all requests in place of the first choice, as the `run` block says it."""
        return self._rows.fallback

    def now(self) -> Instant:
        """The moment that a request without `as_of` is judged at."""
        return self._authority.now()

    @contextmanager
    def pinned(self, request: Retrieval, principal: Principal) -> Iterator[Pinned]:
        """One state as this request would see it, for a look that makes no answer."""
        with self._authority.pin(request, principal, Stopwatch(), now=self.now()) as pinned:
            yield pinned

    def warm_up(self) -> None:
        """Check and map the index, compile the loops, run the models once: what the first request would wait for."""
        lexical.prepare()
        compiled_scan.prepare()
        nobody = Principal(sub="warm-up", tenant=None)
        self.search(SearchRequest(query=WARM_UP), nobody)
        self._queries.warm_up(WARM_UP)

    def check_query(self, query: str) -> None:
        """Raise Invalid for a query that is too long."""
        size, most = len(query.encode("utf-8")), self._settings.max_query_bytes
        if size > most:
            raise Invalid(f"has {size} bytes, at most {most} are allowed", path="$.query")

    def _check(self, request: Retrieval, *, k: int | None) -> None:
        self.check_query(request.query)
        if k is not None and k > self._settings.max_k:
            raise Invalid(f"is {k}, at most {self._settings.max_k} is allowed", path="$.k")

    def _searcher(self, request: SearchRequest, principal: Principal, *, watch: Stopwatch, told: Told) -> Searcher:
        return Searcher(
            request=request,
            principal=principal,
            authority=self._authority,
            ranker=self.ranker,
            recipe_digest=self.catalog.recipe.digest,
            watch=watch,
            told=told,
        )

    def _run(self, watch: Stopwatch) -> Answer:
        fallbacks = [*filter(None, [self.fallback]), *watch.fallbacks]
        fallback = "; ".join(dict.fromkeys(fallbacks)) or None
        return {"device": self.device.type, "fallback": fallback, "milliseconds": watch.milliseconds()}  # type: ignore[dict-item]  # the one place with floats: never hashed


def approximation_of(settings: Settings) -> Approximation | None:
    """When dense search is approximate, as the operator set it; None for never."""
    if settings.approximate_above is None:
        return None
    return Approximation(above=settings.approximate_above, oversampling=settings.approximate_oversampling)
