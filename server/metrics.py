"""What does an operator get to count?

Numbers of answers by what became of them, and nothing of what was asked, found or by whom: no label holds a tenant, a
subject, a source or a query, and each has few values, all of them known beforehand.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, generate_latest

from evidence.budget import Measure
from evidence.canonical import Json
from evidence.state import Disposition, Reason, State
from server.containment import AnswerKind, Checked

LEFT_OUT: Final = (Reason.OMITTED_BUDGET, Reason.OMITTED_DUPLICATE, Reason.OMITTED_POLICY)
"""Why a unit that was selected is not in the packet. Stale revisions and lower ranks were never selected."""

OF_SEARCHES: Final = (Disposition.ACCEPTED, Disposition.STALE_VERSION, Disposition.FAILED_CLOSED)
"""What can become of a search."""


class Metrics:
    """The counters of one process, with a registry of their own. Shared by its threads."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._packets = self._counter("packets", "Packet requests that were answered.", "disposition", "state")
        self._cut = self._counter("packets_cut", "Accepted packets that lack evidence for space.")
        self._left_out = self._counter("units_left_out", "Selected units that accepted packets lack.", "reason")
        self._refused = self._counter("packets_refused", "Packets that did not fit, by the first limit.", "measure")
        searches = self._counter("searches", "Searches that were answered.", "disposition")
        self._searches = {one: searches.labels(disposition=one.value) for one in OF_SEARCHES}
        self._failed_closed = self._counter(
            "failed_closed", "Answers given up: the authority kept moving, or they were held back.", "answer"
        )
        self._checks = self._counter(
            "containment_checks", "Answers looked through for what their caller may not use.", "answer"
        )
        self._violations = self._counter(
            "containment_violations", "Answers held back because they named what their caller may not use.", "answer"
        )
        self._begin_at_zero()

    def packet(self, body: Mapping[str, Json]) -> None:
        """Count the body of an answer to a packet request."""
        answer = msgspec.convert(body, _Packet)
        self._packets.labels(disposition=answer.disposition, state=answer.state).inc()
        if answer.refusal is not None:
            self._refused.labels(measure=answer.refusal.measure).inc()
        if answer.disposition == Disposition.FAILED_CLOSED:
            self._failed_closed.labels(answer="packet").inc()
        if answer.packet is not None:
            self._cut.inc(answer.packet.cut)
            for reason in LEFT_OUT:
                self._left_out.labels(reason=reason.value).inc(answer.manifest.omissions.counts[reason.value])

    def search(self, body: Mapping[str, Json]) -> None:
        """Count the body of an answer to a search."""
        disposition = Disposition(msgspec.convert(body["disposition"], str))
        self._searches[disposition].inc()
        if disposition is Disposition.FAILED_CLOSED:
            self._failed_closed.labels(answer="search").inc()

    def checked(self, checked: Checked) -> None:
        """Count an answer that was looked through before it leaves."""
        self._checks.labels(answer=checked.answer.value).inc()
        if checked.outside:
            self._violations.labels(answer=checked.answer.value).inc()

    def text(self) -> bytes:
        """All counters in the text format of Prometheus."""
        return generate_latest(self._registry)

    def _counter(self, name: str, help_line: str, *labels: str) -> Counter:
        return Counter(name, help_line, labels, namespace="muniment", registry=self._registry)

    def _begin_at_zero(self) -> None:
        """A counter that appears with its first event hides that event: a rate needs a number before it."""
        for disposition in Disposition:
            for state in State:
                self._packets.labels(disposition=disposition.value, state=state.value)
        for reason in LEFT_OUT:
            self._left_out.labels(reason=reason.value)
        for measure in Measure:
            self._refused.labels(measure=measure.value)
        for name in ("packet", "search"):
            self._failed_closed.labels(answer=name)
        for answer in AnswerKind:
            self._checks.labels(answer=answer.value)
            self._violations.labels(answer=answer.value)


class _Cut(msgspec.Struct):
    cut: bool


class _Refusal(msgspec.Struct):
    measure: str


class _Omissions(msgspec.Struct):
    counts: dict[str, int]


class _Manifest(msgspec.Struct):
    omissions: _Omissions


class _Packet(msgspec.Struct):
    """What is counted of the body of a packet's answer."""

    disposition: str
    state: str
    packet: _Cut | None
    refusal: _Refusal | None
    manifest: _Manifest
