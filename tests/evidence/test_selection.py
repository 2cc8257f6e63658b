"""Which ranked units are selected, under a cap on each source (R16)."""

import pytest

from evidence.identity import UnitKey
from evidence.selection import Selected, select
from tests.builders import BLUE, RED

A0, A1, A2 = (UnitKey(BLUE, "A", "1", ordinal) for ordinal in range(3))
B0, B1 = (UnitKey(BLUE, "B", "1", ordinal) for ordinal in range(2))
RANKED = [A0, A1, B0, A2, B1]


def test_without_a_cap_the_best_k_are_selected() -> None:
    assert select(RANKED, k=2, units_per_source=None) == Selected(units=(A0, A1), capped=(), unselected=(B0, A2, B1))


def test_what_the_cap_leaves_out_gives_its_place_to_the_next() -> None:
    assert select(RANKED, k=2, units_per_source=1) == Selected(units=(A0, B0), capped=(A1,), unselected=(A2, B1))


def test_a_cap_may_leave_fewer_than_k() -> None:
    found = select(RANKED, k=4, units_per_source=1)

    assert found.units == (A0, B0)
    assert found.capped == (A1, A2, B1)


def test_the_cap_counts_every_revision_of_a_source_together_and_no_other_namespace() -> None:
    older, foreign = UnitKey(BLUE, "A", "0", 0), UnitKey(RED, "A", "1", 0)

    assert select([A0, older, foreign], k=3, units_per_source=1).units == (A0, foreign)


@pytest.mark.parametrize("k", range(7))
@pytest.mark.parametrize("units_per_source", [None, 1, 2, 3])
def test_every_ranked_unit_is_in_one_part_and_keeps_its_order(k: int, units_per_source: int | None) -> None:
    found = select(RANKED, k=k, units_per_source=units_per_source)

    parts = (found.units, found.capped, found.unselected)
    assert sorted(unit for part in parts for unit in part) == sorted(RANKED)
    assert all(list(part) == [unit for unit in RANKED if unit in part] for part in parts)
