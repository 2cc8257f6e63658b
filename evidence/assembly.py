"""How does a ranked selection become an accepted or a refused packet, with its manifest? (pure)

Top to bottom: check the selection, look the requirements up, pack, write, judge, explain. Equal input gives equal
bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidence.budget import Limit, Sizes, TokenMeter, limits_for
from evidence.canonical import Json, digest, digest_text
from evidence.citations import handle_records
from evidence.draft import Draft, draft
from evidence.errors import BrokenGuarantee
from evidence.inclusion import Inclusion
from evidence.manifest import Decision, manifest
from evidence.omissions import Omissions, stale_revisions
from evidence.packing import Packed, Refused, pack
from evidence.query_class import Slot
from evidence.ranking import LayerDigests, Retrieval
from evidence.render import render_json, text_spans
from evidence.request import PacketRequest
from evidence.snapshot import Snapshot
from evidence.state import Behaviour, Disposition, State, judge_state

SLOT_TRUST = "untrusted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """An answer. `packet` and `rendered` are there when, and only when, it is accepted."""

    packet_id: str
    disposition: Disposition
    state: State
    behaviour: Behaviour
    packet: Mapping[str, Json] | None
    rendered: Mapping[str, Json] | None
    refusal: Mapping[str, Json] | None
    manifest: Mapping[str, Json]

    def response(self) -> dict[str, Json]:
        """The body of the HTTP answer, but for its `run`."""
        return {
            "packet_id": self.packet_id,
            "disposition": self.disposition.value,
            "state": self.state.value,
            "behaviour": self.behaviour.value,
            "packet": self.packet,
            "rendered": self.rendered,
            "refusal": self.refusal,
            "manifest": self.manifest,
        }


def assemble(
    request: PacketRequest, *, snapshot: Snapshot, retrieval: Retrieval, meter: TokenMeter | None
) -> Assembled:
    """Pack, write, measure and judge the selection of `retrieval`.

    `meter` counts for the tokenizer that the request names, and is None when it names none. A request for another
    catalog version gets `stale-version`, and nothing of the selection. Raises InvalidRequest for a token limit
    without a tokenizer, BrokenGuarantee for a selection that holds a unit that may not be used, or one twice.
    """
    limits = _limits(request, meter)
    if is_stale_version(request, snapshot=snapshot):
        return refuse_version(request, snapshot=snapshot, layers=retrieval.layers, meter=meter)
    _check_selection(retrieval, snapshot)
    drafted = draft(request, retrieval.selection, snapshot=snapshot, meter=meter)
    outcome = pack(drafted.tiers(), overflow=request.on_overflow, limits=limits, measure=drafted.sizes)
    return _answer(drafted, retrieval, limits=limits, outcome=outcome)


def is_stale_version(request: PacketRequest, *, snapshot: Snapshot) -> bool:
    """Whether the request demands another catalog version than the one at hand (R29)."""
    return request.catalog_version is not None and request.catalog_version != snapshot.catalog_version


def refuse_version(
    request: PacketRequest, *, snapshot: Snapshot, layers: LayerDigests, meter: TokenMeter | None
) -> Assembled:
    """The answer to a request for another catalog version: nothing is selected, so nothing need be retrieved."""
    limits = _limits(request, meter)
    nothing = Retrieval(selection=(), unselected=(), degraded=(), parameters={}, stats_scope=None, layers=layers)
    return _answer(draft(request, (), snapshot=snapshot, meter=meter), nothing, limits=limits, outcome=None)


def _limits(request: PacketRequest, meter: TokenMeter | None) -> tuple[Limit, ...]:
    if (meter is None) is not (request.tokenizer is None):
        raise BrokenGuarantee("a tokenizer that the request names must count, and no other")
    return limits_for(request.budget, request.query_class, meter=meter)


def _check_selection(retrieval: Retrieval, snapshot: Snapshot) -> None:
    """What retrieval promises, checked again where the answer is made."""
    keys = [candidate.unit.key for candidate in retrieval.selection]
    if len(set(keys)) < len(keys):
        raise BrokenGuarantee("the selection holds a unit twice")
    for candidate in retrieval.selection:
        key = candidate.unit.key.revision_key
        if not snapshot.is_usable(key) or snapshot.visible.facts[key] != candidate.facts:
            raise BrokenGuarantee("the selection holds a unit of a revision that is not usable in this snapshot")


def _answer(
    drafted: Draft, retrieval: Retrieval, *, limits: tuple[Limit, ...], outcome: Packed | Refused | None
) -> Assembled:
    """The answer for what packing gave; None where the demanded version was not there and nothing was packed."""
    request, snapshot, everything = drafted.request, drafted.snapshot, range(len(retrieval.selection))
    packed = outcome if isinstance(outcome, Packed) else None
    refused = outcome if isinstance(outcome, Refused) else None
    disposition = _disposition(outcome)
    coverage = drafted.coverage(packed.kept if packed else everything)
    state = judge_state(
        coverage.mandatory_states(), includes_evidence=bool(packed.kept if packed else retrieval.selection)
    )
    behaviour = request.query_class.behaviour(state, disposition)
    packet = drafted.packet(packed.kept) if packed else None
    body = None if packed is None else _body(drafted, packed, packet)
    left_out = packed.dropped if packed else everything
    decision = Decision(
        inclusions=_inclusions(drafted, packed.kept) if packed else (),
        omissions=Omissions(
            budget=tuple(retrieval.selection[position].unit.key for position in left_out),
            stale=stale_revisions(retrieval.candidates(), request.requirements, snapshot=snapshot),
            not_selected=retrieval.unselected,
        ),
        tiers=drafted.tiers(),
        attempts=outcome.attempts if outcome else (),
        limits=limits,
        sizes=packed.sizes if packed else None,
        refusal=refused,
        coverage=coverage,
        state=state,
        behaviour=behaviour,
        disposition=disposition,
        semantic_hash=None if packet is None else digest(packet),
        rendered_hash=None if body is None else digest_text(body),
    )
    sealed = manifest(request, snapshot=snapshot, retrieval=retrieval, meter=drafted.meter, decision=decision)
    return Assembled(
        packet_id=sealed.packet_id,
        disposition=disposition,
        state=state,
        behaviour=behaviour,
        packet=packet,
        rendered=None if body is None or packed is None else _rendered(drafted, body, packed.sizes),
        refusal=None if refused is None else refused.record(),
        manifest=sealed.record,
    )


def _disposition(outcome: Packed | Refused | None) -> Disposition:
    match outcome:
        case Packed():
            return Disposition.ACCEPTED
        case Refused():
            return Disposition.REFUSED_BUDGET
        case None:
            return Disposition.STALE_VERSION


def _body(drafted: Draft, packed: Packed, packet: Json) -> str:
    """The rendered packet, written whole; what was measured piece by piece must be the same text."""
    body = render_json(packet)
    if body != drafted.body(packed.kept) or len(body.encode("utf-8")) != packed.sizes.bytes:
        raise BrokenGuarantee("the packet that was measured is not the packet that was written")
    return body


def _inclusions(drafted: Draft, kept: Sequence[int]) -> tuple[Inclusion, ...]:
    tiers, assessment = drafted.tiers(), drafted.assessment
    selected = [drafted.selection[position] for position in kept]
    handles = handle_records(selected, [drafted.handles[position] for position in kept], snapshot=drafted.snapshot)
    spans = text_spans(drafted.frame(kept), drafted.items_of(kept))
    return tuple(
        Inclusion(
            candidate=drafted.selection[position],
            handle=handle,
            tier=tiers[position],
            support_role=assessment.support_roles[position],
            roles=assessment.roles[position],
            rendered_span=span,
            bytes=drafted.items[position].bytes,
        )
        for position, handle, span in zip(kept, handles, spans, strict=True)
    )


def _rendered(drafted: Draft, body: str, sizes: Sizes) -> dict[str, Json]:
    request, meter = drafted.request, drafted.meter
    return {
        "adapter": request.adapter.value,
        "body": body,
        "bytes": sizes.bytes,
        "tokens": sizes.tokens,
        "tokenizer": None if meter is None else meter.name,
        "slots": [
            {
                "slot": Slot.RETRIEVED_EVIDENCE.value,
                "trust": SLOT_TRUST,
                "tokens": sizes.tokens,
                "budget": None if meter is None else request.query_class.evidence_tokens,
                "notice": None,
            }
        ],
    }
