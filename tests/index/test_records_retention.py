"""Tests of `index/records_retention.py`: what goes, what stays, and what is said of what went."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence.canonical import digest
from evidence.instant import Instant
from index import records_retention
from index.records import Records
from index.records_retention import Removed, prune, removed
from tests.index.test_records import BLUE, RED, answered, run_ids

ALWAYS = Instant(0)  # nothing is older
PLENTY = 1000  # runs


@pytest.fixture(name="records")
def fixture_records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path) as records:
        yield records


def test_the_newest_runs_of_a_namespace_stay_and_the_oldest_go(records: Records) -> None:
    for number in range(5):
        records.keep(answered("a", f"r-{number}", at=number))

    gone = prune(records, max_runs=2, oldest=ALWAYS)
    assert run_ids(records, "a") == ["r-3", "r-4"]
    assert gone == Removed(runs=3, manifests=0, newest=Instant(2))


def test_as_many_runs_as_may_stay_all_stay(records: Records) -> None:
    for number in range(3):
        records.keep(answered("a", f"r-{number}"))

    assert prune(records, max_runs=3, oldest=ALWAYS).runs == 0


def test_a_run_from_before_the_oldest_moment_goes_and_one_at_it_stays(records: Records) -> None:
    for at in (9, 10, 11):
        records.keep(answered("a", f"r-{at}", at=at))

    prune(records, max_runs=PLENTY, oldest=Instant(10))
    assert run_ids(records, "a") == ["r-10", "r-11"]


def test_a_manifest_goes_with_its_last_run_and_not_before(records: Records) -> None:
    records.keep(answered("once", "r-1", at=1))
    records.keep(answered("twice", "r-2", at=2))
    records.keep(answered("twice", "r-3", at=3))

    gone = prune(records, max_runs=1, oldest=ALWAYS)
    assert records.manifest_of(digest("once")) is None
    assert records.manifest_of(digest("twice")) is not None
    assert (gone.runs, gone.manifests) == (2, 1)


def test_one_tenants_many_answers_take_nothing_from_anothers_records(records: Records) -> None:
    records.keep(answered("red", namespace=RED))
    for number in range(20):
        records.keep(answered(f"blue {number}", namespace=BLUE))

    prune(records, max_runs=1, oldest=ALWAYS)
    assert run_ids(records, "red") == ["r-1"]
    assert removed(records, namespace=RED) == Removed(runs=0, manifests=0, newest=None)


def test_what_was_removed_adds_up_over_time_and_over_namespaces(records: Records) -> None:
    for at, namespace in ((1, BLUE), (2, RED), (3, BLUE)):
        records.keep(answered(f"at {at}", at=at, namespace=namespace))
        prune(records, max_runs=PLENTY, oldest=Instant(at + 1))

    assert removed(records, namespace=BLUE) == Removed(runs=2, manifests=2, newest=Instant(3))
    assert removed(records, namespace=RED) == Removed(runs=1, manifests=1, newest=Instant(2))
    assert removed(records, namespace=None) == Removed(runs=3, manifests=3, newest=Instant(3))


def test_pruning_in_small_steps_removes_the_same(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_retention, "REMOVED_AT_ONCE", 2)
    for number in range(7):
        records.keep(answered(f"{number}", f"r-{number}", at=number))

    gone = prune(records, max_runs=2, oldest=ALWAYS)
    assert gone == Removed(runs=5, manifests=5, newest=Instant(4))
    assert [number for number in range(7) if records.manifest_of(digest(f"{number}"))] == [5, 6]


def test_a_run_kept_after_all_others_were_removed_comes_behind_them(records: Records) -> None:
    """Numbers are not given twice, or `after` would skip it."""
    before = records.keep(answered("a", "r-1"))
    prune(records, max_runs=PLENTY, oldest=Instant(5000))

    assert records.keep(answered("a", "r-2", at=6000)) > before


def test_a_run_that_was_pruned_before_it_was_completed_stays_away(records: Records) -> None:
    number = records.keep(answered("a"))
    prune(records, max_runs=PLENTY, oldest=Instant(5000))

    records.complete(number, b"{}")
    assert run_ids(records, "a") == []
