"""Tests of server/views.py: what assembly sees of a state is what the caller may see (R6)."""

from pathlib import Path

import pytest

from evidence.identity import PUBLIC, RevisionKey
from index.snapshot import Snapshots
from server.views import Views
from tests.index.catalog_builders import BLUE, RED, build_index, catalog, eligibility, recipe, revision, scope


def test_units_are_counted_for_visible_revisions_and_for_no_others(tmp_path: Path) -> None:
    held = [revision("a", "one ", "two"), revision("b", "old", effective_to="2025-01-01T00:00:00Z")]
    hidden = revision("c", "red", namespace=RED)
    with catalog(tmp_path / "c", [*held, hidden]) as made:
        build_index(made)
        with Snapshots(made).pin() as snapshot:
            eligible = snapshot.resolve(eligibility(scope(tenant=BLUE)))
            seen = Views(recipe()).of(snapshot, eligible).snapshot

            assert dict(seen.unit_counts) == {RevisionKey(PUBLIC, "a", "1"): 2, RevisionKey(PUBLIC, "b", "1"): 1}
            assert (len(seen.unit_counts), seen.usable_units) == (2, 2)
            with pytest.raises(KeyError):
                seen.unit_counts[hidden.facts.key]


def test_each_state_counts_its_own_usable_units(tmp_path: Path) -> None:
    views = Views(recipe())
    with catalog(tmp_path / "c", [revision("a", "one ", "two")]) as made:
        build_index(made)
        snapshots = Snapshots(made)
        counted = []
        for text in ("three", "four"):
            with snapshots.pin() as snapshot:
                counted.append(views.of(snapshot, snapshot.resolve(eligibility(scope()))).snapshot.usable_units)
            made.add([revision(text, text)], relabel=False)

    assert counted == [2, 3]
