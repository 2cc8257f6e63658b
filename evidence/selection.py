"""Which of the ranked units are selected, and which does a cap leave out? (pure)"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evidence.identity import SourceKey, UnitKey

UNITS_PER_SOURCE = "units-per-source"
"""The name of the cap, for the record of what it leaves out (R16)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """Ranked units, divided. Each tuple is in rank order, and every unit is in one of them.

    capped: better than the last one selected, and left out by the cap. unselected: beyond the k that were asked for.
    """

    units: tuple[UnitKey, ...]
    capped: tuple[UnitKey, ...]
    unselected: tuple[UnitKey, ...]


def select(ranked: Sequence[UnitKey], *, k: int, units_per_source: int | None) -> Selected:
    """The best k, with at most `units_per_source` of any source; None is no cap. `ranked`: best first, none twice.

    A unit that the cap leaves out gives its place to the next one.

    >>> from evidence.identity import PUBLIC
    >>> a0, a1, b0 = UnitKey(PUBLIC, "A", "1", 0), UnitKey(PUBLIC, "A", "1", 1), UnitKey(PUBLIC, "B", "1", 0)
    >>> select([a0, a1, b0], k=2, units_per_source=1).units == (a0, b0)
    True
    """
    taken: Counter[SourceKey] = Counter()
    units: list[UnitKey] = []
    capped: list[UnitKey] = []
    place = 0
    while place < len(ranked) and len(units) < k:
        unit = ranked[place]
        source = unit.revision_key.source
        if units_per_source is not None and taken[source] == units_per_source:
            capped.append(unit)
        else:
            taken[source] += 1
            units.append(unit)
        place += 1
    return Selected(units=tuple(units), capped=tuple(capped), unselected=tuple(ranked[place:]))
