"""Conflict groups are packed all or none (R19, R21, R22)."""

from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from evidence.budget import Limit, Measure, Sizes
from evidence.packing import Block, Overflow, Packed, Refused, Tier, blocks_of, pack, packing_order

MANDATORY, CONFLICT, CONDITIONAL, BACKGROUND = Tier.MANDATORY, Tier.CONFLICT, Tier.CONDITIONAL, Tier.BACKGROUND


def block(tier: Tier, *positions: int, roles: Iterable[str] = ()) -> Block:
    return Block(positions=positions, tier=tier, roles=frozenset(roles))


def packed(
    blocks: Sequence[Block], *, room: int, overflow: Overflow = Overflow.OMIT_OPTIONAL, weights: Sequence[int] = ()
) -> Packed | Refused:
    """The packing with room for so many units of weight one, or of these weights by position."""

    def measure(kept: Sequence[int]) -> Sizes:
        assert list(kept) == sorted(set(kept))
        return Sizes(bytes=sum(weights[position] if weights else 1 for position in kept), tokens=None)

    return pack(blocks, overflow=overflow, limits=[Limit(measure=Measure.BYTES, allowed=room)], measure=measure)


def kept(outcome: Packed | Refused) -> tuple[int, ...]:
    assert isinstance(outcome, Packed)
    return outcome.kept


def test_a_group_is_one_block_at_the_place_of_its_first_unit() -> None:
    assert blocks_of([[], [], [], [], ["note"]], groups=[{3, 1}], mandatory=()) == (
        block(BACKGROUND, 0),
        block(CONFLICT, 1, 3),
        block(BACKGROUND, 2),
        block(CONDITIONAL, 4, roles=["note"]),
    )


def test_a_group_with_one_unit_that_fills_a_mandatory_role_is_mandatory_whole() -> None:
    """R19."""
    assert blocks_of([["note"], [], ["limit"]], groups=[[0, 2]], mandatory=[2]) == (
        block(MANDATORY, 0, 2, roles=["limit", "note"]),
        block(BACKGROUND, 1),
    )


def test_a_group_that_fills_only_other_roles_stays_a_conflict() -> None:
    """R21: conflict groups go before conditional evidence."""
    assert blocks_of([[], ["note"], ["rule"]], groups=[[0, 1]], mandatory=()) == (
        block(CONFLICT, 0, 1, roles=["note"]),
        block(CONDITIONAL, 2, roles=["rule"]),
    )


def test_a_unit_that_touches_a_mandatory_role_and_fills_none_is_mandatory() -> None:
    """R19: its claim is overruled."""
    assert blocks_of([[]], groups=[], mandatory=[0]) == (block(MANDATORY, 0),)


def test_duplicates_are_in_no_block() -> None:
    """R21."""
    blocks = blocks_of([[], [], ["limit"]], groups=[], mandatory=[2], left_out=[1])

    assert blocks == (block(BACKGROUND, 0), block(MANDATORY, 2, roles=["limit"]))


def test_a_group_that_does_not_fit_is_left_out_whole() -> None:
    """R19: there is room for one of its two units."""
    outcome = packed([block(CONFLICT, 0, 1)], room=1)

    assert isinstance(outcome, Packed)
    assert (outcome.kept, outcome.dropped) == ((), (0, 1))


def test_a_group_stays_whole_where_single_units_would_have_been_cut() -> None:
    blocks = [block(BACKGROUND, 0), block(CONFLICT, 1, 2, 3), block(BACKGROUND, 4)]

    assert kept(packed(blocks, room=4)) == (0, 1, 2, 3)
    assert kept(packed(blocks, room=3)) == (1, 2, 3)
    assert kept(packed(blocks, room=2)) == ()


def test_nothing_smaller_is_slipped_in_for_a_group_that_was_left_out() -> None:
    """R22: what is dropped is the end of the packing order, and the group stands before the background."""
    assert kept(packed([block(BACKGROUND, 0), block(CONFLICT, 1, 2)], room=1)) == ()


def test_a_mandatory_group_that_does_not_fit_is_refused_and_not_halved() -> None:
    outcome = packed([block(MANDATORY, 0, 1), block(BACKGROUND, 2)], room=1)

    assert isinstance(outcome, Refused)
    assert (outcome.needed, outcome.mandatory_floor, outcome.would_fit) == (3, 2, ())


def test_a_refusal_tries_to_leave_the_group_out_whole() -> None:
    """R22: each policy that would fit was really tried."""
    outcome = packed([block(MANDATORY, 0), block(CONFLICT, 1, 2)], room=2, overflow=Overflow.REFUSE)

    assert isinstance(outcome, Refused)
    assert outcome.would_fit == (Overflow.OMIT_OPTIONAL,)
    assert (1, 1, True) in [(tried.blocks, tried.units, tried.fits) for tried in outcome.attempts]


def test_the_trace_counts_blocks_and_units() -> None:
    outcome = packed([block(CONFLICT, 0, 1, 2), block(BACKGROUND, 3)], room=3)

    assert isinstance(outcome, Packed)
    assert [attempt.record() for attempt in outcome.attempts] == [
        {"blocks": 2, "units": 4, **Sizes(bytes=4, tokens=None).record(), "fits": False},
        {"blocks": 0, "units": 0, **Sizes(bytes=0, tokens=None).record(), "fits": True},
        {"blocks": 1, "units": 3, **Sizes(bytes=3, tokens=None).record(), "fits": True},
    ]


@st.composite
def selections(draw: st.DrawFn) -> tuple[tuple[Block, ...], list[int]]:
    """Blocks of a selection of up to a dozen units, some in groups, with a weight for each unit."""
    weights = draw(st.lists(st.integers(0, 9), max_size=12))
    shuffled = draw(st.permutations(range(len(weights))))
    groups, at = [], 0
    for size in draw(st.lists(st.integers(2, 4), max_size=3)):
        if at + size <= len(shuffled):
            groups.append(shuffled[at : at + size])
            at += size
    positions = st.frozensets(st.sampled_from(range(len(weights)))) if weights else st.just(frozenset[int]())
    blocks = blocks_of(
        draw(st.lists(st.sets(st.sampled_from("xyz"), max_size=2), min_size=len(weights), max_size=len(weights))),
        groups=groups,
        mandatory=draw(positions),
        left_out=draw(positions) - {position for group in groups for position in group},
    )
    return blocks, weights


@given(of=selections(), room=st.integers(0, 60))
def test_what_is_dropped_is_the_end_of_the_packing_order_in_whole_blocks(
    of: tuple[tuple[Block, ...], list[int]], room: int
) -> None:
    """R19, R22, against the definition tried out block by block."""
    blocks, weights = of
    order = packing_order(blocks)
    mandatory = sum(block.tier is MANDATORY for block in blocks)

    def weight(count: int) -> int:
        return sum(weights[position] for block in order[:count] for position in block.positions)

    fitting = [count for count in range(mandatory, len(order) + 1) if weight(count) <= room]
    outcome = packed(blocks, room=room, weights=weights)
    if not fitting:
        assert isinstance(outcome, Refused)
        return
    assert isinstance(outcome, Packed)
    assert set(outcome.kept) == {position for block in order[: fitting[-1]] for position in block.positions}
    assert set(outcome.dropped) == {position for block in order[fitting[-1] :] for position in block.positions}


@given(of=selections(), room=st.integers(0, 60), overflow=st.sampled_from(Overflow))
def test_no_group_is_ever_halved_and_no_mandatory_unit_ever_dropped(
    of: tuple[tuple[Block, ...], list[int]], room: int, overflow: Overflow
) -> None:
    blocks, weights = of

    outcome = packed(blocks, room=room, weights=weights, overflow=overflow)
    if isinstance(outcome, Packed):
        for block in blocks:
            included = [position for position in block.positions if position in outcome.kept]
            assert included in ([], list(block.positions))
            assert included or block.tier is not MANDATORY


@given(of=selections(), room=st.integers(0, 60))
def test_with_one_block_more_the_packet_does_not_fit_and_was_measured(
    of: tuple[tuple[Block, ...], list[int]], room: int
) -> None:
    blocks, weights = of
    outcome = packed(blocks, room=room, weights=weights)

    if isinstance(outcome, Packed) and outcome.dropped:
        kept_blocks = sum(block.positions[0] in outcome.kept for block in blocks)
        assert [(kept_blocks + 1, False), (kept_blocks, True)] == sorted(
            {
                (tried.blocks, tried.fits)
                for tried in outcome.attempts
                if tried.blocks in (kept_blocks, kept_blocks + 1)
            },
            reverse=True,
        )


@given(of=selections(), room=st.integers(0, 60), data=st.data())
def test_the_order_in_which_blocks_are_given_changes_nothing(
    of: tuple[tuple[Block, ...], list[int]], room: int, data: st.DataObject
) -> None:
    blocks, weights = of

    shuffled = data.draw(st.permutations(blocks))
    assert packed(shuffled, room=room, weights=weights) == packed(blocks, room=room, weights=weights)
