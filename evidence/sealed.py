"""What does an auditor's record of one run hold beyond the caller's manifest? (pure)

The sealed record: the clock, the run, the query's code, the whole scope, and what only an auditor may be told. Nothing
of it is ever hashed into anything that the caller receives (R31).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from evidence.canonical import Json
from evidence.eligibility import Eligibility
from evidence.identity import Namespace
from evidence.instant import Instant, format_instant
from evidence.state import Reason

SCHEMA = "muniment.sealed/1"


class Delivery(StrEnum):
    """Whether the answer of a run was handed over."""

    PREPARED = "prepared"  # it was about to be; that it was is not on record, as when the process died
    HANDED_OVER = "handed-over"
    WITHDRAWN = "withdrawn"  # it did not leave: the authority had moved (R5), or its caller may not have it any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that the request named exactly, that is there, and that its caller may not see (R7).

    role: of the requirement that named it, None where the request did so by a source id or a handle. named: as the
    request's record says it. namespaces: where it was found, sorted; nothing else of it.
    """

    role: str | None
    named: Mapping[str, Json]
    namespaces: tuple[Namespace, ...]

    def record(self) -> dict[str, Json]:
        return {
            "reason": Reason.UNAUTHORIZED.value,
            "role": self.role,
            "named": dict(self.named),
            "namespaces": list(self.namespaces),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedManifest:
    """One run of a packet.

    packet_id, hashes: of the caller's manifest. at: the server's clock. run: device, fallback and times in whole
    microseconds. query_code: the query's int8 code, from which a replay starts anywhere (R10).
    unauthorized: None as long as it was not looked up.
    """

    packet_id: str
    hashes: Mapping[str, Json]
    request_id: str
    at: Instant
    eligibility: Eligibility
    run: Mapping[str, Json]
    query_code: bytes | None
    delivery: Delivery
    unauthorized: tuple[Finding, ...] | None

    def record(self) -> dict[str, Json]:
        """The sealed manifest as a canonical record."""
        found = self.unauthorized
        return {
            "schema": SCHEMA,
            "packet_id": self.packet_id,
            "hashes": dict(self.hashes),
            "request_id": self.request_id,
            "at": format_instant(self.at),
            "judged_at": format_instant(self.eligibility.at),
            "namespace": self.eligibility.scope.principal.namespace,
            "scope": self.eligibility.scope.record(),
            "query_code": None if self.query_code is None else self.query_code.hex(),
            "run": dict(self.run),
            "delivery": self.delivery.value,
            "unauthorized": None if found is None else [finding.record() for finding in found],
        }


def whole_microseconds(milliseconds: Mapping[str, float]) -> dict[str, int]:
    """Times of a run as a record may hold them: integers, rounded half to even.

    >>> whole_microseconds({"total": 1.25})
    {'total': 1250}
    """
    return {name: round(spent * 1000) for name, spent in milliseconds.items()}


def shown_to(sealed: Mapping[str, Json], namespaces: Iterable[Namespace] | None) -> Mapping[str, Json]:
    """A sealed record as an auditor of `namespaces` reads it; None is an auditor of all of them.

    Of what was found, only what lies in those namespaces: that another tenant holds something is not theirs to learn.
    """
    found = sealed.get("unauthorized")
    if namespaces is None or not isinstance(found, list):
        return sealed
    allowed = set(namespaces)
    kept = []
    for finding in found:
        inside = [namespace for namespace in finding["namespaces"] if namespace in allowed]
        if inside:
            kept.append({**finding, "namespaces": inside})
    return {**sealed, "unauthorized": kept}
