"""Tests of index/catalog_keys.py: every key that is asked for is found, however many fit into one statement."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence.eligibility import Standing
from evidence.identity import PUBLIC, RevisionKey
from index.catalog_keys import KEYS_AT_ONCE
from index.catalog_read import Reading
from index.live import live_standings
from tests.index.catalog_builders import catalog, eligibility, revision, scope

COUNTS = (0, 1, KEYS_AT_ONCE - 1, KEYS_AT_ONCE, KEYS_AT_ONCE + 1, 2 * KEYS_AT_ONCE + 1)
SOURCES = [revision(f"s{number:02}", f"one of {number}", f"two of {number}") for number in range(max(COUNTS))]
KEYS = [one.facts.key for one in SOURCES]
SUPERSEDING = [revision(f"t{key.source_id}", "newer", supersedes=[key]) for key in KEYS[::2]]


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reading]:
    folder: Path = tmp_path_factory.mktemp("keys") / "c"
    with catalog(folder, [*SOURCES, *SUPERSEDING]) as made, made.read() as state:
        yield state


@pytest.mark.parametrize("count", COUNTS)
def test_each_unit_asked_for_is_read_once_and_no_other(reading: Reading, count: int) -> None:
    asked = [one.units[place % 2] for place, one in enumerate(SOURCES[:count])][::-1]

    assert reading.units([unit.key for unit in asked]) == asked


@pytest.mark.parametrize("count", COUNTS)
def test_each_revision_asked_for_is_judged_with_what_supersedes_it(reading: Reading, count: int) -> None:
    """R4."""
    found = live_standings(reading, KEYS[:count], eligibility(scope()))

    expected = [Standing.STALE if place % 2 == 0 else Standing.USABLE for place in range(count)]
    assert [standing for _, standing in found.values()] == expected
    assert list(found) == KEYS[:count]


def test_a_revision_that_is_not_there_costs_no_other_one_its_answer(reading: Reading) -> None:
    absent = RevisionKey(PUBLIC, "s00x", "1")

    assert list(live_standings(reading, [*KEYS, absent], eligibility(scope()))) == KEYS
