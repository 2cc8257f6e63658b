"""Tests of `index/intake.py`: revisions and their codes come in together."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from index.catalog import Catalog
from index.errors import CodesMissing, LabelChanged, RecipeMismatch
from index.intake import take_in, to_encode
from index.integrity import verify
from index.reindex import reindex
from index.snapshot import Snapshots
from tests.index.catalog_builders import (
    ANALYZER,
    BLUE,
    HashEncoder,
    arrive,
    build_index,
    catalog,
    eligibility,
    revision,
    scope,
)
from tests.source_tree import ROOT


class Counting(HashEncoder):
    """Remembers what it encoded; `meanwhile` happens during the first call."""

    def __init__(self, meanwhile: Any = lambda: None) -> None:
        self.encoded: list[str] = []
        self._meanwhile = meanwhile

    def encode_documents(self, texts: Sequence[str]) -> Any:
        if not self.encoded:
            self._meanwhile()
        self.encoded += texts
        return super().encode_documents(texts)


def take(made: Catalog, encoder: HashEncoder, *revisions: Any) -> Any:
    return take_in(made, revisions, relabel=False, encode=encoder.encode_documents, progress=lambda *_: None)


def usable_and_waiting(made: Catalog) -> tuple[list[str], list[str]]:
    """The sources that can be searched, and those that wait for a reindex."""
    with Snapshots(made).pin() as snapshot:
        found = snapshot.resolve(eligibility(scope(tenant=BLUE)))
        held = {key.source_id for key in snapshot.keys_of(found.ranges.rows())}
        return sorted(held), [key.source_id for key in found.unindexed]


def test_what_is_taken_in_can_be_searched_at_once(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        build_index(made)
        arrive(made, revision("s", "one "), revision("t", "two ", "three "))

        assert usable_and_waiting(made) == (["s", "t"], [])


def test_only_texts_without_a_code_are_encoded(tmp_path: Path) -> None:
    encoder = Counting()
    with catalog(tmp_path / "c", [revision("s", "one ", "two ")]) as made:
        build_index(made)
        take(made, encoder, revision("t", "two ", "three ", "three "), revision("u", "three "))

        assert encoder.encoded == ["three "]


def test_tenants_never_share_a_code(tmp_path: Path) -> None:
    encoder = Counting()
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        take(made, encoder, revision("s", "one ", namespace=BLUE))

        assert encoder.encoded == ["one "]


def test_codes_that_are_there_by_chance_do_not_make_a_revision_searchable(tmp_path: Path) -> None:
    """R6: else a revision would tell that somebody else, unseen, has the same text."""
    with catalog(tmp_path / "c", [revision("s", "one ", roles=["nobody"])]) as made:
        build_index(made)
        made.add([revision("t", "one ")], relabel=False)

        assert usable_and_waiting(made) == ([], ["t"])


def test_a_revision_that_waits_can_be_searched_once_it_is_offered_again(tmp_path: Path) -> None:
    waiting = revision("t", "two ")
    with catalog(tmp_path / "c") as made:
        build_index(made)
        made.add([waiting], relabel=False)
        report = arrive(made, waiting)

        assert (report.accepted, report.unchanged) == (0, 1)
        assert usable_and_waiting(made) == (["t"], [])


def test_the_same_again_writes_nothing(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        arrive(made, revision("s", "one "))
        with made.read() as reading:
            change = reading.change
        arrive(made, revision("s", "one "))

        with made.read() as reading:
            assert reading.change == change


def test_what_is_refused_is_not_encoded(tmp_path: Path) -> None:
    encoder = Counting()
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        with pytest.raises(LabelChanged):
            take(made, encoder, revision("t", "two "), revision("s", "three ", revision="2", roles=["r"]))

        assert encoder.encoded == []
        with made.read() as reading:
            assert [key.source_id for key in reading.facts()] == ["s"]


def test_a_code_that_a_reindex_dropped_meanwhile_is_made_again(tmp_path: Path) -> None:
    """The text of a source that was deleted keeps its code until the next reindex, which may come just now."""
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        build_index(made)
        made.delete(revision("s", "one ").facts.key.source)
        encoder = Counting(meanwhile=lambda: build_index(made))
        take(made, encoder, revision("t", "one ", "two "))

        assert encoder.encoded == ["two ", "one "]
        assert usable_and_waiting(made) == (["t"], [])


def test_a_reindex_under_way_and_an_intake_may_encode_the_same_text(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        encoder = Counting(meanwhile=lambda: arrive(made, revision("t", "one ")))
        reindex(made, encoder=encoder, analyzer=ANALYZER, progress=lambda _: None)

        assert usable_and_waiting(made) == (["s", "t"], [])


def test_codes_of_another_shape_are_refused(tmp_path: Path) -> None:
    class Narrow(HashEncoder):
        def encode_documents(self, texts: Sequence[str]) -> Any:
            return np.zeros((len(texts), 3), dtype=np.int8)

    with catalog(tmp_path / "c") as made:
        with pytest.raises(RecipeMismatch):
            take(made, Narrow(), revision("s", "one "))
        with made.read() as reading:
            assert not reading.facts()


def test_a_code_that_is_never_there_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.catalog_coded.keep_codes", lambda *_: None)
    with catalog(tmp_path / "c") as made:
        with pytest.raises(CodesMissing):
            arrive(made, revision("s", "one "))
        with made.read() as reading:
            assert not reading.facts()


def test_one_unit_stands_for_each_text_to_encode(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one ")]) as made:
        found = to_encode(made, [revision("t", "one ", "two "), revision("u", "two ")])

        assert [(unit.key.source_id, unit.text) for unit in found] == [("t", "one "), ("t", "two ")]


def test_what_was_acknowledged_survives_a_kill_and_nothing_half_does(tmp_path: Path) -> None:
    """G7: SIGKILL in the midst of it, several times."""
    directory = tmp_path / "c"
    with catalog(directory) as made:
        build_index(made)
    acknowledged: list[str] = []
    for _ in range(3):
        command = [sys.executable, "-m", "tests.index.endless_intake", str(directory), str(len(acknowledged) + 1000)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged += [process.stdout.readline().strip() for _ in range(15)]
            process.kill()
            acknowledged += process.stdout.read().split()

        with Catalog.open(directory) as made:
            searchable, waiting = usable_and_waiting(made)
        assert set(acknowledged) <= set(searchable)
        assert waiting == []
        assert verify(directory) == []
        acknowledged = searchable  # the last one may have been taken in without a word
