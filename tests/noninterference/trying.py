"""How are many cases tried, the same ones in every run?

Those by hand first, then drawn ones, without a database and from a fixed seed.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeVar

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from evidence.errors import InvalidSource
from index.errors import IngestRefused
from tests.noninterference.bench import Difference
from tests.noninterference.corner_worlds import corner_cases
from tests.noninterference.generators import Case, cases
from tests.noninterference.smaller import smallest

Tried = TypeVar("Tried")


def over_cases(hold: Callable[[Case], None], worlds: int, *, shrink: bool) -> None:
    """Call `hold` with so many cases, those by hand first. Raises as `try_case` does."""
    over(lambda case: try_case(hold, case, shrink=shrink), worlds, first=corner_cases(), drawn=cases())


def try_case(hold: Callable[[Case], None], case: Case, *, shrink: bool) -> None:
    """Call `hold`. A Difference that it raises is raised with the case told: as it is or, with `shrink`, made as small
    as it gets while `hold` still raises one."""
    try:
        hold(case)
    except Difference as difference:
        told, found = _smaller(hold, case, difference) if shrink else (case, difference)
        raise Difference(f"{found}\n{told}") from None


def over(
    hold: Callable[[Tried], None], worlds: int, *, first: Iterable[Tried], drawn: st.SearchStrategy[Tried]
) -> None:
    """Call `hold` with so many cases of any kind, no two alike: `first` in order, then drawn ones. The first Difference
    ends it. Raises AssertionError where there were fewer."""
    by_hand = list(islice(first, worlds))
    met = set(map(repr, by_hand))
    raised: list[Difference] = []
    for case in by_hand:
        hold(case)
    if worlds == len(by_hand):
        return

    @settings(
        max_examples=worlds - len(by_hand),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # cases get smaller by rules of their own, which know what their parts are
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=drawn)
    def each(case: Tried) -> None:
        if raised:
            raise raised[0]  # what was drawn last is tried again, to see that it was no accident: no need here
        assume(repr(case) not in met)  # another one is drawn instead
        met.add(repr(case))
        try:
            hold(case)
        except Difference as difference:
            raised.append(difference)
            raise

    each()
    if len(met) < worlds:
        raise AssertionError(f"only {len(met)} of {worlds} cases were found that are not alike")


def _smaller(hold: Callable[[Case], None], case: Case, difference: Difference) -> tuple[Case, Difference]:
    """The smallest case, and what it raised."""
    found = [difference]

    def fails(smaller: Case) -> bool:
        try:
            hold(smaller)
        except Difference as one:
            found.append(one)
            return True
        except (InvalidSource, IngestRefused):  # what is left is no world
            return False
        return False

    return smallest(case, fails), found[-1]
