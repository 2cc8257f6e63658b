"""Why is each passage in or out, and how can the decision be checked later? (pure)

The caller's manifest: made from nothing but what the caller may see, with no clock, no float and no integer beyond
2^53 (R30, R31). Its own digest is the packet id: same inputs, same id.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evidence.budget import Limit, Sizes, TokenMeter
from evidence.canonical import Json, digest
from evidence.coverage import Coverage
from evidence.escape import ESCAPE_NAME, UNICODE_VERSION
from evidence.inclusion import Inclusion
from evidence.omissions import Omissions
from evidence.packing import POLICY, Attempt, Refused, Tier
from evidence.ranking import LayerDigests, Retrieval
from evidence.render import RENDERER
from evidence.request import PacketRequest
from evidence.snapshot import Snapshot
from evidence.state import Behaviour, Disposition, State

SCHEMA = "muniment.manifest/1"
ASSEMBLER = "muniment-assembler/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Everything that assembly decided. In a refusal `coverage` and `state` are those of the complete selection, which
    was measured and not handed over; nothing is included then.

    tiers: the tier of each unit of the selection. attempts: the packings that were measured, in order.
    sizes, semantic_hash, rendered_hash: of the accepted packet, None without one.
    """

    inclusions: tuple[Inclusion, ...]
    omissions: Omissions
    tiers: tuple[Tier, ...]
    attempts: tuple[Attempt, ...]
    limits: tuple[Limit, ...]
    sizes: Sizes | None
    refusal: Refused | None
    coverage: Coverage
    state: State
    behaviour: Behaviour
    disposition: Disposition
    semantic_hash: str | None
    rendered_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A sealed manifest of the caller. `packet_id` is the digest of the record without that digest itself."""

    packet_id: str
    record: Mapping[str, Json]


def seal(record: Mapping[str, Json], *, semantic_hash: str | None, rendered_hash: str | None) -> Manifest:
    """Add the hashes: the manifest hash is taken with the other two in place and itself not there."""
    hashes: dict[str, Json] = {"semantic": semantic_hash, "rendered": rendered_hash}
    packet_id = digest({**record, "hashes": hashes})
    return Manifest(packet_id=packet_id, record={**record, "hashes": {**hashes, "manifest": packet_id}})


def manifest(
    request: PacketRequest,
    *,
    snapshot: Snapshot,
    retrieval: Retrieval,
    meter: TokenMeter | None,
    decision: Decision,
) -> Manifest:
    """The manifest of one answer, sealed."""
    tokenizer = None if meter is None else meter.record()
    scope_digest = snapshot.eligibility.scope.digest
    valid = snapshot.validity.record() if snapshot.eligibility.as_of is None else None
    record: dict[str, Json] = {
        "schema": SCHEMA,
        "request": request.record(snapshot.eligibility),
        "scope_digest": scope_digest,
        "epoch": snapshot.epoch,
        "catalog_version": snapshot.catalog_version,
        "valid": valid,
        "recipe": {"digest": snapshot.recipe_digest, "record": dict(snapshot.recipe)},
        "strategy": {"name": request.strategy.value, "k": request.k, "parameters": dict(retrieval.parameters)},
        "stats_scope": retrieval.stats_scope,
        "degraded": list(retrieval.degraded),
        "model": None,
        "tokenizer": tokenizer,
        "template": None,
        "query_class": request.query_class.record(),
        "assembler": ASSEMBLER,
        "packing": {
            "policy": POLICY.record(),
            "on_overflow": request.on_overflow.value,
            "attempts": [attempt.record() for attempt in decision.attempts],
        },
        "budget": {
            "limits": [limit.record() for limit in decision.limits],
            "reserved_output_tokens": request.budget.reserved_output_tokens,
            "measured": None if decision.sizes is None else decision.sizes.record(),
        },
        "inclusions": [
            inclusion.record(snapshot=snapshot, scope_digest=scope_digest) for inclusion in decision.inclusions
        ],
        "omissions": decision.omissions.record(),
        "conflict_groups": [],
        "handles": [inclusion.handle.record() for inclusion in decision.inclusions],
        "coverage": decision.coverage.record(),
        "mandatory_truncated": False,  # no policy cuts inside a unit or drops a mandatory one
        "transformations": [_rendering_record(request)],
        "refusal": None if decision.refusal is None else decision.refusal.record(),
        "state": decision.state.value,
        "behaviour": decision.behaviour.value,
        "disposition": decision.disposition.value,
        "layers": _layers(request, retrieval.layers, decision, tokenizer),
    }
    return seal(record, semantic_hash=decision.semantic_hash, rendered_hash=decision.rendered_hash)


def _layers(
    request: PacketRequest, before: LayerDigests, decision: Decision, tokenizer: Mapping[str, Json] | None
) -> dict[str, Json]:
    """One digest for each replay layer. Packing is who stayed and why, rendering what was written and measured."""
    packing: dict[str, Json] = {
        "policy": POLICY.record(),
        "on_overflow": request.on_overflow.value,
        "tiers": [tier.value for tier in decision.tiers],
        "included": [inclusion.handle.handle for inclusion in decision.inclusions],
        "omissions": decision.omissions.record(),
        "coverage": decision.coverage.record(),
        "disposition": decision.disposition.value,
    }
    rendering: dict[str, Json] = {
        "rendering": _rendering_record(request),
        "tokenizer": tokenizer,
        "limits": [limit.record() for limit in decision.limits],
        "attempts": [attempt.record() for attempt in decision.attempts],
        "rendered": decision.rendered_hash,
    }
    return {**before.record(), "packing": digest(packing), "rendering": digest(rendering)}


def _rendering_record(request: PacketRequest) -> dict[str, Json]:
    return {
        "name": "render",
        "adapter": request.adapter.value,
        "renderer": RENDERER,
        "escape": ESCAPE_NAME,
        "unicode": UNICODE_VERSION,
        "lossless": True,
    }
