"""Why is a unit in a packet, and if it is not, at which step did it leave?

For the operator, on the catalog's own machine: it tells about units that the principal may not see, so that none of
this is ever sent to a caller (R7). The steps are those of the real path: the packet is really made, and the unit is
looked up in what came of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.access import Principal, Scope, admits
from evidence.canonical import Json
from evidence.citations import citation_handle
from evidence.eligibility import Standing, is_visible
from evidence.errors import BrokenGuarantee
from evidence.identity import PUBLIC, UnitKey, parse_unit_id, unit_id
from evidence.revision import RevisionFacts
from evidence.standing_reasons import standing_reasons
from evidence.state import Disposition, Reason
from evidence.unit import Unit
from index.catalog_read import Reading
from server.errors import Unauthenticated, UnknownUnit
from server.pipeline import Pipeline
from server.ranking import Pinned
from server.schemas import Channel, PacketRequest

DEEPEST = 100_000  # ranks of a channel that are looked through: a minute's work for an operator at most
CHANNELS = (Channel.LEXICAL, Channel.DENSE)


class Step(StrEnum):
    """Where a unit can leave the path of a request, in order."""

    CREDENTIALS = "credentials"  # the principal's subject or token was revoked: it sees nothing
    LABEL = "label"
    DRAFT = "draft"
    STANDING = "standing"
    INDEX = "index"  # it waits for a reindex
    CANDIDATES = "candidates"  # no channel has it among its first `depth`
    SELECTION = "selection"  # others ranked better, or the strategy does not take it
    ASSEMBLY = "assembly"  # the reason is the omission's
    REFUSAL = "refusal"  # the packet was not accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a unit stands in one ranking: rank from 1 of how many, and its score; None where it is not in it."""

    rank: int | None
    score: int | None
    of: int

    def record(self) -> dict[str, Json]:
        return {"rank": self.rank, "score": self.score, "of": self.of}


def explain(pipeline: Pipeline, request: PacketRequest, principal: Principal, *, named: str) -> dict[str, Json]:
    """Everything that decides about the unit `named` (a handle or a unit id) for this request, as a record.

    Raises UnknownUnit, and what `Pipeline.packet` refuses.
    """
    with pipeline.catalog.read() as reading:
        unit = find_unit(reading, named)
        facts = reading.facts()[unit.key.revision_key]
    explained: dict[str, Json] = {
        "unit_id": unit_id(unit.key),
        "handle": citation_handle(unit),
        "title": facts.title,
        "heading": list(unit.heading),
        "span": [unit.start, unit.end],
        "status": facts.status.value,
    }
    try:
        with pipeline.pinned(request, principal) as pinned:
            return explained | _explain(pipeline, request, principal, pinned, unit=unit, facts=facts)
    except Unauthenticated:
        return explained | _ending(Step.CREDENTIALS)


def find_unit(reading: Reading, named: str) -> Unit:
    """The unit of a handle or a unit id, of any namespace and label. Raises UnknownUnit."""
    key = parse_unit_id(named)
    try:
        found = reading.units_by_handle(named) if key is None else reading.units([key])
    except KeyError:
        found = []
    if not found:
        raise UnknownUnit("no unit of this catalog has that handle or id")
    return found[0]


def label_decision(facts: RevisionFacts, scope: Scope) -> list[dict[str, Json]]:
    """For each dimension of the label: what it needs, what of that kind is held, and whether they meet.

    Raises BrokenGuarantee where this is not what `admits` says.
    """
    label, principal = facts.label, scope.principal
    own = (principal.personal_role,) if principal.personal else ()
    dimensions: list[tuple[str, Sequence[str], Sequence[str]]] = [
        ("namespace", (label.namespace,), (PUBLIC, *(() if principal.tenant is None else (principal.tenant,)))),
        ("roles", label.roles, (*principal.roles, *own)),
        ("purposes", label.purposes, () if scope.purpose is None else (scope.purpose,)),
        ("regions", label.regions, principal.regions),
        ("cases", label.cases, principal.cases),
    ]
    decided = [(name, needs, holds, not needs or not set(needs).isdisjoint(holds)) for name, needs, holds in dimensions]
    if all(meets for *_, meets in decided) is not admits(label, scope):
        raise BrokenGuarantee("the dimensions of a label add up to another decision than the label's")
    return [
        {"dimension": name, "needs": list(needs), "holds": list(holds), "meets": meets}
        for name, needs, holds, meets in decided
    ]


def _explain(
    pipeline: Pipeline,
    request: PacketRequest,
    principal: Principal,
    pinned: Pinned,
    *,
    unit: Unit,
    facts: RevisionFacts,
) -> dict[str, Json]:
    eligibility = pinned.eligible.eligibility
    seen: dict[str, Json] = {"label": label_decision(facts, eligibility.scope)}
    if not admits(facts.label, eligibility.scope):
        return seen | _ending(Step.LABEL)
    if not is_visible(facts, scope=eligibility.scope, use=eligibility.use):
        return seen | _ending(Step.DRAFT)
    standing = pinned.eligible.standings[facts.key]
    because = standing_reasons(facts, standing, visible=pinned.eligible.visible.values(), eligibility=eligibility)
    seen |= {"standing": standing.value, "because": because}
    if standing is not Standing.USABLE:
        return seen | _ending(Step.STANDING)
    waits = facts.key in pinned.eligible.unindexed
    fused = None if waits else _place(pipeline, request.model_copy(update={"rerank": False}), pinned, unit.key)
    seen |= _ranking(pipeline, request, pinned, unit.key, fused=fused)
    outcome = _outcome(pipeline.packet(request, principal), unit_id(unit.key))
    missing = Step.INDEX if waits else Step.SELECTION if fused and fused.rank else Step.CANDIDATES
    return seen | outcome.record() | _ending(outcome.left_at(missing))


def _ranking(
    pipeline: Pipeline, request: PacketRequest, pinned: Pinned, key: UnitKey, *, fused: Place | None
) -> dict[str, Json]:
    """Its place in each channel over everything usable, and in the fused and the reranked order of this request.

    fused: its place there, None where the unit has no rows to be ranked.
    """
    if fused is None:
        return {"channels": {}, "fused": None, "reranked": None}
    channels: dict[str, Json] = {}
    for channel in CHANNELS:
        if request.channel not in (Channel.HYBRID, channel):
            continue
        deep = request.fusion.model_copy(update={"depth": DEEPEST})
        alone = request.model_copy(update={"channel": channel, "fusion": deep, "rerank": False})
        offers = request.model_copy(update={"channel": channel, "rerank": False})
        offered = _place(pipeline, offers, pinned, key).rank is not None
        channels[channel.value] = {**_place(pipeline, alone, pinned, key).record(), "offered": offered}
    return {
        "channels": channels,
        "fused": fused.record(),
        "reranked": _place(pipeline, request, pinned, key).record() if request.rerank else None,
    }


def _place(pipeline: Pipeline, request: PacketRequest, pinned: Pinned, key: UnitKey) -> Place:
    query = pipeline.ranker.read(request, pinned)
    candidates = pipeline.ranker.rank(request, query, pinned).candidates
    found = next(((rank, one) for rank, one in enumerate(candidates, start=1) if one.key == key), None)
    if found is None:
        return Place(rank=None, score=None, of=len(candidates))
    return Place(rank=found[0], score=found[1].score, of=len(candidates))


def _outcome(answer: Mapping[str, Json], unit: str) -> "_Outcome":
    """What the manifest of a packet says of a unit."""
    manifest = answer["manifest"]
    assert isinstance(manifest, Mapping)
    omissions = manifest["omissions"]
    assert isinstance(omissions, Mapping)
    return _Outcome(
        packet_id=str(answer["packet_id"]),
        disposition=Disposition(str(answer["disposition"])),
        state=str(answer["state"]),
        decision=next((one["decision"] for one in _records(manifest["inclusions"]) if one["unit_id"] == unit), None),
        omission=next((one for one in _records(omissions["items"]) if one.get("unit_id") == unit), None),
        groups=[one for one in _records(manifest["conflict_groups"]) if unit in _strings(one["members"])],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What became of a unit in one packet. decision: of its inclusion. omission: as the manifest lists it."""

    packet_id: str
    disposition: Disposition
    state: str
    decision: Json
    omission: Mapping[str, Json] | None
    groups: Sequence[Mapping[str, Json]]

    def record(self) -> dict[str, Json]:
        return {
            "packet": {"packet_id": self.packet_id, "disposition": self.disposition.value, "state": self.state},
            "decision": self.decision,
            "omission": self.omission,
            "conflict_groups": list(self.groups),
        }

    def left_at(self, missing: Step) -> Step | None:
        """None where the packet holds the unit. `missing`: the step of one that never reached assembly."""
        if self.decision is not None:
            return None
        if self.omission is None or self.omission["reason"] == Reason.NOT_SELECTED.value:
            return missing
        return Step.ASSEMBLY if self.disposition is Disposition.ACCEPTED else Step.REFUSAL


def _ending(left_at: Step | None) -> dict[str, Json]:
    return {"left_at": None if left_at is None else left_at.value}


def _records(value: Json) -> Iterator[Mapping[str, Json]]:
    assert isinstance(value, Sequence)
    for item in value:
        assert isinstance(item, Mapping)
        yield item


def _strings(value: Json) -> Sequence[Json]:
    assert isinstance(value, Sequence)
    return value
