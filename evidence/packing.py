"""Which of the selected units survive when the packet is too large? (pure)

The rules, in plain words:

1. The complete selection is measured first. If it keeps every limit, nothing is left out.
2. Under `refuse` (the default) it is otherwise refused as a whole. Nothing is cut to make it fit.
3. Under `omit-optional`, units that fill no mandatory role may be left out, whole units only, from the end of the
   packing order. What is left out is always the end of that order: a later, smaller unit is never slipped in.
4. A unit that fills a mandatory role is never left out. If no packet that holds these all fits, it is refused.

Packing order decides what survives, not where it stands: the evidence keeps the order of the selection.

Where the cut falls is found by halving, and every packet tried is rendered and measured whole: the packet kept fits,
and with one unit more it does not. Packets mostly grow with their units. They may shrink where a unit fills a role,
and the packet need no longer say that it is open: so where the mandatory units alone do not fit, the packets with
units that fill other roles are tried one by one.
"""

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

    order = packing_order(tiers)
    mandatory = sum(tier is Tier.MANDATORY for tier in tiers)
    filling = sum(tier is not Tier.BACKGROUND for tier in tiers)

    def attempt_first(count: int) -> Attempt:
        return attempt(sorted(order[:count]))

    floor = attempt_first(mandatory)
    fitting = _first_that_fits(attempt_first, floor, mandatory, min(filling, len(tiers) - 1))
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

    best, too_many = fitting, len(tiers)
    while too_many - best.units > 1:
        tried = attempt_first((best.units + too_many) // 2)
        if tried.fits:
            best = tried
        else:
            too_many = tried.units
    kept = tuple(sorted(order[: best.units]))
    dropped = tuple(sorted(set(everything) - set(kept)))
    return Packed(kept=kept, dropped=dropped, sizes=best.sizes, attempts=tuple(attempts))


def _first_that_fits(
    attempt_first: Callable[[int], Attempt], floor: Attempt, mandatory: int, filling: int
) -> Attempt | None:
    """The mandatory units alone, or the most of the units that fill a role, in packing order, that fit."""
    if floor.fits:
        return floor
    return next((tried for count in range(filling, mandatory, -1) if (tried := attempt_first(count)).fits), None)


def _limit_to_report(limits: Sequence[Limit], complete: Attempt, floor: Attempt, overflow: Overflow) -> Limit:
    """The first limit that the complete selection breaks; where leaving units out was asked for and did not help,
    the first that the mandatory units break as well."""
    exceeded = broken(limits, complete.sizes)
    if overflow is Overflow.OMIT_OPTIONAL:
        hopeless = [limit for limit in exceeded if not limit.holds(floor.sizes)]
        return (hopeless or exceeded)[0]
    return exceeded[0]
