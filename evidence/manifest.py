"""Why is each passage in or out, and how can the decision be checked later? (pure)

The caller's manifest: made from nothing but what the caller may see, with no clock, no float and no integer beyond
2^53 (R30, R31). Its own digest is the packet id: same inputs, same id.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evidence.arrangement import Arrangement
from evidence.budget import Limit, Sizes
from evidence.canonical import Json, digest
from evidence.chat import ChatTemplate
from evidence.coverage import Coverage
from evidence.draft import Draft
from evidence.escape import ESCAPE_NAME, UNICODE_VERSION
from evidence.inclusion import Inclusion
from evidence.layers import layer_digests
from evidence.means import Means
from evidence.omissions import Omissions
from evidence.packing import POLICY, Attempt
from evidence.ranking import Retrieval
from evidence.state import Behaviour, Disposition, State

SCHEMA = "muniment.manifest/1"
ASSEMBLER = "muniment-assembler/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Everything that assembly decided. In a refusal `coverage` and `state` are those of the complete selection, which
    was measured and not handed over; nothing is included then.

    arrangement: the complete selection. attempts: the packings that were measured, in order.
    sizes, semantic_hash, rendered_hash: of the accepted packet, None without one.
    """

    arrangement: Arrangement
    inclusions: tuple[Inclusion, ...]
    omissions: Omissions
    attempts: tuple[Attempt, ...]
    limits: tuple[Limit, ...]
    sizes: Sizes | None
    refusal: Mapping[str, Json] | None
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


def seal(record: Mapping[str, Json], *, hashes: Mapping[str, Json]) -> Manifest:
    """Add the hashes: the manifest's own is taken with the other two in place and itself not there."""
    packet_id = digest({**record, "hashes": hashes})
    return Manifest(packet_id=packet_id, record={**record, "hashes": {**hashes, "manifest": packet_id}})


def manifest(drafted: Draft, *, retrieval: Retrieval, means: Means, decision: Decision) -> Manifest:
    """The manifest of one answer, sealed."""
    request, snapshot, arrangement = drafted.request, drafted.snapshot, decision.arrangement
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
        "strategy": {
            "name": request.strategy.value,
            "k": request.k,
            "parameters": dict(retrieval.parameters),
            "widened": [widening.record() for widening in arrangement.widenings],
        },
        "stats_scope": retrieval.stats_scope,
        "degraded": list(retrieval.degraded),
        "model": None if means.model is None else dict(means.model),
        "tokenizer": None if means.meter is None else means.meter.record(),
        "template": None if means.template is None else _template_record(means.template),
        "query_class": request.query_class.record(),
        "assembler": ASSEMBLER,
        "packing": {
            "policy": POLICY.record(),
            "authority_rules": means.rules.record(),
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
        "conflict_groups": [group.record() for group in arrangement.groups],
        "handles": [inclusion.handle.record() for inclusion in decision.inclusions],
        "coverage": decision.coverage.record(),
        "mandatory_truncated": False,  # no policy cuts inside a unit or drops a mandatory one
        "prompt": None if drafted.prompt is None else drafted.prompt.record(),
        "transformations": [_rendering_record(drafted)],
        "refusal": decision.refusal,
        "state": decision.state.value,
        "behaviour": decision.behaviour.value,
        "disposition": decision.disposition.value,
    }
    hashes: dict[str, Json] = {"semantic": decision.semantic_hash, "rendered": decision.rendered_hash}
    layers = layer_digests({**record, "hashes": hashes}, given=retrieval.layers)
    return seal({**record, "layers": layers}, hashes=hashes)


def _rendering_record(drafted: Draft) -> dict[str, Json]:
    return {
        "name": "render",
        "adapter": drafted.request.adapter.value,
        **drafted.renderer.record(),
        "escape": ESCAPE_NAME,
        "unicode": UNICODE_VERSION,
        "lossless": True,
    }


def _template_record(template: ChatTemplate) -> dict[str, Json]:
    return {"name": template.name, "digest": template.digest, "record": dict(template.record)}
