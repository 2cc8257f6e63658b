"""Which relations are tried, over how many worlds?"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

from hypothesis import strategies as st

from tests.noninterference.bench import Bench
from tests.noninterference.company_suite import COMPANY, SESSION
from tests.noninterference.corner_worlds import corner_cases
from tests.noninterference.curators import curator_cases, own_namespace_only
from tests.noninterference.following import next_asked
from tests.noninterference.generators import Case, cases
from tests.noninterference.histories_suite import BACKENDS, PERMUTED, REBUILT
from tests.noninterference.relations import Relation, visible_only
from tests.noninterference.relations_of_names import CALLERS, PLACES, foreign_names, replayed_alike
from tests.noninterference.trying import over, over_cases, try_case

CURATED = 8  # one world in so many is a curator's


def _visible_only(bench: Bench, worlds: int) -> None:
    """Of readers, and of curators, who see everything of their own namespace."""

    def hold(case: Case) -> None:
        follow = next_asked if case.follow else None
        visible_only(bench, case.world, case.view, case.requests, follow=follow)

    def hold_of_curator(case: Case) -> None:
        try_case(lambda one: own_namespace_only(bench, one), case, shrink=bench.shrink)

    curated = worlds // CURATED
    over_cases(hold, worlds - curated, shrink=bench.shrink)
    over(hold_of_curator, curated, first=(), drawn=curator_cases())


def _foreign_names(bench: Bench, worlds: int) -> None:
    """In the first worlds every place that takes a name, in each of the others some."""

    def hold(case: Case, places: Collection[int]) -> None:
        foreign_names(bench, case.world, case.asker, places)
        if 0 in places:
            replayed_alike(bench, case.world, case.asker)

    def tried(named: tuple[Case, Collection[int]]) -> None:
        case, places = named
        try_case(partial(hold, places=places), case, shrink=bench.shrink)

    small = islice(corner_cases(), 3, None)
    first = ((replace(case, asker=caller), range(PLACES)) for case, caller in zip(small, CALLERS[:2], strict=False))
    some = st.frozensets(st.integers(0, PLACES - 1), min_size=1, max_size=3)
    over(tried, worlds, first=first, drawn=st.tuples(cases(viewpoints=CALLERS), some))


SUITE: Mapping[Relation, Callable[[Bench, int], None]] = {
    Relation.M1: _visible_only,
    Relation.M2: REBUILT,
    Relation.M3: COMPANY,
    Relation.M4: BACKENDS,
    Relation.M5: PERMUTED,
    Relation.M6: SESSION,
    Relation.M7: _foreign_names,
}
"""Each relation over so many worlds. Raises Difference where it does not hold."""
IN_EVERY_RUN: Mapping[Relation, int] = {
    Relation.M1: 300,
    Relation.M2: 40,
    Relation.M3: 40,
    Relation.M4: 14,
    Relation.M5: 40,
    Relation.M6: 40,
    Relation.M7: 40,
}
"""Worlds of each relation in an ordinary run of the tests, those of other callers and of the command line apart."""
