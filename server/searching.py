"""Which hits answer a search?

The first half of the use case: pin, rank, read, look through, look again.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from evidence.access import Principal
from evidence.canonical import Json
from evidence.instant import Instant
from evidence.state import Disposition
from server.attempts import Authority, Basis
from server.containment import AnswerKind, NotContained, Told, named_by_hits, require_contained
from server.hits import hit, matched_terms
from server.ranking import Pinned, Ranker, Stage, degraded, fusion_record
from server.retrieval import Query, Ranked
from server.schemas import Retrieval, SearchRequest
from server.timing import Stopwatch


class _Pin(Protocol):
    """Pins a state for a request, as `Authority.pin`."""

    def __call__(
        self, request: Retrieval, principal: Principal, watch: Stopwatch, *, now: Instant
    ) -> AbstractContextManager[Pinned]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The body of an answer, `run` apart, and what it rests on; one that was given up names nothing, and rests on
    nothing."""

    body: dict[str, Json]
    basis: Basis | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Answers one search request. told: hears of each answer that was looked through before it leaves."""

    request: SearchRequest
    principal: Principal
    authority: Authority
    ranker: Ranker
    recipe_digest: str
    watch: Stopwatch
    told: Told

    def search(self) -> dict[str, Json]:
        """The body of `POST /v1/search`, `run` apart."""
        return self.find().body

    def find(self) -> Found:
        """The answer, as it may leave now."""

        def attempt() -> Found:
            found = self._attempt()
            assert found.basis is not None
            self.authority.require_unmoved(self.request, self.principal, found.basis)
            return found

        try:
            found = self.authority.until_unmoved(attempt)
        except NotContained:
            return self._failed_closed(self.authority.pin_unseen)
        return self.give_up() if found is None else found

    def give_up(self) -> Found:
        """The answer of one under which the authority never stood still."""
        return self._failed_closed(self.authority.pin)

    def _attempt(self) -> Found:
        request, authority, ranker = self.request, self.authority, self.ranker
        now = authority.now()
        with authority.pin(request, self.principal, self.watch, now=now) as pinned:
            eligible = pinned.eligible
            if request.catalog_version not in (None, eligible.catalog_version):
                stale = self._no_hits(pinned, Disposition.STALE_VERSION)
                return Found(body=stale, basis=authority.basis(pinned, (), now=now))
            query = ranker.read(request, pinned)
            outcome = ranker.rank(request, query, pinned)
            best = outcome.candidates[: request.k]
            with self.watch.step("read"):
                hits = _hits(best, query, pinned)
            self._require_contained(hits, pinned)
            answer: dict[str, Json] = {
                "hits": hits,
                "catalog_version": eligible.catalog_version,
                "recipe": self.recipe_digest,
                "fusion": fusion_record(request),
                "degraded": list(degraded(query, outcome, eligible)),
                "stats_scope": ranker.stats_scope(pinned),
                "disposition": Disposition.ACCEPTED.value,
            }
            basis = authority.basis(pinned, (ranked.key for ranked in best), now=now)
        authority.reached(Stage.SELECTED)
        return Found(body=answer, basis=basis)

    def _require_contained(self, hits: Sequence[Json], pinned: Pinned) -> None:
        require_contained(
            AnswerKind.SEARCH,
            named_by_hits(hits),
            begun_with=pinned.eligible.usable,
            eligibility=pinned.eligible.eligibility,
            reading=pinned.snapshot.reading,
            told=self.told,
        )

    def _failed_closed(self, pin: _Pin) -> Found:
        with pin(self.request, self.principal, self.watch, now=self.authority.now()) as pinned:
            return Found(body=self._no_hits(pinned, Disposition.FAILED_CLOSED), basis=None)

    def _no_hits(self, pinned: Pinned, disposition: Disposition) -> dict[str, Json]:
        return {
            "hits": [],
            "catalog_version": pinned.eligible.catalog_version,
            "recipe": self.recipe_digest,
            "fusion": None,
            "degraded": [],
            "stats_scope": None,
            "disposition": disposition.value,
        }


def _hits(best: Sequence[Ranked], query: Query, pinned: Pinned) -> list[Json]:
    units = pinned.snapshot.reading.units([ranked.key for ranked in best])
    terms = matched_terms(query.terms, [ranked.row for ranked in best], pinned.snapshot.segments)
    return [
        hit(
            ranked,
            unit,
            pinned.eligible.usable[unit.key.revision_key],  # a unit outside the usable set stops here (R2)
            matched_terms=matched,
        )
        for ranked, unit, matched in zip(best, units, terms, strict=True)
    ]
