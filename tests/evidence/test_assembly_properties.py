"""What holds for every answer, tried over catalogs and requests made by chance (R6, R11, R19, R22, R30-R32)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evidence.adapters import Adapter
from evidence.assembly import Assembled, assemble
from evidence.budget import Budget
from evidence.canonical import canonical
from evidence.conversation import number_turns
from evidence.envelope import Candidate
from evidence.identity import UnitKey
from evidence.instant import Instant
from evidence.packing import Overflow
from evidence.replay import check_manifest, compare
from evidence.request import PacketRequest, Strategy
from evidence.slots import Slot
from tests.builders import (
    BLUE,
    EXPLANATORY,
    NOW,
    RED,
    character_meter,
    claim,
    eligibility,
    instant,
    means,
    request,
    requires,
    retrieval,
    source,
)
from tests.evidence.answers import holding, units_of, wire
from tests.evidence.disputes import MANUFACTURER_FIRST, keys, rules
from tests.evidence.prompts import chat_template
from tests.evidence.test_conflict_properties import catalogs

MOST = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ROOMY = replace(EXPLANATORY, budgets=dict.fromkeys(Slot, 10**6))  # so that only the limit under test can be broken
R30 = {
    "request", "scope_digest", "epoch", "catalog_version", "recipe", "strategy", "model", "tokenizer", "template",
    "query_class", "packing", "assembler", "budget", "inclusions", "omissions", "conflict_groups", "handles",
    "coverage", "mandatory_truncated", "transformations", "degraded", "state", "behaviour", "disposition", "layers",
    "valid", "hashes",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A catalog of two tenants, and what Blue selected of its own part of it."""

    catalog: list[Candidate]
    selection: list[Candidate]
    ranked: list[UnitKey]

    @property
    def visible(self) -> list[Candidate]:
        return [found for found in self.catalog if found.facts.key.namespace == BLUE]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    catalog = draw(catalogs())
    visible = [found for found in catalog if found.facts.key.namespace == BLUE]
    ranked = draw(st.permutations(visible))[: draw(st.integers(0, len(visible)))]
    return World(catalog=catalog, selection=ranked[: draw(st.integers(0, 5))], ranked=keys(ranked))


@st.composite
def requests(draw: st.DrawFn) -> PacketRequest:
    """Any strategy, adapter and overflow; up to two roles; with a conversation where the adapter has one."""
    adapter = draw(st.sampled_from(Adapter))
    roles = [
        requires("x", claim("x", draw(st.sampled_from([None, "1"]))), mandatory=draw(st.booleans())),
        requires("b", source("B"), mandatory=draw(st.booleans())),
    ]
    return request(
        strategy=draw(st.sampled_from([Strategy.NARROW, Strategy.AUTO])),
        query_class=replace(ROOMY, widens=draw(st.booleans()), exhaustive=draw(st.booleans())),
        requirements=roles[: draw(st.integers(0, 2))],
        on_overflow=draw(st.sampled_from(Overflow)),
        adapter=adapter,
        conversation=() if adapter is Adapter.JSON else number_turns([("user", "hello"), ("assistant", "good day")]),
    )


def answered(
    asked: PacketRequest,
    world: World,
    *,
    catalog: Sequence[Candidate] | None = None,
    budget: Budget | None = None,
    now: Instant = NOW,
    counted: bool = True,
) -> Assembled:
    everything = world.catalog if catalog is None else catalog
    meter = character_meter() if counted else None
    return assemble(
        replace(asked, budget=budget or Budget(), tokenizer=None if meter is None else meter.name),
        snapshot=holding(everything, asked=eligibility(now=now)),
        retrieval=retrieval(world.selection, unselected=world.ranked[len(world.selection) :]),
        means=means(meter=meter, template=chat_template(), rules=rules(MANUFACTURER_FIRST)),
        units_of=units_of(everything),
    )


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


@MOST
@given(world=worlds(), asked=requests(), data=st.data())
def test_the_order_in_which_facts_are_given_changes_no_byte(
    world: World, asked: PacketRequest, data: st.DataObject
) -> None:
    """R11."""
    shuffled = data.draw(st.permutations(world.catalog))

    one, other = answered(asked, world), answered(asked, world, catalog=shuffled)
    assert canonical(one.response()) == canonical(other.response())


@MOST
@given(world=worlds(), asked=requests())
def test_what_is_invisible_changes_no_byte(world: World, asked: PacketRequest) -> None:
    """R6, R8: byte for byte the answer of a catalog that never held it."""
    full, without = answered(asked, world), answered(asked, world, catalog=world.visible)

    assert canonical(full.response()) == canonical(without.response())
    assert RED not in [leaf for leaf in leaves(wire(full)) if isinstance(leaf, str)]


@MOST
@given(world=worlds(), asked=requests(), percent=st.integers(30, 100))
def test_no_conflict_is_ever_halved_and_nothing_mandatory_is_dropped(
    world: World, asked: PacketRequest, percent: int
) -> None:
    """R19, R22: at any budget each group is in the packet whole, or out of it whole and named as such."""
    size = wire(answered(asked, world))["rendered"]["bytes"]

    whole = wire(answered(asked, world, budget=Budget(max_bytes=size * percent // 100)))
    if whole["packet"] is None:
        assert whole["refusal"]["needed"] > whole["refusal"]["limit"]
        return
    included = {one["unit_id"] for one in whole["manifest"]["inclusions"]}
    groups = whole["manifest"]["conflict_groups"]
    for shown, group in zip(whole["packet"]["conflict_groups"], groups, strict=True):
        packed = included & set(group["members"])
        assert packed in (set(), set(group["members"]))
        assert shown.get("left_out", False) is (not packed)
    dropped = {one.get("unit_id") for one in whole["manifest"]["omissions"]["items"]} - included
    complete = wire(answered(asked, world))["manifest"]["inclusions"]
    mandatory = {one["unit_id"] for one in complete if one["decision"]["tier"] == "mandatory"}
    assert mandatory.isdisjoint(dropped)
    assert mandatory <= included
    if any(group["resolution"] is None for group in groups):
        assert (whole["state"], whole["behaviour"]) == ("conflicting", "escalate")


@MOST
@given(world=worlds(), asked=requests(), percent=st.integers(30, 110), counted=st.booleans())
def test_a_manifest_holds_every_field_of_the_rule_and_neither_float_nor_clock(
    world: World, asked: PacketRequest, percent: int, counted: bool
) -> None:
    """R30, R31: a moment later nothing is different."""
    size = wire(answered(asked, world, counted=counted))["rendered"]["bytes"]
    budget = Budget(max_bytes=size * percent // 100)

    one = answered(asked, world, budget=budget, counted=counted)
    later = answered(asked, world, budget=budget, counted=counted, now=instant("2026-02-03"))
    assert one == later
    manifest = wire(one)["manifest"]
    assert set(manifest) >= R30
    assert manifest["mandatory_truncated"] is False
    assert set(manifest["coverage"]) == {"roles", "exhaustive", "prohibited_claims"}
    assert all({"facts", "trace", "decision"} <= set(inclusion) for inclusion in manifest["inclusions"])
    assert all(
        inclusion["unit"]["span"] and inclusion["decision"]["rendered_span"] for inclusion in manifest["inclusions"]
    )
    assert {type(leaf) for leaf in leaves(manifest)} <= {str, int, bool, type(None)}
    assert not [leaf for leaf in leaves(manifest) if isinstance(leaf, str) and leaf.startswith(("2025-06", "2026-02"))]


@MOST
@given(world=worlds(), asked=requests(), other=requests(), percent=st.integers(30, 110))
def test_two_replays_are_identical_and_equal_layers_mean_equal_manifests(
    world: World, asked: PacketRequest, other: PacketRequest, percent: int
) -> None:
    """R31, R32."""
    size = wire(answered(asked, world))["rendered"]["bytes"]
    budget = Budget(max_bytes=size * percent // 100)
    first, again = (wire(answered(asked, world, budget=budget)) for _ in range(2))
    another = wire(answered(other, world, budget=budget))

    assert first == again
    assert compare(check_manifest(first["manifest"]), again["manifest"]).layer is None
    differs = compare(first["manifest"], another["manifest"]).layer is not None
    assert differs is (first["packet_id"] != another["packet_id"])


@MOST
@given(world=worlds(), asked=requests())
def test_a_packet_is_accepted_at_its_exact_size_and_not_one_byte_below(world: World, asked: PacketRequest) -> None:
    """R22, for every adapter: complete, or cut."""
    free = wire(answered(asked, world))
    size = free["rendered"]["bytes"]

    assert wire(answered(asked, world, budget=Budget(max_bytes=size)))["rendered"] == free["rendered"]
    below = wire(answered(asked, world, budget=Budget(max_bytes=size - 1)))
    if below["packet"] is None:
        assert below["refusal"]["over"] >= 1
    else:
        assert asked.on_overflow is Overflow.OMIT_OPTIONAL
        assert below["packet"]["cut"] is True
        assert below["rendered"]["bytes"] < size
