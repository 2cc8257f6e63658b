"""Does what an answer rests on still hold when it leaves?

One attempt reads the authority once, works, and looks again (R5). Where the scope's epoch has moved, or something that
it used is gone, the attempt is over and the whole request runs again, at most three times. What only arrives meanwhile
ends no attempt: an answer is of the state in which it was begun, and names it (`catalog_version`), so that a steady
stream of new sources cannot keep answers from being made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from evidence.access import Principal
from evidence.eligibility import Eligibility
from evidence.identity import RevisionKey, UnitKey
from evidence.instant import Instant
from evidence.revision import RevisionFacts
from index.compartments import nothing
from index.snapshot import Snapshot, Snapshots
from server.errors import RequestError
from server.gate import AssemblyGate, AuthorityMoved, has_lost
from server.ranking import Pinned, Stage
from server.requests import eligibility_for
from server.schemas import Retrieval
from server.scope import still_granted
from server.selecting import Trace, unranked
from server.timing import Stopwatch
from server.views import Views

ATTEMPTS = 3
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What one attempt rests on: the state that it read last, the scope's epoch, the visible facts it selected from,
    the revisions whose text it hands over, and its moment."""

    change: int
    epoch: str
    facts: Mapping[RevisionKey, RevisionFacts]
    revisions: frozenset[RevisionKey]
    at: Instant


class Authority:
    """Pins states of the catalog for requests, and looks again. Shared by the threads of a process.

    clock: gives the moment that a request without `as_of` is judged at. reached: hears of each stage of each attempt.
    max_units: how many units one answer may take in through the second gate.
    """

    def __init__(
        self,
        snapshots: Snapshots,
        views: Views,
        *,
        clock: Callable[[], Instant],
        reached: Callable[[Stage], None],
        max_units: int,
    ) -> None:
        self._snapshots = snapshots
        self._views = views
        self.now = clock
        self.reached = reached
        self._max_units = max_units
        self._log = structlog.get_logger("muniment.attempts")

    @contextmanager
    def pin(self, request: Retrieval, principal: Principal, watch: Stopwatch, *, now: Instant) -> Iterator[Pinned]:
        """One consistent state, and what this request may use of it. Raises Unauthenticated, Forbidden, Invalid."""
        with self._snapshots.pin() as snapshot:
            eligible = snapshot.resolve(_eligibility(request, principal, snapshot, now=now))
            self.reached(Stage.PINNED)
            yield Pinned(snapshot=snapshot, eligible=eligible, watch=watch, reached=self.reached)

    @contextmanager
    def pin_unseen(
        self, request: Retrieval, principal: Principal, watch: Stopwatch, *, now: Instant
    ) -> Iterator[Pinned]:
        """As `pin`, to a caller for whom nothing of the catalog exists."""
        with self.pin(request, principal, watch, now=now) as pinned:
            yield replace(pinned, eligible=nothing(pinned.eligible.eligibility))

    def basis(self, pinned: Pinned, keys: Iterable[UnitKey], *, now: Instant) -> Basis:
        """What an attempt that hands over these units rests on."""
        return Basis(
            change=pinned.snapshot.reading.change,
            epoch=self._views.epoch(pinned.eligible),
            facts=pinned.eligible.visible,
            revisions=frozenset(key.revision_key for key in keys),
            at=now,
        )

    @contextmanager
    def gate(self, request: Retrieval, principal: Principal, basis: Basis, *, trace: Trace) -> Iterator[AssemblyGate]:
        """The second gate, in a consistent read of its own. Raises AuthorityMoved where the scope's epoch has moved, or
        where something that was visible is gone or lies under another label: it may have shaped the answer."""
        with self._snapshots.pin() as live:
            yield self._gate(live, request, principal, basis, trace=trace)

    def require_unmoved(self, request: Retrieval, principal: Principal, basis: Basis) -> None:
        """Raise AuthorityMoved unless the answer may still leave: the last look, and a short one where nothing was
        written since."""
        if self.moved([(request, basis)], principal):
            raise AuthorityMoved

    def moved(self, asked: Sequence[tuple[Retrieval, Basis]], principal: Principal) -> list[int]:
        """The places of those requests whose answers may not leave as they are; all judged in one consistent read.

        One that would be refused now is among them: asked again, it is refused in its own words."""
        found: list[int] = []
        with self._snapshots.pin() as live:
            for place, (request, basis) in enumerate(asked):
                try:
                    if live.reading.change != basis.change:
                        self._gate(live, request, principal, basis, trace=unranked).require(basis.revisions)
                except (AuthorityMoved, RequestError):
                    found.append(place)
        return found

    def until_unmoved(self, attempt: Callable[[], Result]) -> Result | None:
        """The result of the first attempt under which the authority stood still; None where it never did."""
        for _ in range(ATTEMPTS):
            try:
                return attempt()
            except AuthorityMoved:
                self._log.warning("the authority moved while an answer was made")
        return None

    def _gate(
        self, live: Snapshot, request: Retrieval, principal: Principal, basis: Basis, *, trace: Trace
    ) -> AssemblyGate:
        eligibility = _eligibility(request, principal, live, now=basis.at)
        eligible = live.resolve(eligibility)
        if self._views.epoch(eligible) != basis.epoch or has_lost(basis.facts, eligible.visible):
            raise AuthorityMoved
        return AssemblyGate(live.reading, eligibility, facts=basis.facts, trace=trace, max_units=self._max_units)


def _eligibility(request: Retrieval, principal: Principal, snapshot: Snapshot, *, now: Instant) -> Eligibility:
    """The one eligibility object of a request in this state."""
    return eligibility_for(request, still_granted(principal, snapshot.reading.revocations), now=now)
