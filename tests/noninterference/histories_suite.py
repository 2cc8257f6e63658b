"""Over how many histories, intakes and backends does an answer stay what it is? (M2, M4, M5)

Each relation first over those made by hand, since hardly any fault in how an index grows survives them; then over
drawn ones, the same in every run.
"""

from collections.abc import Callable

from tests.noninterference.bench import Bench
from tests.noninterference.corner_histories import Lived, lived_by_hand
from tests.noninterference.drawn_histories import (
    Permuted,
    Served,
    drawn,
    lived,
    permuted_by_hand,
    permuted_case,
    served_by_hand,
    served_case,
)
from tests.noninterference.relations_of_backends import backends
from tests.noninterference.relations_of_histories import exported, rebuilt
from tests.noninterference.relations_of_intake import permuted
from tests.noninterference.telling import less_asked, shorter, told
from tests.noninterference.trying import over


def _rebuilt(bench: Bench, worlds: int) -> None:
    def hold(tried: Lived) -> None:
        if tried.exported:
            exported(bench, tried.case, tried.history)
            return
        rebuilt(bench, tried.case, tried.history, layout=tried.layout, checked=tried.checked, seen=tried.seen)

    over(told(hold, shorter, shrink=bench.shrink), worlds, first=lived_by_hand(), drawn=drawn(lived))


def _permuted(bench: Bench, worlds: int) -> None:
    def hold(tried: Permuted) -> None:
        permuted(bench, tried.case.world, tried.case.requests, tried.one, tried.other)

    over(told(hold, less_asked, shrink=bench.shrink), worlds, first=permuted_by_hand(), drawn=drawn(permuted_case))


def _backends(bench: Bench, worlds: int) -> None:
    def hold(tried: Served) -> None:
        backends(bench, tried.case.world, tried.case.requests, layout=tried.layout)

    over(told(hold, less_asked, shrink=bench.shrink), worlds, first=served_by_hand(), drawn=drawn(served_case))


REBUILT: Callable[[Bench, int], None] = _rebuilt
"""M2 over so many histories. Raises Difference where it does not hold; so do the others."""
PERMUTED: Callable[[Bench, int], None] = _permuted
"""M5 over so many worlds."""
BACKENDS: Callable[[Bench, int], None] = _backends
"""M4 over so many worlds."""
