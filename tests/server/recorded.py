"""Answers as the recorder gets them, made by hand: only the parts that records read are there."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evidence.access import Principal
from evidence.canonical import Json
from evidence.eligibility import Eligibility
from evidence.identity import RevisionKey, UnitKey, unit_id
from evidence.instant import Instant
from evidence.manifest import seal
from evidence.requirements import Requirement
from index.catalog import Catalog
from index.records import Records
from server.recording import Recorder, Sealing
from tests.builders import NOW, eligibility, request

HANDLE = "EV-0123456789ABCDEF"


def recorder(directory: Path, catalog: Catalog, *, max_runs: int = 1000, now: Instant = NOW) -> Recorder:
    """A recorder beside a catalog, with a clock that stands still. Its records are closed by whoever asked for it."""
    return Recorder(Records.open(directory), catalog, max_runs=max_runs, max_days=30, clock=lambda: now)


def answer(
    *units: UnitKey,
    query: str = "how large may an upload be?",
    purpose: str | None = None,
    use: str = "current",
    roles: Mapping[str, str] | None = None,
    stale: Sequence[RevisionKey] = (),
    contradicts: Sequence[tuple[str, str]] = (),
    text_digests: Mapping[RevisionKey, str] | None = None,
) -> dict[str, Json]:
    """The body of an accepted packet that includes `units`; the first one has the handle HANDLE and the span [10, 20).

    roles: role -> state. stale: revisions that it names as stale. contradicts: (namespace, source id) of relations.
    text_digests: what it says of an included revision's text.
    """
    inclusions: list[Json] = [
        {
            "unit_id": unit_id(unit),
            "facts": {
                **_revision(unit.revision_key),
                "contradicts": [{"namespace": name, "source_id": source_id} for name, source_id in contradicts],
                **({"text_digest": text_digests[unit.revision_key]} if text_digests else {}),
            },
        }
        for unit in units
    ]
    handles: list[Json] = [
        {"handle": HANDLE, "unit_id": unit_id(unit), "span": [10, 20], "span_digest": "sha256:span"}
        for unit in units[:1]
    ]
    sealed = seal(
        {
            "request": {"query": query, "purpose": purpose, "use": use},
            "inclusions": inclusions,
            "handles": handles,
            "omissions": {"items": [{"reason": "stale", **_revision(key)} for key in stale]},
            "coverage": {"roles": [{"role": role, "state": state} for role, state in (roles or {}).items()]},
        },
        hashes={"semantic": "sha256:semantic", "rendered": None},
    )
    return {
        "packet_id": sealed.packet_id,
        "manifest": sealed.record,
        "run": {"device": "cpu", "fallback": None, "milliseconds": {"total": 1.5}},  # type: ignore[dict-item]  # as pipeline
    }


def sealing(
    who: Principal, *requirements: Requirement, asked: Eligibility | None = None, code: bytes | None = b"\x01\xff"
) -> Sealing:
    """What a pipeline would hand over beside an answer to `who`."""
    return Sealing(
        eligibility=asked or eligibility(who), at=NOW, request=request(requirements=requirements), query_code=code
    )


def keep(
    kept_by: Recorder,
    body: Mapping[str, Json],
    who: Principal,
    requirements: Iterable[Requirement] = (),
    *,
    request_id: str = "r-1",
) -> str:
    """Keep and seal an answer; its packet id."""
    recording = kept_by.begin(request_id)
    recording.keep(body, sealing(who, *requirements))
    recording.seal()
    packet_id = body["packet_id"]
    assert isinstance(packet_id, str)
    return packet_id


def _revision(key: RevisionKey) -> dict[str, Json]:
    return {"namespace": key.namespace, "source_id": key.source_id, "revision": key.revision}
