"""How is one evidence packet made, from its request to the moment it may leave?

Two consistent reads of the authority: retrieval selects in the first, and in the second everything selected passes the
gate again and is assembled (R5), and what the answer then names is looked through. Then the answer is delivered, and
the authority is looked at once more.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import structlog

from evidence.access import Principal
from evidence.assembly import Assembled, assemble, is_stale_version, refuse
from evidence.canonical import Json
from evidence.errors import InvalidRequest
from evidence.instant import Instant
from evidence.means import Means
from evidence.ranking import LayerDigests
from evidence.request import PacketRequest as Resolved
from evidence.state import Disposition
from index.catalog_read import Reading
from index.compartments import Eligible
from models.errors import InvalidTemplate, ModelError
from server.attempts import Authority, Basis
from server.containment import AnswerKind, NotContained, Told, named_by_packet, require_contained
from server.errors import Invalid, Unavailable
from server.logs import frames
from server.ranking import Pinned, Ranker, Stage
from server.recording import Sealing
from server.retrieval import Codes, Query
from server.schemas import PacketRequest
from server.strategies import select
from server.timing import Stopwatch
from server.views import View, Views

_LOG = structlog.get_logger("muniment.packets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer about to leave, and what only its sealed record may hold. `body` may be edited by nobody."""

    body: dict[str, Json]
    sealing: Sealing


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketMaker:
    """Makes the answer of one packet request. `run`: the answer's `run` block as it stands at that moment.

    code: of the query, where an earlier run kept it (R10). max_units: the most that a broad or whole selection takes.
    told: hears of each answer that was looked through before it leaves.
    """

    request: PacketRequest
    resolved: Resolved
    means: Means
    principal: Principal
    code: Codes | None
    authority: Authority
    ranker: Ranker
    views: Views
    max_units: int
    watch: Stopwatch
    told: Told
    run: Callable[[], dict[str, Json]]

    def make(self, deliver: Callable[[Answered], None]) -> Answered:
        """The answer. `deliver` gets each one just before the last look at the authority; one that then turns out to
        be too old is followed by the next."""

        def attempt() -> Answered:
            answered, basis = self._attempt()
            deliver(answered)
            self.authority.reached(Stage.WRITTEN)
            self.authority.require_unmoved(self.request, self.principal, basis)
            return answered

        try:
            answered = self.authority.until_unmoved(attempt)
            if answered is not None:
                return answered
            closed = self._failed_closed(self.authority.pin)
        except NotContained:
            closed = self._failed_closed(self.authority.pin_unseen)
        deliver(closed)
        return closed

    def _attempt(self) -> tuple[Answered, Basis]:
        authority, request, resolved, watch = self.authority, self.request, self.resolved, self.watch
        now = authority.now()
        with authority.pin(request, self.principal, watch, now=now) as pinned:
            view = self.views.of(pinned.snapshot, pinned.eligible)
            basis = authority.basis(pinned, (), now=now)
            if is_stale_version(resolved, snapshot=view.snapshot):
                return self._refused(Disposition.STALE_VERSION, pinned, view, now), basis
            selected = select(
                request,
                resolved,
                ranker=self.ranker,
                pinned=pinned,
                view=view,
                max_units=self.max_units,
                code=self.code,
            )
        authority.reached(Stage.SELECTED)
        with (
            watch.step("assemble"),
            authority.gate(request, self.principal, basis, trace=selected.trace) as gate,
        ):
            gate.require(candidate.facts.key for candidate in selected.retrieval.selection)
            authority.reached(Stage.GATED)
            try:
                assembled = assemble(
                    resolved,
                    snapshot=view.snapshot,
                    retrieval=selected.retrieval,
                    means=self.means,
                    units_of=gate.units_of,
                    unusable_handles=gate.unusable(resolved.handles()),
                )
            except InvalidRequest as error:
                raise Invalid(error.problem, path=error.path) from None
            except ModelError as error:
                raise self._cannot_write(error) from None
            self._require_contained(assembled, pinned.eligible, gate.reading)
            basis = replace(basis, change=gate.change, revisions=gate.admitted)
        authority.reached(Stage.ASSEMBLED)
        return self._answered(assembled, view, now, query=selected.query), basis

    def _cannot_write(self, error: ModelError) -> Unavailable:
        """What a template or a tokenizer that passed every check at the start cannot do with this packet."""
        if isinstance(error, InvalidTemplate):
            what = f"the chat template of the model profile {error.folder}"
        else:
            what = f"the tokenizer {self.resolved.tokenizer}"
        kind = type(error).__name__
        _LOG.error("a packet could not be written", model=self.resolved.model, error=kind, at=frames(error))
        return Unavailable(f"{what} fails on this packet: {kind}")

    def _failed_closed(self, pin: Callable[..., AbstractContextManager[Pinned]]) -> Answered:
        now = self.authority.now()
        with pin(self.request, self.principal, self.watch, now=now) as pinned:
            view = self.views.of(pinned.snapshot, pinned.eligible)
            return self._refused(Disposition.FAILED_CLOSED, pinned, view, now)

    def _refused(self, disposition: Disposition, pinned: Pinned, view: View, now: Instant) -> Answered:
        layers = LayerDigests(policy=view.policy, corpus=view.corpus)
        refused = refuse(self.resolved, disposition, snapshot=view.snapshot, layers=layers, means=self.means)
        self._require_contained(refused, pinned.eligible, pinned.snapshot.reading)
        return self._answered(refused, view, now)

    def _require_contained(self, assembled: Assembled, begun_with: Eligible, reading: Reading) -> None:
        """Raise NotContained where the answer names what this caller may not use; `reading`: the state as it is now."""
        require_contained(
            AnswerKind.PACKET,
            named_by_packet(assembled.response()),
            begun_with=begun_with.usable,
            eligibility=begun_with.eligibility,
            reading=reading,
            told=self.told,
        )

    def _answered(self, assembled: Assembled, view: View, now: Instant, *, query: Query | None = None) -> Answered:
        sealing = Sealing(
            eligibility=view.snapshot.eligibility,
            at=now,
            request=self.resolved,
            query_code=None if query is None or query.code is None else query.code.tobytes(),
        )
        return Answered(body={**assembled.response(), "run": self.run()}, sealing=sealing)
