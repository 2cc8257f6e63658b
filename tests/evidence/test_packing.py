"""What survives when the packet is too large, where every unit is a block of its own (R21, R22)."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.budget import Limit, Measure, Sizes
from evidence.packing import POLICY, Block, Overflow, Packed, Refused, Tier, pack, packing_order

MANDATORY, CONFLICT, CONDITIONAL, BACKGROUND = Tier.MANDATORY, Tier.CONFLICT, Tier.CONDITIONAL, Tier.BACKGROUND

Measuring = Callable[[Sequence[int]], Sizes]


def weighing(weights: Sequence[int], *, tokens: Sequence[int] | None = None) -> Measuring:
    """A packet of these units measures ten bytes (and ten tokens) and the weights of what it holds."""

    def measure(kept: Sequence[int]) -> Sizes:
        counted = None if tokens is None else 10 + sum(tokens[position] for position in kept)
        return Sizes(bytes=10 + sum(weights[position] for position in kept), tokens=counted)

    return measure


def single(tiers: Sequence[Tier]) -> list[Block]:
    """One block for each unit of the selection, with these tiers. Those that fill a role fill one of their own."""
    filling = (MANDATORY, CONDITIONAL)
    return [
        Block(positions=(position,), tier=tier, roles=frozenset([f"role {position}"] if tier in filling else ()))
        for position, tier in enumerate(tiers)
    ]


def packed(
    tiers: Sequence[Tier], weights: Sequence[int], *, max_bytes: int, overflow: Overflow = Overflow.OMIT_OPTIONAL
) -> Packed | Refused:
    limit = Limit(measure=Measure.BYTES, allowed=max_bytes)
    return pack(single(tiers), overflow=overflow, limits=[limit], measure=weighing(weights))


def kept(outcome: Packed | Refused) -> tuple[int, ...]:
    assert isinstance(outcome, Packed)
    return outcome.kept


def refused(outcome: Packed | Refused) -> Refused:
    assert isinstance(outcome, Refused)
    return outcome


def test_what_fits_is_kept_whole() -> None:
    outcome = packed([BACKGROUND] * 3, [5, 5, 5], max_bytes=25)

    assert kept(outcome) == (0, 1, 2)
    assert isinstance(outcome, Packed)
    assert outcome.dropped == ()
    assert outcome.sizes.bytes == 25


def test_refuse_refuses_one_byte_beyond_and_drops_nothing() -> None:
    assert refused(packed([BACKGROUND] * 3, [5, 5, 5], max_bytes=24, overflow=Overflow.REFUSE)).needed == 25


def test_omit_optional_drops_from_the_end_until_it_fits() -> None:
    assert kept(packed([BACKGROUND] * 3, [5, 5, 5], max_bytes=24)) == (0, 1)
    assert kept(packed([BACKGROUND] * 3, [5, 5, 5], max_bytes=20)) == (0, 1)
    assert kept(packed([BACKGROUND] * 3, [5, 5, 5], max_bytes=19)) == (0,)
    assert kept(packed([BACKGROUND] * 3, [5, 5, 5], max_bytes=10)) == ()


def test_a_later_smaller_unit_is_never_slipped_in() -> None:
    """R22: no skip-and-fill. Position 1 is too large; position 2 would fit."""
    assert kept(packed([BACKGROUND] * 3, [5, 50, 1], max_bytes=30)) == (0,)


def test_mandatory_units_stay_whatever_their_rank_and_keep_their_place() -> None:
    outcome = packed([BACKGROUND, BACKGROUND, MANDATORY], [5, 5, 5], max_bytes=20)

    assert kept(outcome) == (0, 2)


def test_conditional_units_survive_background_of_a_better_rank() -> None:
    """R21: conditional evidence is packed before background by rank."""
    assert kept(packed([BACKGROUND, CONDITIONAL, BACKGROUND], [5, 5, 5], max_bytes=15)) == (1,)
    assert kept(packed([BACKGROUND, CONDITIONAL, BACKGROUND], [5, 5, 5], max_bytes=20)) == (0, 1)


def test_packing_order_is_by_tier_and_then_by_place_in_the_selection() -> None:
    """R21: mandatory evidence, conflict groups, conditional evidence, background by rank."""
    tiers = [BACKGROUND, MANDATORY, CONDITIONAL, BACKGROUND, CONFLICT, MANDATORY, CONDITIONAL, CONFLICT]

    assert [block.positions[0] for block in packing_order(single(tiers))] == [1, 5, 4, 7, 2, 6, 0, 3]


def test_the_policy_has_a_name_and_a_version_and_states_its_order() -> None:
    """R21."""
    record = POLICY.record()

    assert (record["name"], record["version"]) == ("whole-units", "1")
    assert record["order"] == ["mandatory", "conflict", "conditional", "background"]


def test_mandatory_units_that_do_not_fit_alone_are_refused_and_not_dropped() -> None:
    found = refused(packed([MANDATORY, BACKGROUND], [5, 5], max_bytes=14))

    assert found.record() == {
        "measure": "bytes",
        "needed": 20,
        "limit": 14,
        "over": 6,
        "mandatory_floor": 15,
        "tried": ["omit-optional"],
        "would_fit": [],
    }


def test_a_refusal_says_whether_leaving_out_optional_units_would_help() -> None:
    helps = refused(packed([MANDATORY, BACKGROUND], [5, 5], max_bytes=15, overflow=Overflow.REFUSE))
    does_not = refused(packed([MANDATORY, BACKGROUND], [5, 5], max_bytes=14, overflow=Overflow.REFUSE))

    assert (helps.tried, helps.would_fit) == ((Overflow.OMIT_OPTIONAL,), (Overflow.OMIT_OPTIONAL,))
    assert (does_not.tried, does_not.would_fit) == ((Overflow.OMIT_OPTIONAL,), ())


def test_what_would_fit_is_what_the_policy_really_gives() -> None:
    for max_bytes in range(8, 32):
        tiers, weights = [MANDATORY, BACKGROUND, BACKGROUND], [5, 8, 8]
        outcome = packed(tiers, weights, max_bytes=max_bytes, overflow=Overflow.REFUSE)
        other = packed(tiers, weights, max_bytes=max_bytes)

        if isinstance(outcome, Refused):
            assert (outcome.would_fit == (Overflow.OMIT_OPTIONAL,)) is isinstance(other, Packed)


def test_the_first_broken_limit_is_reported() -> None:
    limits = [
        Limit(measure=Measure.BYTES, allowed=100),
        Limit(measure=Measure.TOKENS, allowed=14),
        Limit(measure=Measure.WINDOW, allowed=20, reserved=7),
    ]

    outcome = pack(single([BACKGROUND]), overflow=Overflow.REFUSE, limits=limits, measure=weighing([9], tokens=[5]))
    assert refused(outcome).record()["measure"] == "tokens"
    assert refused(outcome).needed == 15


def test_where_omitting_does_not_help_the_limit_that_the_mandatory_units_break_is_reported() -> None:
    """Bytes would be mended by omitting the second unit; tokens would not."""
    limits = [Limit(measure=Measure.BYTES, allowed=20), Limit(measure=Measure.WINDOW, allowed=20, reserved=7)]

    outcome = pack(
        single([MANDATORY, BACKGROUND]),
        overflow=Overflow.OMIT_OPTIONAL,
        limits=limits,
        measure=weighing([9, 9], tokens=[5, 1]),
    )
    assert refused(outcome).limit.measure is Measure.WINDOW
    assert refused(outcome).needed == 10 + 5 + 1 + 7
    assert refused(outcome).mandatory_floor == 10 + 5 + 7


def test_an_empty_selection_is_packed_or_refused_by_its_frame() -> None:
    assert kept(packed([], [], max_bytes=10)) == ()
    assert refused(packed([], [], max_bytes=9)).mandatory_floor == 10


def test_every_packing_that_was_measured_is_in_the_trace() -> None:
    outcome = packed([BACKGROUND, MANDATORY, BACKGROUND, BACKGROUND], [5, 5, 5, 5], max_bytes=22)

    assert isinstance(outcome, Packed)
    assert [(attempt.units, attempt.sizes.bytes, attempt.fits) for attempt in outcome.attempts] == [
        (4, 30, False),
        (1, 15, True),
        (2, 20, True),
        (3, 25, False),
    ]


def test_what_is_kept_fits_and_with_one_block_more_does_not_whatever_a_tokenizer_counts() -> None:
    """R22: here a unit that fills no role makes the packet smaller, as no renderer and tokenizer at hand does."""
    tokens = {0: 5, 1: 9, 2: 12, 3: 8, 4: 20}

    outcome = pack(
        single([BACKGROUND] * 4),
        overflow=Overflow.OMIT_OPTIONAL,
        limits=[Limit(measure=Measure.TOKENS, allowed=10)],
        measure=lambda kept: Sizes(bytes=0, tokens=tokens[len(kept)]),
    )
    assert kept(outcome) == (0,)


tiers_and_weights = st.lists(st.tuples(st.sampled_from(Tier), st.integers(0, 9)), max_size=12)


@given(units=tiers_and_weights, max_bytes=st.integers(0, 130))
def test_omit_optional_leaves_out_the_end_of_the_packing_order_and_nothing_mandatory(
    units: list[tuple[Tier, int]], max_bytes: int
) -> None:
    """R22, against the definition tried out one by one."""
    tiers, weights = [tier for tier, _ in units], [weight for _, weight in units]
    order, mandatory = [block.positions[0] for block in packing_order(single(tiers))], tiers.count(MANDATORY)
    prefixes = [order[:length] for length in range(mandatory, len(order) + 1)]
    fitting = [prefix for prefix in prefixes if weighing(weights)(prefix).bytes <= max_bytes]

    outcome = packed(tiers, weights, max_bytes=max_bytes)
    if not fitting:
        assert isinstance(outcome, Refused)
    else:
        assert kept(outcome) == tuple(sorted(fitting[-1]))
        assert isinstance(outcome, Packed)
        assert sorted([*outcome.kept, *outcome.dropped]) == list(range(len(units)))
        assert all(tiers[position] is not MANDATORY for position in outcome.dropped)


@pytest.mark.parametrize("count", [0, 1, 30, 999])
def test_the_cut_is_found_in_a_few_measurements_and_is_tight(count: int) -> None:
    """Work grows with the logarithm of the selection: the manifest records each packet that was measured."""
    asked: list[int] = []

    def measure(kept: Sequence[int]) -> Sizes:
        asked.append(len(kept))
        return Sizes(bytes=len(kept), tokens=None)

    limit = Limit(measure=Measure.BYTES, allowed=count)
    outcome = pack(single([BACKGROUND] * 1000), overflow=Overflow.OMIT_OPTIONAL, limits=[limit], measure=measure)
    assert isinstance(outcome, Packed)
    assert outcome.kept == tuple(range(count))
    assert len(asked) <= 2 + 10
    assert {count, count + 1} <= set(asked)


def test_the_most_that_fits_is_kept_where_a_packet_shrinks_as_a_role_is_filled() -> None:
    """R22: three blocks, of which the second fills a role. Dropping from the end stops at two of them, although one
    is too much."""
    sizes = {0: 10, 1: 30, 2: 15, 3: 100}

    outcome = pack(
        single([CONDITIONAL] * 3),
        overflow=Overflow.OMIT_OPTIONAL,
        limits=[Limit(measure=Measure.BYTES, allowed=20)],
        measure=lambda kept: Sizes(bytes=sizes[len(kept)], tokens=None),
    )
    assert kept(outcome) == (0, 1)


@st.composite
def shrinking_packets(draw: st.DrawFn) -> tuple[list[Block], list[int]]:
    """Blocks, and the size of the packet of the first 0, 1, ... of them in packing order: larger with each block, but
    anything where a block is the first to fill a role, and for the complete selection."""
    tiers = draw(st.lists(st.sampled_from([*Tier, CONDITIONAL, CONDITIONAL, CONDITIONAL]), max_size=9))
    blocks = [
        Block(
            positions=(position,),
            tier=tier,
            roles=frozenset()
            if tier is BACKGROUND
            else draw(st.frozensets(st.sampled_from("uvwxyz"), min_size=tier is CONDITIONAL, max_size=2)),
        )
        for position, tier in enumerate(tiers)
    ]
    sizes, filled = [draw(st.integers(0, 40))], set[str]()
    for block in packing_order(blocks):
        anything = not block.roles <= filled or len(sizes) == len(blocks)
        sizes.append(draw(st.integers(0, 40)) if anything else sizes[-1] + draw(st.integers(1, 20)))
        filled |= block.roles
    return blocks, sizes


@settings(max_examples=200)
@given(packets=shrinking_packets(), data=st.data(), overflow=st.sampled_from(Overflow))
def test_what_is_kept_is_what_dropping_one_block_after_the_other_gives(
    packets: tuple[list[Block], list[int]], data: st.DataObject, overflow: Overflow
) -> None:
    """R22, against the definition, where packets do not only grow."""
    blocks, sizes = packets
    allowed = data.draw(st.sampled_from([0, *sizes]))
    order = [block.positions[0] for block in packing_order(blocks)]
    mandatory = sum(block.tier is MANDATORY for block in blocks)
    length = len(order)
    while length > mandatory and sizes[length] > allowed:
        length -= 1
    fits = sizes[length] <= allowed

    outcome = pack(
        blocks,
        overflow=overflow,
        limits=[Limit(measure=Measure.BYTES, allowed=allowed)],
        measure=lambda kept: Sizes(bytes=sizes[len(kept)], tokens=None),
    )
    if fits and (overflow is Overflow.OMIT_OPTIONAL or length == len(order)):
        assert kept(outcome) == tuple(sorted(order[:length]))
        assert isinstance(outcome, Packed)
        assert outcome.sizes.bytes == sizes[length]
    else:
        found = refused(outcome)
        assert (found.needed, found.mandatory_floor) == (sizes[-1], sizes[mandatory])
        assert found.would_fit == ((Overflow.OMIT_OPTIONAL,) if fits else ())


@given(packets=shrinking_packets(), allowed=st.integers(0, 60))
def test_every_size_that_a_refusal_states_was_measured_and_nothing_was_measured_twice(
    packets: tuple[list[Block], list[int]], allowed: int
) -> None:
    """R22: what was tried was really tried."""
    blocks, sizes = packets
    asked: list[int] = []

    def measure(kept: Sequence[int]) -> Sizes:
        asked.append(len(kept))
        return Sizes(bytes=sizes[len(kept)], tokens=None)

    limit = Limit(measure=Measure.BYTES, allowed=allowed)
    outcome = pack(blocks, overflow=Overflow.REFUSE, limits=[limit], measure=measure)
    assert len(set(asked)) == len(asked)
    assert [attempt.blocks for attempt in outcome.attempts] == asked
    if isinstance(outcome, Refused):
        assert {len(blocks), sum(block.tier is MANDATORY for block in blocks)} <= set(asked)
        assert bool(outcome.would_fit) is any(attempt.fits for attempt in outcome.attempts)


@pytest.mark.parametrize("tier", [CONFLICT, CONDITIONAL])
def test_many_units_for_one_role_cost_no_more_than_background(tier: Tier) -> None:
    """A role asked for by family may be filled by thousands of units, and a selection hold thousands of conflicts."""
    blocks = [Block(positions=(position,), tier=tier, roles=frozenset({"rule"})) for position in range(1000)]
    limit = Limit(measure=Measure.BYTES, allowed=600)

    outcome = pack(
        blocks,
        overflow=Overflow.OMIT_OPTIONAL,
        limits=[limit],
        measure=lambda kept: Sizes(bytes=len(kept), tokens=None),
    )
    assert kept(outcome) == tuple(range(600))
    assert len(outcome.attempts) <= 3 + 10


def test_a_unit_that_fills_a_role_is_kept_where_the_packet_is_larger_without_it() -> None:
    """R22: a packet that says which role is open may be larger than one that fills it."""
    sizes = {(): 100, (0,): 40, (0, 1): 60, (0, 1, 2): 90}

    def measure(kept: Sequence[int]) -> Sizes:
        return Sizes(bytes=sizes[tuple(kept)], tokens=None)

    limit = Limit(measure=Measure.BYTES, allowed=70)
    blocks = single([CONDITIONAL, BACKGROUND, BACKGROUND])
    omitting = pack(blocks, overflow=Overflow.OMIT_OPTIONAL, limits=[limit], measure=measure)
    refusing = pack(blocks, overflow=Overflow.REFUSE, limits=[limit], measure=measure)
    assert isinstance(omitting, Packed)
    assert omitting.kept == (0, 1)
    assert isinstance(refusing, Refused)
    assert refusing.would_fit == (Overflow.OMIT_OPTIONAL,)
