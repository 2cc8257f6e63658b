"""Which of the selected units survive when the packet is too large? (pure)

The rules, in plain words:

1. What is packed is blocks: a conflict group is one block, and so is every unit outside of one. A block is in the
   packet whole, or not at all (R19).
2. The complete selection is measured first. If it keeps every limit, nothing is left out.
3. Under `refuse` (the default) it is otherwise refused as a whole. Nothing is cut to make it fit.
4. Under `omit-optional`, blocks that touch no mandatory role may be left out, from the end of the packing order:
   mandatory evidence, conflict groups, evidence that fills other roles, background. What is left out is always the
   end of that order: a later, smaller block is never slipped in.
5. A block that touches a mandatory role is never left out. If no packet that holds these all fits, it is refused.

Packing order decides what survives, not where it stands: the evidence keeps the order of the selection.

Where the cut falls is found by halving, and every packet tried is rendered and measured whole: the packet kept fits,
and with one block more it does not. Packets mostly grow with their blocks. They may shrink where one fills a role, or
completes a conflict, and the packet need no longer say that it is open or left out: so where the mandatory blocks
alone do not fit, the packets with others that are no background are tried one by one.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.budget import Limit, Sizes, broken
from evidence.canonical import Json


class Overflow(StrEnum):
    """What to do when the complete selection does not fit (R22)."""

    REFUSE = "refuse"
    OMIT_OPTIONAL = "omit-optional"


class Tier(StrEnum):
    """How much a block matters; the earlier one survives longer (R21)."""

    MANDATORY = "mandatory"  # touches a mandatory role
    CONFLICT = "conflict"  # a conflict group that touches no mandatory role
    CONDITIONAL = "conditional"  # fills a role, and no mandatory one
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingPolicy:
    """The name under which these rules are recorded, and the order in which units survive."""

    name: str
    version: str
    order: tuple[Tier, ...]

    def record(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "version": self.version,
            "order": [tier.value for tier in self.order],
            "block": "a conflict group, or one unit",
            "within_a_tier": "selection order",
            "evidence_order": "selection order",
        }


POLICY = PackingPolicy(
    name="whole-units", version="2", order=(Tier.MANDATORY, Tier.CONFLICT, Tier.CONDITIONAL, Tier.BACKGROUND)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Units that are packed together or not at all. `positions` of the selection, ascending; at least one."""

    positions: tuple[int, ...]
    tier: Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One packet that was rendered and measured: what it held, what it measured, whether it fits."""

    blocks: int
    units: int
    sizes: Sizes
    fits: bool

    def record(self) -> dict[str, Json]:
        return {"blocks": self.blocks, "units": self.units, **self.sizes.record(), "fits": self.fits}


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """An accepted packing. `kept` and `dropped` are positions in the selection, ascending."""

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    sizes: Sizes
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The packet does not fit under the policy asked for.

    limit: the first limit that is broken. needed: what the complete selection needs of its measure.
    mandatory_floor: what the mandatory blocks alone need of it.
    tried: the policies that were really tried; would_fit: those of them that give a packet.
    """

    limit: Limit
    needed: int
    mandatory_floor: int
    tried: tuple[Overflow, ...]
    would_fit: tuple[Overflow, ...]
    attempts: tuple[Attempt, ...]

    def record(self) -> dict[str, Json]:
        return {
            "measure": self.limit.measure.value,
            "needed": self.needed,
            "limit": self.limit.allowed,
            "over": self.needed - self.limit.allowed,
            "mandatory_floor": self.mandatory_floor,
            "tried": [policy.value for policy in self.tried],
            "would_fit": [policy.value for policy in self.would_fit],
        }


def blocks_of(
    units: int,
    *,
    groups: Sequence[Collection[int]],
    mandatory: Collection[int],
    conditional: Collection[int],
    left_out: Collection[int] = (),
) -> tuple[Block, ...]:
    """The blocks of a selection of so many units, in selection order: by the first position of each.

    groups: the positions of each conflict group; no position is in two of them.
    mandatory, conditional: the positions that touch a mandatory role; that fill another one.
    left_out: the positions that are out beforehand, as duplicates; no group holds one.
    """
    group_of = {position: tuple(sorted(group)) for group in groups for position in group}
    together = dict.fromkeys(
        group_of.get(position, (position,)) for position in range(units) if position not in left_out
    )
    return tuple(
        Block(positions=positions, tier=_tier(positions, group_of, mandatory, conditional)) for positions in together
    )


def packing_order(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks in the order in which they survive: by tier, then by place in the selection."""
    return tuple(sorted(blocks, key=lambda block: (POLICY.order.index(block.tier), block.positions)))


def pack(
    blocks: Sequence[Block],
    *,
    overflow: Overflow,
    limits: Sequence[Limit],
    measure: Callable[[Sequence[int]], Sizes],
) -> Packed | Refused:
    """Decide what is kept of the selection that the blocks make up; no position is in two of them.

    `measure` renders a packet of the positions it is given (ascending) and says what the whole body measures; it
    must give the same answer to the same positions.
    """
    order = packing_order(blocks)
    attempts: list[Attempt] = []

    def attempt_first(count: int) -> Attempt:
        positions = _positions(order[:count])
        sizes = measure(positions)
        fits = not broken(limits, sizes)
        attempts.append(Attempt(blocks=count, units=len(positions), sizes=sizes, fits=fits))
        return attempts[-1]

    complete = attempt_first(len(order))
    if complete.fits:
        return Packed(kept=_positions(order), dropped=(), sizes=complete.sizes, attempts=tuple(attempts))

    mandatory = sum(block.tier is Tier.MANDATORY for block in order)
    not_background = sum(block.tier is not Tier.BACKGROUND for block in order)
    floor = attempt_first(mandatory)
    fitting = _first_that_fits(attempt_first, floor, mandatory, min(not_background, len(order) - 1))
    if overflow is Overflow.REFUSE or fitting is None:
        limit = _limit_to_report(limits, complete, floor, overflow)
        return Refused(
            limit=limit,
            needed=limit.needed(complete.sizes),
            mandatory_floor=limit.needed(floor.sizes),
            tried=(Overflow.OMIT_OPTIONAL,),
            would_fit=() if fitting is None else (Overflow.OMIT_OPTIONAL,),
            attempts=tuple(attempts),
        )

    best, too_many = fitting, len(order)
    while too_many - best.blocks > 1:
        tried = attempt_first((best.blocks + too_many) // 2)
        if tried.fits:
            best = tried
        else:
            too_many = tried.blocks
    return Packed(
        kept=_positions(order[: best.blocks]),
        dropped=_positions(order[best.blocks :]),
        sizes=best.sizes,
        attempts=tuple(attempts),
    )


def _tier(
    positions: Sequence[int],
    groups: Collection[int],
    mandatory: Collection[int],
    conditional: Collection[int],
) -> Tier:
    """`groups`: every position that is in a conflict group."""
    if any(position in mandatory for position in positions):
        return Tier.MANDATORY
    if positions[0] in groups:
        return Tier.CONFLICT
    return Tier.CONDITIONAL if positions[0] in conditional else Tier.BACKGROUND


def _positions(blocks: Sequence[Block]) -> tuple[int, ...]:
    return tuple(sorted(position for block in blocks for position in block.positions))


def _first_that_fits(
    attempt_first: Callable[[int], Attempt], floor: Attempt, mandatory: int, not_background: int
) -> Attempt | None:
    """The mandatory blocks alone, or the most of those that are no background, in packing order, that fit."""
    if floor.fits:
        return floor
    return next((tried for count in range(not_background, mandatory, -1) if (tried := attempt_first(count)).fits), None)


def _limit_to_report(limits: Sequence[Limit], complete: Attempt, floor: Attempt, overflow: Overflow) -> Limit:
    """The first limit that the complete selection breaks; where leaving units out was asked for and did not help,
    the first that the mandatory units break as well."""
    exceeded = broken(limits, complete.sizes)
    if overflow is Overflow.OMIT_OPTIONAL:
        hopeless = [limit for limit in exceeded if not limit.holds(floor.sizes)]
        return (hopeless or exceeded)[0]
    return exceeded[0]
