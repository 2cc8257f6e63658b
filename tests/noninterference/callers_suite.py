"""Who asked before, in the worlds of the suite?"""

from tests.noninterference.bench import Bench
from tests.noninterference.chance import random_of
from tests.noninterference.following import next_asked
from tests.noninterference.generators import Case
from tests.noninterference.relations_of_callers import after_others, others_than, while_others_wrote
from tests.noninterference.trying import over_cases

OTHERS_AT_ONCE = 3  # of those who could be mistaken for the caller; all take their turn over the worlds
REQUESTS_AT_ONCE = 3


def among_others(bench: Bench, worlds: int) -> None:
    """M6 over so many worlds, of callers on one application; every second one grew meanwhile."""

    def hold(case: Case) -> None:
        random = random_of(case)
        others = random.sample(others_than(case.asker), OTHERS_AT_ONCE)
        relation = after_others if random.random() < 0.5 else while_others_wrote
        follow = next_asked if case.follow else None
        relation(bench, case.world, case.asker, others, case.requests[:REQUESTS_AT_ONCE], follow=follow)

    over_cases(hold, worlds, shrink=bench.shrink)


OTHERS = among_others
