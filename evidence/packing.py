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

What is kept is what leaving out one block after the other, from the end, would first find to fit: the most that fits.
Every packet tried is rendered and measured whole, but most need not be tried, for a packet gets larger with each
block, save where the block is the first in the order to fill a role:

- its evidence and its handle are added; the complete selection, measured on its own, is the only packet that is not
  `cut` and may be exhaustive;
- a group that comes in names its members and is no longer `left_out`, which is shorter than the two or more units that
  say so;
- a role that is filled already, though by a conflict, gets one handle more;
- only a role that was open and is filled takes something away: that its claim is prohibited, and a claim's key may be
  longer than all that is added. Background fills no role.

In bytes that is certain for every renderer. In tokens it holds as long as the names of a unit's fields, some dozen
words, take more tokens than a tokenizer may save where two texts meet; where it did not, the packet kept would still
fit, and with one block more it would not.

So the order falls into stretches, one more than there are roles to be filled, and packets grow along each. From the
last stretch to the first, the smallest packet of each is tried. In the first one whose smallest fits, the cut is found
by halving.
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
    name="whole-units", version="1", order=(Tier.MANDATORY, Tier.CONFLICT, Tier.CONDITIONAL, Tier.BACKGROUND)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Units that are packed together or not at all.

    positions: of the selection, ascending; at least one. roles: those that its units fill.
    """

    positions: tuple[int, ...]
    tier: Tier
    roles: frozenset[str]


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
    roles: Sequence[Collection[str]],
    *,
    groups: Sequence[Collection[int]],
    mandatory: Collection[int],
    left_out: Collection[int] = (),
) -> tuple[Block, ...]:
    """The blocks of a selection, in selection order: by the first position of each.

    roles[p]: the roles that the unit at position p fills; one for each unit of the selection.
    groups: the positions of each conflict group; no position is in two of them.
    mandatory: the positions that touch a mandatory role.
    left_out: the positions that are out beforehand, as duplicates; no group holds one.
    """
    group_of = {position: together for group in groups for together in [tuple(sorted(group))] for position in together}
    blocks = []
    for position in range(len(roles)):
        positions = group_of.get(position, (position,))
        if position in left_out or position != positions[0]:
            continue
        filled = frozenset(role for member in positions for role in roles[member])
        tier = _tier(
            mandatory=any(member in mandatory for member in positions),
            in_conflict=position in group_of,
            fills=bool(filled),
        )
        blocks.append(Block(positions=positions, tier=tier, roles=filled))
    return tuple(blocks)


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
    best, too_many = None, len(order)
    for smallest in _smallest_of_stretches(order, mandatory):
        tried = attempt_first(smallest)
        if tried.fits:
            best = tried
            break
        too_many = smallest
    if overflow is Overflow.REFUSE or best is None:
        floor = next((tried for tried in attempts if tried.blocks == mandatory), None) or attempt_first(mandatory)
        limit = _limit_to_report(limits, complete, floor, overflow)
        return Refused(
            limit=limit,
            needed=limit.needed(complete.sizes),
            mandatory_floor=limit.needed(floor.sizes),
            tried=(Overflow.OMIT_OPTIONAL,),
            would_fit=() if best is None else (Overflow.OMIT_OPTIONAL,),
            attempts=tuple(attempts),
        )

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


def _tier(*, mandatory: bool, in_conflict: bool, fills: bool) -> Tier:
    if mandatory:
        return Tier.MANDATORY
    if in_conflict:
        return Tier.CONFLICT
    return Tier.CONDITIONAL if fills else Tier.BACKGROUND


def _positions(blocks: Sequence[Block]) -> tuple[int, ...]:
    return tuple(sorted(position for block in blocks for position in block.positions))


def _smallest_of_stretches(order: Sequence[Block], mandatory: int) -> list[int]:
    """How many blocks the smallest packet of each stretch holds, the last stretch first. A packet of fewer than all
    blocks, and of the mandatory ones at least, is larger than the next smaller one unless it is one of these."""
    filled = {role for block in order[:mandatory] for role in block.roles}
    smallest = [mandatory] if mandatory < len(order) else []
    for count, block in enumerate(order[mandatory:-1], start=mandatory + 1):
        if not block.roles <= filled:
            smallest.append(count)
            filled |= block.roles
    return smallest[::-1]


def _limit_to_report(limits: Sequence[Limit], complete: Attempt, floor: Attempt, overflow: Overflow) -> Limit:
    """The first limit that the complete selection breaks; where leaving units out was asked for and did not help,
    the first that the mandatory units break as well."""
    exceeded = broken(limits, complete.sizes)
    if overflow is Overflow.OMIT_OPTIONAL:
        hopeless = [limit for limit in exceeded if not limit.holds(floor.sizes)]
        return (hopeless or exceeded)[0]
    return exceeded[0]
