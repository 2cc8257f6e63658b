"""How does a ranked selection become an accepted or a refused packet, with its manifest? (pure)

Top to bottom: check the selection, complete it, write the prompt around it, see that its slots fit, pack, write,
judge, explain. Equal input gives equal bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evidence.adapters import Adapter, renderer_for
from evidence.arrangement import arrange, empty
from evidence.budget import Limit, Sizes, limits_for
from evidence.caller_turn import resolved_scope
from evidence.canonical import Json, digest, digest_text
from evidence.chat import template_clock
from evidence.citations import handle_records
from evidence.draft import Draft, draft
from evidence.envelope import Candidate, UnitsOf
from evidence.errors import BrokenGuarantee
from evidence.handover import rendered_record
from evidence.inclusion import Inclusion
from evidence.manifest import Decision, manifest
from evidence.means import Means
from evidence.omissions import Omissions, stale_revisions
from evidence.packing import Packed, Refused, pack
from evidence.prompt import Prompt, build_prompt
from evidence.ranking import LayerDigests, Retrieval
from evidence.request import PacketRequest
from evidence.routing import RouteFailure, find_route_failure
from evidence.snapshot import Snapshot
from evidence.state import Behaviour, Disposition, State, judge_state


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
    request: PacketRequest,
    *,
    snapshot: Snapshot,
    retrieval: Retrieval,
    means: Means,
    units_of: UnitsOf,
    unusable_handles: frozenset[str] = frozenset(),
) -> Assembled:
    """Complete, pack, write, measure and judge the selection of `retrieval`.

    units_of: all units of a usable revision, for what conflicts and widening bring in. unusable_handles: those in the
    conversation that stand for nothing which the caller may use now. A request for another catalog version gets
    `stale-version`, and nothing of the selection. Raises InvalidRequest for a token limit without a tokenizer,
    BrokenGuarantee for a selection that holds a unit that may not be used, or one twice.
    """
    if is_stale_version(request, snapshot=snapshot):
        return refuse(request, Disposition.STALE_VERSION, snapshot=snapshot, layers=retrieval.layers, means=means)
    _check_selection(retrieval.selection, snapshot)
    arrangement = arrange(request, retrieval, snapshot=snapshot, units_of=units_of, rules=means.rules)
    _check_selection(arrangement.selection, snapshot)

    def draw(request: PacketRequest, means: Means) -> tuple[Draft, tuple[Limit, ...]]:
        prompt = _prompt(request, means, snapshot=snapshot, unusable_handles=unusable_handles)
        drafted = draft(request, arrangement, snapshot=snapshot, means=means, prompt=prompt)
        return drafted, _limits(request, means)

    drafted, limits = draw(request, means)
    outcome: Packed | Refused | RouteFailure | None
    outcome = find_route_failure(drafted, (), means=means, draw=draw)
    if outcome is None:
        outcome = pack(arrangement.blocks(), overflow=request.on_overflow, limits=limits, measure=drafted.sizes)
    if isinstance(outcome, Refused):  # only now: a packet may be smaller than the same one without its evidence
        outcome = find_route_failure(drafted, limits, means=means, draw=draw) or outcome
    disposition = _disposition(outcome)
    return _answer(drafted, retrieval, means=means, limits=limits, outcome=outcome, disposition=disposition)


def is_stale_version(request: PacketRequest, *, snapshot: Snapshot) -> bool:
    """Whether the request demands another catalog version than the one at hand (R29)."""
    return request.catalog_version is not None and request.catalog_version != snapshot.catalog_version


def refuse(
    request: PacketRequest, disposition: Disposition, *, snapshot: Snapshot, layers: LayerDigests, means: Means
) -> Assembled:
    """The answer where nothing is selected, so that nothing need be retrieved: another catalog version was demanded,
    or the authority kept moving."""
    nothing = Retrieval(selection=(), unselected=(), degraded=(), parameters={}, stats_scope=None, layers=layers)
    drafted = draft(request, empty(request, snapshot=snapshot), snapshot=snapshot, means=means, prompt=None)
    limits = _limits(request, means)
    return _answer(drafted, nothing, means=means, limits=limits, outcome=None, disposition=disposition)


def _limits(request: PacketRequest, means: Means) -> tuple[Limit, ...]:
    if (means.meter is None) is not (request.tokenizer is None):
        raise BrokenGuarantee("a tokenizer that the request names must count, and no other")
    return limits_for(request.budget, request.query_class, meter=means.meter)


def _check_selection(selection: Sequence[Candidate], snapshot: Snapshot) -> None:
    """What retrieval and the catalog promise, checked again where the answer is made."""
    keys = [candidate.unit.key for candidate in selection]
    if len(set(keys)) < len(keys):
        raise BrokenGuarantee("the selection holds a unit twice")
    for candidate in selection:
        key = candidate.unit.key.revision_key
        if not snapshot.is_usable(key) or snapshot.visible.facts[key] != candidate.facts:
            raise BrokenGuarantee("the selection holds a unit of a revision that is not usable in this snapshot")


def _prompt(
    request: PacketRequest, means: Means, *, snapshot: Snapshot, unusable_handles: frozenset[str]
) -> Prompt | None:
    """The slots beside the evidence; None for the adapter that renders evidence only."""
    if request.adapter is Adapter.JSON:
        return None
    return build_prompt(
        request.query_class,
        clock=template_clock(snapshot.eligibility, snapshot.validity),
        query=request.query,
        subject=snapshot.eligibility.subject,
        scope=resolved_scope(snapshot.eligibility),
        conversation=request.conversation,
        unusable=unusable_handles,
        tool_results=request.tool_results,
        summarizer=means.summarizer,
        write=renderer_for(request.adapter, means.template).segment,
        count=None if means.meter is None else means.meter.count,
    )


def _disposition(outcome: Packed | Refused | RouteFailure) -> Disposition:
    match outcome:
        case Packed():
            return Disposition.ACCEPTED
        case Refused():
            return Disposition.REFUSED_BUDGET
        case RouteFailure():
            return Disposition.ROUTE_FAILED


def _answer(
    drafted: Draft,
    retrieval: Retrieval,
    *,
    means: Means,
    limits: tuple[Limit, ...],
    outcome: Packed | Refused | RouteFailure | None,
    disposition: Disposition,
) -> Assembled:
    """The answer for what packing gave; without an outcome nothing was packed, and nothing selected."""
    request, arrangement = drafted.request, drafted.arrangement
    packed = outcome if isinstance(outcome, Packed) else None
    refusal = outcome if isinstance(outcome, (Refused, RouteFailure)) else None
    complete = arrangement.offered
    coverage = drafted.coverage(packed.kept if packed else complete)
    state = judge_state(
        coverage.mandatory_states(),
        includes_evidence=bool(packed.kept if packed else complete),
        conflicting=arrangement.is_conflicting,
        exhaustive_asked=request.query_class.exhaustive,
        exhaustive=coverage.exhaustive,
    )
    behaviour = request.query_class.behaviour(state, disposition)
    packet = drafted.packet(packed.kept) if packed else None
    body = None if packed is None else _body(drafted, packed)
    decision = Decision(
        arrangement=arrangement,
        inclusions=_inclusions(drafted, packed.kept) if packed else (),
        omissions=_omissions(drafted, retrieval, left_out=packed.dropped if packed else complete),
        attempts=outcome.attempts if isinstance(outcome, (Packed, Refused)) else (),
        limits=limits,
        sizes=packed.sizes if packed else None,
        refusal=None if refusal is None else refusal.record(),
        coverage=coverage,
        state=state,
        behaviour=behaviour,
        disposition=disposition,
        semantic_hash=None if packet is None else digest(packet),
        rendered_hash=None if body is None else digest_text(body),
    )
    sealed = manifest(drafted, retrieval=retrieval, means=means, decision=decision)
    return Assembled(
        packet_id=sealed.packet_id,
        disposition=disposition,
        state=state,
        behaviour=behaviour,
        packet=packet,
        rendered=None if body is None or packed is None else rendered_record(drafted, body, packed),
        refusal=decision.refusal,
        manifest=sealed.record,
    )


def _body(drafted: Draft, packed: Packed) -> str:
    """The rendered packet, written whole and counted whole: what was measured piece by piece must be the same."""
    body = drafted.body(packed.kept)
    if body != drafted.frame(packed.kept).body(drafted.items_of(packed.kept)):
        raise BrokenGuarantee("the packet that was measured is not the packet that was written")
    if Sizes(bytes=len(body.encode("utf-8")), tokens=_count(drafted, body)) != replace(
        packed.sizes, evidence_tokens=None
    ):
        raise BrokenGuarantee("the packet that was written measures something else than what was decided on")
    return body


def _count(drafted: Draft, body: str) -> int | None:
    return None if drafted.meter is None else drafted.meter.count(body)


def _omissions(drafted: Draft, retrieval: Retrieval, *, left_out: Sequence[int]) -> Omissions:
    arrangement, snapshot = drafted.arrangement, drafted.snapshot
    keys = [candidate.unit.key for candidate in arrangement.selection]
    held = set(keys)
    return Omissions(
        budget=tuple(keys[position] for position in left_out),
        stale=stale_revisions(
            (*retrieval.candidates(), *keys),
            drafted.request.requirements,
            asked_source=drafted.request.source,
            snapshot=snapshot,
        ),
        not_selected=tuple(key for key in retrieval.unselected if key not in held),
        duplicates=tuple((keys[duplicate.position], keys[duplicate.kept]) for duplicate in arrangement.duplicates),
        capped=tuple(key for key in retrieval.capped if key not in held),
    )


def _inclusions(drafted: Draft, kept: Sequence[int]) -> tuple[Inclusion, ...]:
    arrangement = drafted.arrangement
    selection, assessment = arrangement.selection, arrangement.assessment
    tiers = {position: block.tier for block in arrangement.blocks() for position in block.positions}
    handles = handle_records(
        [selection[position] for position in kept], drafted.handles_of(kept), snapshot=drafted.snapshot
    )
    spans = drafted.frame(kept).text_spans(drafted.items_of(kept))
    return tuple(
        Inclusion(
            candidate=selection[position],
            handle=handle,
            tier=tiers[position],
            support_role=assessment.support_roles[position],
            roles=assessment.roles[position],
            group=arrangement.group_at[position],
            brought_in=selection[position].unit.key in arrangement.brought_in,
            rendered_span=span,
            bytes=drafted.items[position].bytes,
        )
        for position, handle, span in zip(kept, handles, spans, strict=True)
    )
