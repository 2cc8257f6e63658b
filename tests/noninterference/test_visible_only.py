"""Is the answer over everything the answer over what is visible? (M1, R6)"""

from tests.noninterference.bench import Bench
from tests.noninterference.relations import Relation
from tests.noninterference.suite import IN_EVERY_RUN, SUITE


def test_nothing_that_is_hidden_changes_one_byte(bench: Bench) -> None:
    SUITE[Relation.M1](bench, IN_EVERY_RUN[Relation.M1])
