"""Which of the selected units survive when the packet is too large? (pure)

The rules, in plain words:

1. The complete selection is measured first. If it keeps every limit, nothing is left out.
2. Under `refuse` (the default) it is otherwise refused as a whole. Nothing is cut to make it fit.
3. Under `omit-optional`, units that fill no mandatory role may be left out, whole units only. They are put back one
   at a time behind the mandatory ones, in packing order; the first that does not fit ends it, so that what is left
   out is always the end of that order. A later, smaller unit is never slipped in.
4. A unit that fills a mandatory role is never left out. If these alone do not fit, the packet is refused.

Packing order decides what survives, not where it stands: the evidence keeps the order of the selection.

Each step is rendered and measured whole. No search by halving: it would trust that a packet with one unit less has
fewer tokens, which no tokenizer promises. The cost is one count for each unit that fits, whatever the selection's
size.
"""

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.budget import Limit, Sizes, broken
from evidence.canonical import Json


class Overflow(StrEnum):
    """What to do when the complete selection does not fit (R22)."""

    REFUSE = "refuse"
    OMIT_OPTIONAL = "omit-optional"


class Tier(StrEnum):
    """How much a unit matters to the requirements; the earlier one survives longer (R21)."""

    MANDATORY = "mandatory"  # fills a mandatory role
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
            "within_a_tier": "selection order",
            "evidence_order": "selection order",
        }


POLICY = PackingPolicy(name="whole-units", version="1", order=(Tier.MANDATORY, Tier.CONDITIONAL, Tier.BACKGROUND))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One packet that was rendered and measured: how many units it held, what it measured, whether it fits."""

    units: int
    sizes: Sizes
    fits: bool

    def record(self) -> dict[str, Json]:
        return {"units": self.units, **self.sizes.record(), "fits": self.fits}


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
    mandatory_floor: what the mandatory units alone need of it.
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


def packing_order(tiers: Sequence[Tier]) -> tuple[int, ...]:
    """The positions of the selection in the order in which they survive: by tier, then by place in the selection."""
    return tuple(sorted(range(len(tiers)), key=lambda position: (POLICY.order.index(tiers[position]), position)))


def pack(
    tiers: Sequence[Tier],
    *,
    overflow: Overflow,
    limits: Sequence[Limit],
    measure: Callable[[Sequence[int]], Sizes],
) -> Packed | Refused:
    """Decide what is kept. `tiers[p]` is the tier of the unit at position p of the selection.

    `measure` renders a packet of the positions it is given (ascending) and says what the whole body measures; it
    must give the same answer to the same positions.
    """
    attempts: list[Attempt] = []

    def attempt(positions: Sequence[int]) -> Attempt:
        sizes = measure(positions)
        attempts.append(Attempt(units=len(positions), sizes=sizes, fits=not broken(limits, sizes)))
        return attempts[-1]

    everything = range(len(tiers))
    complete = attempt(everything)
    if complete.fits:
        return Packed(kept=tuple(everything), dropped=(), sizes=complete.sizes, attempts=tuple(attempts))

    kept = [position for position in everything if tiers[position] is Tier.MANDATORY]
    floor = attempt(kept)
    if overflow is Overflow.REFUSE or not floor.fits:
        limit = _limit_to_report(limits, complete, floor, overflow)
        return Refused(
            limit=limit,
            needed=limit.needed(complete.sizes),
            mandatory_floor=limit.needed(floor.sizes),
            tried=(Overflow.OMIT_OPTIONAL,),
            would_fit=(Overflow.OMIT_OPTIONAL,) if floor.fits else (),
            attempts=tuple(attempts),
        )

    best = floor
    for position in packing_order(tiers)[len(kept) : -1]:  # with the last one it would be the complete selection
        larger = kept.copy()
        insort(larger, position)
        tried = attempt(larger)
        if not tried.fits:
            break
        kept, best = larger, tried
    dropped = tuple(sorted(set(everything) - set(kept)))
    return Packed(kept=tuple(kept), dropped=dropped, sizes=best.sizes, attempts=tuple(attempts))


def _limit_to_report(limits: Sequence[Limit], complete: Attempt, floor: Attempt, overflow: Overflow) -> Limit:
    """The first limit that the complete selection breaks; where leaving units out was asked for and did not help,
    the first that the mandatory units break as well."""
    exceeded = broken(limits, complete.sizes)
    if overflow is Overflow.OMIT_OPTIONAL:
        hopeless = [limit for limit in exceeded if not limit.holds(floor.sizes)]
        return (hopeless or exceeded)[0]
    return exceeded[0]
