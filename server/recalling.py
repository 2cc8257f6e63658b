"""Who may see what was put on record, and what do they see?

A caller sees their own manifests, each only while everything it names is visible to them; else it looks like one that
never was (R35). An auditor sees every run of their tenant, or of all with `tenant: null`.
"""

from collections.abc import Mapping

import msgspec

from evidence.access import Principal, Scope
from evidence.canonical import Json, digest
from evidence.eligibility import Eligibility, Filter, Use
from evidence.grants import live_principal
from evidence.identity import PUBLIC, Namespace
from evidence.instant import Instant
from evidence.named import named_in
from evidence.sealed import shown_to
from index.catalog import Catalog
from index.catalog_read import Reading
from index.errors import DamagedRecords
from index.exact_lookup import revisions_of
from index.live import live_standings
from index.records import KeptManifest, Records
from server.containment import AnswerKind, Checked, NotContained, Told, conclude, invisible_among, untold
from server.errors import NotFound
from server.record_schemas import AuditQuery
from server.recording import Recorder

NOT_THERE = "no such manifest"


def own_manifest(
    packet_id: str, principal: Principal, *, records: Records, catalog: Catalog, now: Instant, told: Told = untold
) -> Mapping[str, Json]:
    """The manifest that was answered to this very caller. Raises NotFound, always with the same text.

    Visibility is judged at `now`, for the purpose and the use that the packet was asked for, by the grants that are
    live in the state that is read; a purpose that is no longer granted admits nothing. told: hears of each manifest
    that was looked through before it leaves.
    """
    kept = records.manifest_of(packet_id)
    if kept is None or (kept.namespace, kept.sub) != (principal.namespace, principal.sub):
        raise NotFound(NOT_THERE)
    manifest = manifest_in(kept, packet_id)
    with catalog.read() as reading:
        live = live_principal(principal, reading.revocations)
        eligibility = None if live is None else _eligibility(manifest, live, now)
        if eligibility is None or not _is_visible(manifest, eligibility, reading):
            raise NotFound(NOT_THERE)
        try:
            _require_contained(manifest, eligibility, reading, told=told)
        except NotContained:
            raise NotFound(NOT_THERE) from None
    return manifest


def audit(packet_id: str, auditor: Principal, query: AuditQuery, *, recorder: Recorder) -> dict[str, Json]:
    """The runs of a packet as an auditor reads them, its manifest once, and what retention has removed.

    A packet that is unknown, pruned, or another tenant's has no runs and no manifest here.
    """
    namespace = jurisdiction(auditor)
    runs = recorder.records.runs_of(packet_id, namespace=namespace, after=query.after, limit=query.limit + 1)
    shown: list[Mapping[str, Json]] = [msgspec.json.decode(run) for run in runs[: query.limit]]
    kept = manifest_for(packet_id, auditor, records=recorder.records)
    mine = None if namespace is None else (namespace, PUBLIC)
    return {
        "runs": [shown_to(run, mine) for run in shown],
        "next": shown[-1]["request_id"] if len(runs) > query.limit else None,
        "manifest": None if kept is None else manifest_in(kept, packet_id),
        "retention": recorder.retention(namespace),
    }


def query_code_of(packet_id: str, principal: Principal, *, records: Records) -> bytes | None:
    """The code of a packet's query as the latest run in this principal's namespace kept it, for a replay (R10)."""
    sealed = records.latest_run_of(packet_id, namespace=principal.namespace)
    if sealed is None:
        return None
    code = msgspec.json.decode(sealed, type=_Coded).query_code
    return None if code is None else bytes.fromhex(code)


def jurisdiction(auditor: Principal) -> Namespace | None:
    """The namespace whose records an auditor reads; None is all of them."""
    return auditor.tenant


def manifest_for(packet_id: str, auditor: Principal, *, records: Records) -> KeptManifest | None:
    """The kept manifest of a packet that lies with this auditor."""
    kept = records.manifest_of(packet_id)
    return kept if kept is not None and jurisdiction(auditor) in (None, kept.namespace) else None


def manifest_in(kept: KeptManifest, packet_id: str) -> dict[str, Json]:
    """The manifest as it was answered. Raises DamagedRecords when `packet_id` is not its digest."""
    manifest: dict[str, Json] = msgspec.json.decode(kept.manifest)
    hashes = manifest.get("hashes")
    if not isinstance(hashes, Mapping):
        raise DamagedRecords("a manifest has no hashes")
    before = {name: value for name, value in hashes.items() if name != "manifest"}
    if digest({**manifest, "hashes": before}) != packet_id:
        raise DamagedRecords("a manifest does not match its packet id")
    return manifest


def _eligibility(manifest: Mapping[str, Json], principal: Principal, now: Instant) -> Eligibility | None:
    """For what the packet was asked for; None when the principal lacks its purpose."""
    asked = msgspec.convert(manifest["request"], _Asked)
    if asked.purpose is not None and asked.purpose not in principal.purposes:
        return None
    return Eligibility(
        scope=Scope(principal=principal, purpose=asked.purpose),
        use=Use(asked.use),
        at=now,
        as_of=None,
        subject=None,
        filter=Filter(),
    )


def _require_contained(manifest: Mapping[str, Json], eligibility: Eligibility, reading: Reading, *, told: Told) -> None:
    """The last look at a manifest before it leaves, by another way than the first one."""
    named = named_in(manifest)
    names = named.every_revision() | named.sources
    outside = invisible_among(names, eligibility=eligibility, reading=reading)
    conclude(Checked(answer=AnswerKind.MANIFEST, named=len(names), outside=len(outside)), told=told)


def _is_visible(manifest: Mapping[str, Json], eligibility: Eligibility, reading: Reading) -> bool:
    """Whether the caller may see, now, everything that the manifest names, with the text it had."""
    named = named_in(manifest)
    alternatives = [revisions_of(reading, source) for source in sorted(named.sources)]
    revisions = named.every_revision()
    visible = live_standings(reading, {*revisions, *(key for keys in alternatives for key in keys)}, eligibility)
    counts = reading.holdings.unit_counts
    return (
        all(key in visible for key in revisions)
        and all(unit.ordinal < counts[unit.revision_key] for unit in named.units)
        and all(visible[key][0].text_digest == text for key, text in named.texts.items())
        and all(any(key in visible for key in keys) for keys in alternatives)
    )


class _Asked(msgspec.Struct):
    """What of a manifest's request decides who may see it."""

    purpose: str | None
    use: str


class _Coded(msgspec.Struct):
    """What of a sealed record a replay starts from."""

    query_code: str | None
