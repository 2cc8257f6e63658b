"""Do the slots that are never trimmed fit at all, and where would they? (pure)

Instructions are not squeezed to make room (R25): where they do not fit, the question belongs to another query class or
another model, and the answer names those under which it would fit. Each one named was really tried.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evidence.budget import Limit, Measure, broken
from evidence.canonical import Json
from evidence.draft import Draft
from evidence.means import Alternative, Means
from evidence.prompt import Excess, excesses
from evidence.request import PacketRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteFailure:
    """The first limit that the slots beside the evidence break, with no evidence in place.

    needed: what they need of its measure; nothing can be left out of that. tried, would_fit: `class:NAME` and
    `model:NAME`, in order.
    """

    measure: Measure
    needed: int
    allowed: int
    tried: tuple[str, ...]
    would_fit: tuple[str, ...]

    def record(self) -> dict[str, Json]:
        return {
            "measure": self.measure.value,
            "needed": self.needed,
            "limit": self.allowed,
            "over": self.needed - self.allowed,
            "mandatory_floor": self.needed,
            "tried": list(self.tried),
            "would_fit": list(self.would_fit),
        }


Draw = Callable[[PacketRequest, Means], tuple[Draft, Sequence[Limit]]]
"""The draft of a request under other means, and the limits that it has there."""


def find_route_failure(drafted: Draft, limits: Sequence[Limit], *, means: Means, draw: Draw) -> RouteFailure | None:
    """Why the prompt of a draft does not fit, whatever evidence is packed; None where it fits, or there is none.

    limits: on the whole input; without them the slots alone are looked at, each against its own budget.
    """
    excess = _first_excess(drafted, limits)
    if excess is None:
        return None
    return RouteFailure(
        measure=excess.measure,
        needed=excess.needed,
        allowed=excess.allowed,
        tried=tuple(alternative.name for alternative in means.alternatives),
        would_fit=tuple(alternative.name for alternative in means.alternatives if _fits(alternative, draw)),
    )


def _fits(alternative: Alternative, draw: Draw) -> bool:
    prepared = alternative.prepare()
    return prepared is not None and _first_excess(*draw(*prepared)) is None


def _first_excess(drafted: Draft, limits: Sequence[Limit]) -> Excess | None:
    if drafted.prompt is None:
        return None
    if drafted.meter is not None:
        over = excesses(drafted.prompt, write=drafted.renderer.segment, count=drafted.meter.count)
        if over:
            return over[0]
    sizes = drafted.sizes(())
    for limit in broken([limit for limit in limits if limit.measure is not Measure.EVIDENCE_SLOT], sizes):
        return Excess(measure=limit.measure, needed=limit.needed(sizes), allowed=limit.allowed)
    return None
