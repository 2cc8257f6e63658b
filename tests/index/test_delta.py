"""Tests of `index/delta.py`: what came in after the last reindex, as any process makes it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence.identity import Namespace
from index.analysis import Analyzer
from index.catalog import Catalog
from index.catalog_write import NewRevision
from index.delta import Deltas
from index.generation import Generation, open_current
from index.segments import Segments
from index.snapshot import Snapshots
from tests.index.catalog_builders import arrive, build_index, catalog, eligibility, recipe, revision, scope


def over(made: Catalog, deltas: Deltas | None = None) -> Segments:
    """The row space now, made by a process that has seen nothing before unless one is given."""
    with made.read() as reading:
        return (deltas or Deltas(made.recipe)).over(open_current(made.directory, made.recipe), reading)


def contents(delta: Generation | None) -> list[Any]:
    """Everything that a delta holds."""
    assert delta is not None
    postings = delta.postings
    arrays = (delta.codes, delta.lengths, delta.order, postings.posting_rows, postings.frequencies)
    return [delta.name, delta.runs, *(array.tolist() for array in arrays), _held(delta)]


def _held(delta: Generation) -> dict[str, int]:
    """Term -> postings, of terms that occur."""
    sizes = np.diff(delta.postings.offsets).tolist()
    return {term: size for term, size in zip(delta.postings.terms, sizes, strict=True) if size}


def test_nothing_new_is_the_generation_alone(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        segments = over(made)

        assert segments.delta is None
        assert segments.name == segments.base.name


def test_whoever_saw_each_change_has_the_delta_of_whoever_saw_the_last(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        watching = Deltas(made.recipe)
        for step in (
            lambda: arrive(made, revision("t", "two ", "two three ")),
            lambda: arrive(made, revision("a", "three one ", roles=["r"])),
            lambda: arrive(made, revision("t", "four ", revision="2")),
            lambda: arrive(made, revision("a", "three one "), relabel=True),
            lambda: made.delete(revision("t").facts.key.source),
            lambda: arrive(made, revision("t", "zero three ")),
        ):
            step()
            assert contents(over(made, watching).delta) == contents(over(made).delta)


def test_a_reindex_takes_the_delta_in(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        watching = Deltas(made.recipe)
        arrive(made, revision("t", "two "))
        segments = over(made, watching)
        assert segments.rows - segments.base.rows == 1

        build_index(made)
        after = over(made, watching)
        assert (after.delta, after.base.rows) == (None, 2)


def test_a_text_is_analyzed_once_whatever_changes_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analyzed: list[str] = []
    terms = Analyzer.terms

    def noted(self: Analyzer, text: str) -> list[str]:
        analyzed.append(text)
        return terms(self, text)

    monkeypatch.setattr(Analyzer, "terms", noted)
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        analyzed.clear()
        watching = Deltas(made.recipe)
        for number in range(4):
            arrive(made, revision("t", "shared ", f"own {number} ", revision=str(number)))
            over(made, watching)

        assert sorted(analyzed) == ["own 0 ", "own 1 ", "own 2 ", "own 3 ", "shared "]


def test_a_text_is_analyzed_for_each_namespace_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R35: or whoever takes a text in could tell by the time whether another tenant has it."""
    analyzed: list[str] = []
    terms = Analyzer.terms

    def noted(self: Analyzer, text: str) -> list[str]:
        analyzed.append(text)
        return terms(self, text)

    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        watching = Deltas(made.recipe)
        monkeypatch.setattr(Analyzer, "terms", noted)
        for namespace in (Namespace("red"), Namespace("blue"), Namespace("blue")):
            arrive(made, revision(f"t{len(analyzed)}", "the same ", namespace=namespace))
            over(made, watching)

    assert analyzed == ["the same ", "the same "]


def test_a_state_without_new_rows_keeps_the_row_space_of_the_one_before(tmp_path: Path) -> None:
    """So that what was worked out for those rows stays in use."""
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        watching = Deltas(made.recipe)
        arrive(made, revision("t", "two "))
        first = over(made, watching)
        made.add([revision("u", "waits ")], relabel=False)

        assert over(made, watching) is first


def test_another_analyzer_than_the_one_of_the_recipe_makes_no_delta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R10: terms of two analyzers are never mixed."""
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        arrive(made, revision("t", "two "))
        monkeypatch.setattr(Analyzer, "name", "another")

        with Snapshots(made).pin() as snapshot:
            assert [key.source_id for key in snapshot.resolve(eligibility(scope())).unindexed] == ["t"]


def test_a_pinned_state_keeps_its_rows_while_others_write_and_publish(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        arrive(made, revision("t", "two "))
        snapshots = Snapshots(made)
        with snapshots.pin() as snapshot:
            made.delete(revision("t").facts.key.source)
            build_index(made)
            with snapshots.pin() as later:
                assert later.resolve(eligibility(scope())).ranges.count == 1

            found = snapshot.resolve(eligibility(scope()))
            assert [key.source_id for key in snapshot.keys_of(found.ranges.rows())] == ["s", "t"]


def test_a_revision_without_units_is_no_gap(tmp_path: Path) -> None:
    empty: NewRevision = revision("t")
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        arrive(made, empty, revision("u", "two "))

        with Snapshots(made).pin() as snapshot:
            found = snapshot.resolve(eligibility(scope()))
            assert (found.unindexed, found.ranges.count) == ((), 2)


def test_the_recipe_of_the_tests_reads_as_its_index() -> None:
    """Else nothing here would make a delta at all."""
    assert Deltas(recipe())._reads_as_indexed
