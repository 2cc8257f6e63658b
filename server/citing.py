"""Which verdict does each citation of a packet get, in the authority as it is now?

The packet is the caller's word and decides nothing but what was cited from. Every handle is looked up in the catalog
inside the bearer's own live scope (R1, R33); one that is hidden from the bearer and one that never was are one (R7).
"""

from collections.abc import Iterable, Mapping, Sequence

from evidence.access import Principal
from evidence.canonical import Json
from evidence.eligibility import Eligibility, Filter
from evidence.errors import InvalidRequest
from evidence.handles import is_handle
from evidence.identity import RevisionKey
from evidence.instant import Instant, parse_instant
from evidence.native_citations import citations_of
from evidence.unit import Unit
from evidence.validation import Finding, Passage, Verdict, validate
from index.catalog import Catalog
from index.catalog_read import Reading
from index.live import live_standings
from server.citation_schemas import CitationRequest, NativeRequest, finding_record, occurrence_record
from server.containment import AnswerKind, Checked, NotContained, Told, conclude, untold, usable_among
from server.errors import Invalid
from server.scope import scope_for, still_granted

_TELLS_NOTHING = (Verdict.FABRICATED, Verdict.NO_LONGER_ELIGIBLE)  # of what the catalog holds


def validate_citations(
    catalog: Catalog, request: CitationRequest, principal: Principal, *, now: Instant, told: Told = untold
) -> dict[str, Json]:
    """The body of `POST /v1/citations/validate`. told: hears of each answer that was looked through before it leaves.

    Raises Forbidden for a purpose that was not granted, Invalid for an `as_of` in the future, Unauthenticated for a
    subject or token that was revoked."""
    shown = [item.shown() for item in request.packet.evidence]
    occurrences = [body.occurrence() for body in request.occurrences]
    in_packet = {item.handle for item in shown}
    with catalog.read() as reading:
        eligibility = _eligibility(request, principal, reading, now=now)
        words = _Words(reading, eligibility, handles=in_packet)
        held = words.passages(in_packet & {occurrence.handle for occurrence in occurrences})
        findings = validate(occurrences, shown=shown, held=held, elsewhere=words.elsewhere)
        try:
            _require_contained(findings, eligibility, reading, told=told)
        except NotContained:
            findings = validate(occurrences, shown=shown, held={}, elsewhere=words.elsewhere)
    return {"results": [finding_record(finding) for finding in findings]}


def read_native(request: NativeRequest) -> dict[str, Json]:
    """The body of `POST /v1/citations/read`: what a provider gave back, in the common record. Nothing is looked up.

    Raises Invalid where the answer has not the shape of its provider's, or holds too many citations.
    """
    try:
        found = citations_of(request.adapter, request.answer, packet=request.packet)
    except InvalidRequest as error:
        raise Invalid(error.problem, path=error.path) from None
    return {"occurrences": [occurrence_record(occurrence) for occurrence in found]}


def _eligibility(request: CitationRequest, principal: Principal, reading: Reading, *, now: Instant) -> Eligibility:
    """As the packet was asked for, judged with the grants that are live in this state; its filter played its part."""
    packet = request.packet
    as_of = None if packet.as_of is None else parse_instant(packet.as_of)
    if as_of is not None and as_of > now:
        raise Invalid("lies in the future; what will be effective is not known", path="$.packet.as_of")
    return Eligibility(
        scope=scope_for(still_granted(principal, reading.revocations), purpose=request.purpose),
        use=packet.use,
        at=now if as_of is None else as_of,
        as_of=as_of,
        subject=request.subject,
        filter=Filter(),
    )


def _require_contained(findings: Iterable[Finding], eligibility: Eligibility, reading: Reading, *, told: Told) -> None:
    """The last look at verdicts before they leave: each that tells of a passage must have one that may be used."""
    told_of = {finding.handle for finding in findings if finding.verdict not in _TELLS_NOTHING}
    units = reading.units_by_handles(told_of)
    keys = {unit.key.revision_key for found in units.values() for unit in found}
    usable = usable_among(keys, eligibility=eligibility, reading=reading)
    outside = [
        handle for handle in told_of if usable.isdisjoint(unit.key.revision_key for unit in units.get(handle, ()))
    ]
    conclude(Checked(answer=AnswerKind.CITATIONS, named=len(told_of), outside=len(outside)), told=told)


class _Words:
    """What the bearer may see of the passages that a quote could come from. Valid as long as its reading."""

    def __init__(self, reading: Reading, eligibility: Eligibility, *, handles: Iterable[str]) -> None:
        """`handles`: those of the whole packet."""
        self._reading = reading
        self._eligibility = eligibility
        self._handles = handles
        self._packet: list[Unit] | None = None
        self._revisions: dict[RevisionKey, Sequence[Unit]] = {}

    def passages(self, handles: Iterable[str]) -> Mapping[str, Sequence[Passage]]:
        """The visible passages under each handle, in key order; a handle without one has none."""
        units = self._reading.units_by_handles(handle for handle in handles if is_handle(handle))
        keys = {unit.key.revision_key for found in units.values() for unit in found}
        live = live_standings(self._reading, sorted(keys), self._eligibility)
        return {
            handle: [
                Passage(unit=unit, facts=live[unit.key.revision_key][0], standing=live[unit.key.revision_key][1])
                for unit in found
                if unit.key.revision_key in live
            ]
            for handle, found in units.items()
        }

    def elsewhere(self, passage: Passage, quote: str) -> bool:
        """Whether another passage of the packet or of the same revision holds the quote."""
        return any(
            quote in unit.text
            for units in (self._of_packet(), self._of_revision(passage.unit.key.revision_key))
            for unit in units
            if unit.key != passage.unit.key
        )

    def _of_packet(self) -> Sequence[Unit]:
        if self._packet is None:
            found = self.passages(self._handles)
            self._packet = [passage.unit for passages in found.values() for passage in passages]
        return self._packet

    def _of_revision(self, key: RevisionKey) -> Sequence[Unit]:
        if key not in self._revisions:
            self._revisions[key] = self._reading.units_of(key)
        return self._revisions[key]
