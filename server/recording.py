"""How is every packet put on record before its first byte leaves, and what is added once it has?

Fails closed: where the record cannot be kept (the disk is full, another process holds the file for too long), there is
no answer but 503, since evidence without a record is worth nothing. What only an auditor may learn is looked up after
the answer has left; when that fails, the answer stands and its record says that nothing was looked up.

A run is kept once for each answer that was made, and says what became of it: an answer that the authority overtook is
made again, and the first one is then on record as withdrawn.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger

from evidence.canonical import Json, canonical
from evidence.eligibility import Eligibility
from evidence.identity import Namespace
from evidence.instant import Instant, format_instant
from evidence.request import PacketRequest
from evidence.sealed import Delivery, Finding, SealedManifest, whole_microseconds
from index.catalog import Catalog
from index.errors import IndexFault, RecordsFault
from index.records import Answered, Records
from index.records_retention import prune, removed
from server import clock
from server.errors import Unavailable
from server.logs import frames
from server.unauthorized import NamedExactly, find_unauthorized, named_exactly

RUNS_BETWEEN_PRUNING = 64  # of one namespace: most answers pay nothing for retention, and none for another tenant's


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealing:
    """What the record of a run needs beyond the answer's own body.

    at: the moment of the run by the server's clock, also when the request said `as_of`.
    query_code: the bytes of the query's int8 code, None where no channel made one.
    """

    eligibility: Eligibility
    at: Instant
    request: PacketRequest
    query_code: bytes | None


class Recorder:
    """Keeps the records of a server. Shared by the threads of a process.

    max_runs, max_days: how many runs of a namespace are kept, and for how long.
    """

    def __init__(
        self,
        records: Records,
        catalog: Catalog,
        *,
        max_runs: int,
        max_days: int,
        clock: Callable[[], Instant] = clock.now,
    ) -> None:
        self.records = records
        self._catalog = catalog
        self._max_runs, self._longest = max_runs, timedelta(days=max_days)
        self._clock = clock
        self._counting = threading.Lock()
        self._completed: Counter[Namespace] = Counter()

    def begin(self, request_id: str) -> "Recording":
        """The record of one request."""
        return Recording(self, request_id)

    def prune(self, namespace: Namespace | None = None) -> None:
        """Let go of what is older, or more, than is kept of a namespace, or of all for None.

        All is for start and for the clock. In between, only what a namespace does itself takes from its records: what
        is gone can be seen, and must not tell how much others ask (R6).
        """
        prune(
            self.records,
            max_runs=self._max_runs,
            oldest=Instant(self._clock() - self._longest // timedelta(microseconds=1)),
            namespace=namespace,
        )

    def retention(self, namespace: Namespace | None) -> dict[str, Json]:
        """What is kept of each namespace, and what is gone of this one, or of all for None."""
        gone = removed(self.records, namespace=namespace)
        return {
            "max_runs": self._max_runs,
            "max_days": self._longest.days,
            "removed_runs": gone.runs,
            "removed_manifests": gone.manifests,
            "removed_up_to": None if gone.newest is None else format_instant(gone.newest),
        }

    def keep(self, body: Mapping[str, Json], sealed: SealedManifest) -> int:
        """Keep an answer and its first sealed record; the run's number. Raises Unavailable when it cannot be kept."""
        principal = sealed.eligibility.scope.principal
        try:
            return self.records.keep(
                Answered(
                    packet_id=sealed.packet_id,
                    manifest=msgspec.json.encode(body["manifest"]),
                    namespace=principal.namespace,
                    sub=principal.sub,
                    at=sealed.at,
                    request_id=sealed.request_id,
                    sealed=canonical(sealed.record()),
                )
            )
        except RecordsFault as error:
            self._log_of(sealed).error("an answer could not be recorded", reason=str(error), at=frames(error))
            raise Unavailable("the answer could not be recorded, so there is none; try again") from error

    def complete(self, number: int, sealed: SealedManifest) -> None:
        """Write what became of a run. What goes wrong is logged, and the record stays as it was kept."""
        try:
            self.records.complete(number, canonical(sealed.record()))
            namespace = sealed.eligibility.scope.principal.namespace
            if self._completed_of(namespace) % RUNS_BETWEEN_PRUNING == 0:
                self.prune(namespace)
        except RecordsFault as error:
            self._log_of(sealed).error("a record could not be completed", reason=str(error), at=frames(error))

    def look_up(self, named: NamedExactly, sealed: SealedManifest) -> tuple[Finding, ...] | None:
        """What the request named and its caller may not see; None where the catalog could not be asked."""
        if not named:
            return ()
        try:
            with self._catalog.read() as reading:
                return find_unauthorized(named, scope=sealed.eligibility.scope, reading=reading)
        except IndexFault as error:
            self._log_of(sealed).error("what a request named could not be looked up", error=type(error).__name__)
            return None

    def _completed_of(self, namespace: Namespace) -> int:
        """How many runs of a namespace were completed by now, this one included."""
        with self._counting:
            self._completed[namespace] += 1
            return self._completed[namespace]

    def _log_of(self, sealed: SealedManifest) -> FilteringBoundLogger:
        """A log whose lines name the packet and the run, as the audit does (R31)."""
        log: FilteringBoundLogger = structlog.get_logger("muniment.recording")
        return log.bind(packet_id=sealed.packet_id, request_id=sealed.request_id)


class Recording:
    """The record of one request, for one thread at a time. Made by `Recorder.begin`."""

    def __init__(self, recorder: Recorder, request_id: str) -> None:
        self._recorder = recorder
        self._request_id = request_id
        self._kept: _Kept | None = None

    def keep(self, body: Mapping[str, Json], sealing: Sealing) -> None:
        """Put the body of an answer, `run` included, on record: before it leaves, and once for each answer made.

        An answer kept before by the same request did not leave, and its record says so from now on. Raises Unavailable.
        """
        self.withdraw()
        sealed = _sealed(body, sealing, self._request_id)
        number = self._recorder.keep(body, sealed)
        named = named_exactly(sealing.request, sealing.eligibility, _role_states(body))
        self._kept = _Kept(number=number, sealed=sealed, named=named)

    def seal(self) -> None:
        """Once the answer has left: say so, with what the request named and its caller may not see. Never raises."""
        if self._kept is None:
            return
        kept, self._kept = self._kept, None
        found = self._recorder.look_up(kept.named, kept.sealed)
        sealed = replace(kept.sealed, delivery=Delivery.HANDED_OVER, unauthorized=found)
        self._recorder.complete(kept.number, sealed)

    def withdraw(self) -> None:
        """Say of an answer that was kept that it did not leave. Never raises."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            self._recorder.complete(kept.number, replace(kept.sealed, delivery=Delivery.WITHDRAWN))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A run on record, and what is to be looked up for it."""

    number: int
    sealed: SealedManifest
    named: NamedExactly


def _sealed(body: Mapping[str, Json], sealing: Sealing, request_id: str) -> SealedManifest:
    manifest, run = body["manifest"], body["run"]
    assert isinstance(manifest, Mapping)
    assert isinstance(run, Mapping)
    hashes, packet_id, milliseconds = manifest["hashes"], body["packet_id"], run["milliseconds"]
    assert isinstance(hashes, Mapping)
    assert isinstance(packet_id, str)
    assert isinstance(milliseconds, Mapping)
    times: Mapping[str, float] = milliseconds  # type: ignore[assignment]  # `run` is the one place with floats
    return SealedManifest(
        packet_id=packet_id,
        hashes=hashes,
        request_id=request_id,
        at=sealing.at,
        eligibility=sealing.eligibility,
        run={
            **{name: value for name, value in run.items() if name != "milliseconds"},
            "microseconds": whole_microseconds(times),
        },
        query_code=sealing.query_code,
        delivery=Delivery.PREPARED,
        unauthorized=None,
    )


def _role_states(body: Mapping[str, Json]) -> dict[str, str]:
    """The state of each role in an answer's manifest."""
    record = msgspec.convert(body["manifest"], _CoveredManifest)
    return {role.role: role.state for role in record.coverage.roles}


class _CoveredRole(msgspec.Struct):
    role: str
    state: str


class _Covered(msgspec.Struct):
    roles: list[_CoveredRole]


class _CoveredManifest(msgspec.Struct):
    coverage: _Covered
