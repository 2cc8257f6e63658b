import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from sqlalchemy import text

from evidence.identity import PUBLIC, UnitKey
from index.analysis import Analyzer
from index.catalog import Catalog
from index.errors import DamagedCatalog, PublisherBusy, RecipeMismatch
from index.generation import Generation, open_current
from index.publishing import publisher_lock
from index.reindex import Progress, Stage, reindex
from tests.index.catalog_builders import ANALYZER, BLUE, DIMENSION, RED, HashEncoder, build_index, catalog, revision

ROOT = Path(__file__).parents[2]


class WatchedEncoder(HashEncoder):
    """Remembers what it was asked to encode."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        self.batches.append(list(texts))
        return super().encode_documents(texts)


def encode_with(made: Catalog, encoder: HashEncoder, *, batch_texts: int = 64) -> list[Progress]:
    heard: list[Progress] = []
    reindex(made, encoder=encoder, analyzer=ANALYZER, progress=heard.append, batch_texts=batch_texts)
    return heard


def opened(made: Catalog) -> Generation:
    return open_current(made.directory, made.recipe)


def test_each_row_has_the_code_and_the_terms_of_its_unit(tmp_path: Path) -> None:
    """R9: title in front, in both channels."""
    with catalog(tmp_path / "c", [revision("s", "fern fern ", "moss", title="Notes"), revision("t", "yew")]) as made:
        report = build_index(made)
        generation = opened(made)

    assert report.units == generation.rows == 3
    for row in range(3):
        key = generation.key_of(row)
        whole = {("s", 0): "Notes\nfern fern ", ("s", 1): "Notes\nmoss", ("t", 0): "yew"}[key.source_id, key.ordinal]
        assert generation.codes[row].tolist() == HashEncoder().encode_query(whole).tolist()
        assert generation.lengths[row] == len(ANALYZER.terms(whole))
    (row,) = generation.rows_of(revision("t").facts.key)
    term = generation.postings.terms["yew"]
    first, last = generation.postings.offsets[term : term + 2]
    assert generation.postings.posting_rows[first:last].tolist() == [row]


def test_a_text_that_revisions_repeat_is_encoded_once_in_each_namespace(tmp_path: Path) -> None:
    """Tenants never share a row: not even its code."""
    held = [
        revision("s", "same", revision=number, namespace=namespace) for namespace in (BLUE, RED) for number in "123"
    ]
    encoder = WatchedEncoder()
    with catalog(tmp_path / "c", held) as made:
        report = reindex(made, encoder=encoder, analyzer=ANALYZER, progress=lambda progress: None)

    assert encoder.batches == [["same", "same"]]
    assert (report.units, report.encoded, report.reused, report.tokens) == (6, 2, 0, 6)


def test_short_texts_are_encoded_first(tmp_path: Path) -> None:
    encoder = WatchedEncoder()
    with catalog(tmp_path / "c", [revision("a", "one two three ", "four "), revision("b", "five six ")]) as made:
        encode_with(made, encoder, batch_texts=2)

    assert encoder.batches == [["four ", "five six "], ["one two three "]]


def test_only_what_is_new_is_encoded_the_next_time(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one")]) as made:
        build_index(made)
        made.add([revision("s", "one", "two", revision="2")], relabel=False)
        encoder = WatchedEncoder()
        report = reindex(made, encoder=encoder, analyzer=ANALYZER, progress=lambda progress: None)

    assert encoder.batches == [["two"]]
    assert (report.units, report.encoded, report.reused) == (3, 1, 1)


def test_codes_of_texts_that_are_gone_are_removed(tmp_path: Path) -> None:
    """D5: a vector goes with its text."""
    with catalog(tmp_path / "c", [revision("s", "one"), revision("t", "two")]) as made:
        build_index(made)
        with made.write() as connection:
            for table in ("unit", "revision"):
                connection.execute(text(f"DELETE FROM {table} WHERE source_id = 's'"))
            connection.execute(text("UPDATE catalog_state SET change = change + 1, revisions = revisions - 1"))
        report = build_index(made)

        with made.read() as reading:
            assert reading.connection.execute(text("SELECT count(*) FROM code")).scalar() == 1
    assert (report.dropped, report.units) == (1, 1)


def test_rows_are_grouped_by_label_and_a_revision_is_one_run(tmp_path: Path) -> None:
    held = [
        revision("s", "a", "b", namespace=BLUE, roles=["x"]),
        revision("t", "c", namespace=BLUE),
        revision("s", "d", namespace=RED),
        revision("u", "e", namespace=BLUE, roles=["x"]),
        revision("empty", namespace=BLUE),
        revision("s", "f", "g", "h", revision="2", namespace=BLUE, roles=["x"]),
    ]
    with catalog(tmp_path / "c", held) as made:
        build_index(made)
        generation = opened(made)

    keys = generation.keys_of(range(8))
    labels = {offer.facts.key: offer.facts.label.digest for offer in held}
    assert keys == sorted(keys, key=lambda key: (labels[key.revision_key], key))
    assert [list(generation.rows_of(offer.facts.key)) for offer in held] == [
        [row for row, key in enumerate(keys) if key.revision_key == offer.facts.key] for offer in held
    ]
    assert [keys[row] for row in np.argsort(generation.order)] == sorted(keys)
    with pytest.raises(IndexError):
        generation.key_of(8)
    assert generation.rows_of(revision("never").facts.key) == range(0)


def test_equal_content_has_an_equal_generation_whatever_the_order_it_came_in(tmp_path: Path) -> None:
    """M2, M5: rebuilt and incremental, in any order."""
    offered = [
        revision("s", "one ", "two"),
        revision("s", "one ", "three", revision="2"),
        revision("s", "one ", namespace=BLUE),
    ]
    names = set()
    for number, order in enumerate(permutations(offered)):
        with catalog(tmp_path / f"{number}") as made:
            for offer in order:
                made.add([offer], relabel=False)
                name = build_index(made).generation if number % 2 else ""
            names.add(name or build_index(made).generation)

    assert len(names) == 1


def test_an_empty_catalog_publishes_an_empty_generation(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        assert build_index(made).units == 0
        assert opened(made).rows == 0


def test_another_runtime_is_refused_naming_both_and_nothing_is_written(tmp_path: Path) -> None:
    """R10."""
    encoder = WatchedEncoder()
    encoder.runtime = "abacus 3"
    with catalog(tmp_path / "c", [revision("s", "one")]) as made:
        with pytest.raises(RecipeMismatch, match=r"runtime hash 1, got abacus 3"):
            encode_with(made, encoder)
        with made.read() as reading:
            assert reading.connection.execute(text("SELECT count(*) FROM code")).scalar() == 0
    assert encoder.batches == []


def test_another_model_or_analyzer_is_refused(tmp_path: Path) -> None:
    encoder = WatchedEncoder()
    encoder.model_digest = "sha256:other"
    with catalog(tmp_path / "c") as made:
        with pytest.raises(RecipeMismatch, match="model"):
            encode_with(made, encoder)
        with pytest.raises(RecipeMismatch, match="analyzer"):
            reindex(
                made,
                encoder=HashEncoder(),
                analyzer=Analyzer(language=None, stop_words=False),
                progress=lambda progress: None,
            )


@pytest.mark.parametrize("codes", [np.zeros((1, 8), np.int8), np.zeros((2, 16), np.int8), np.zeros((1, 16), np.int16)])
def test_codes_of_another_shape_or_type_are_refused(tmp_path: Path, codes: npt.NDArray[np.int8]) -> None:
    class Wrong(HashEncoder):
        def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
            return codes

    with catalog(tmp_path / "c", [revision("s", "one")]) as made, pytest.raises(RecipeMismatch, match="codes"):
        encode_with(made, Wrong())


def test_what_comes_in_while_others_are_encoded_is_taken_along(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one")]) as made:

        class Slow(HashEncoder):
            def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
                made.add([revision("t", "two"), revision("u", "one")], relabel=False)
                return super().encode_documents(texts)

        encode_with(made, Slow())
        assert opened(made).rows == 3


def test_progress_counts_texts_and_tokens_to_the_end(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("a", "one two three ", "four "), revision("b", "five six ")]) as made:
        heard = encode_with(made, HashEncoder(), batch_texts=2)

    assert [(step.stage, step.done, step.total, step.tokens_done, step.tokens_total) for step in heard] == [
        (Stage.ENCODE, 2, 3, 7, 12),
        (Stage.ENCODE, 3, 3, 12, 12),
        (Stage.ANALYZE, 3, 3, 0, 0),
        (Stage.PUBLISH, 0, 3, 0, 0),
        (Stage.PUBLISH, 3, 3, 0, 0),
    ]


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one")]) as made:
        with publisher_lock(made.directory), pytest.raises(PublisherBusy):
            build_index(made)
        build_index(made)


def test_a_code_that_changed_in_the_database_is_never_published(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "one")]) as made:
        build_index(made)
        with made.write() as connection:
            connection.execute(text(f"UPDATE code SET codes = zeroblob({DIMENSION})"))

        with pytest.raises(DamagedCatalog, match="code"):
            build_index(made)


def test_a_killed_run_is_resumed_and_repeats_at_most_one_batch(tmp_path: Path) -> None:
    """G7: SIGKILL while it encodes, twice; the log has a line for every text that reached the encoder."""
    directory, log = tmp_path / "c", tmp_path / "log"
    texts = [f"unit {number} " for number in range(100)]
    catalog(directory, [revision(f"s{number}", text) for number, text in enumerate(texts)]).close()
    command = [sys.executable, "-m", "tests.index.slow_reindex", str(directory), str(log)]
    for wanted in (20, 60):
        _kill_when(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE), log, lines=wanted)
        with Catalog.open(directory) as made, made.read() as reading:
            kept = reading.connection.execute(text("SELECT count(*) FROM code")).scalar_one()
        assert len(set(_lines(log))) - kept <= BATCH
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    encoded = _lines(log)
    assert set(encoded) == set(texts)
    assert len(encoded) - len(texts) <= 2 * BATCH
    with Catalog.open(directory) as made:
        name = opened(made).name
    with catalog(tmp_path / "d", [revision(f"s{number}", text) for number, text in enumerate(texts)]) as whole:
        assert build_index(whole).generation == name


BATCH = 4  # of slow_reindex


def _kill_when(process: "subprocess.Popen[bytes]", log: Path, *, lines: int) -> None:
    with process:
        while len(_lines(log)) < lines:
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)


def _lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def test_keys_of_rows_are_found_without_a_step_for_each_row(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "a", "b"), revision("t", "c")]) as made:
        build_index(made)
        generation = opened(made)

    asked = np.array([2, 0, 2], dtype=np.int64)
    assert generation.keys_of(asked) == [
        UnitKey(PUBLIC, "t", "1", 0),
        UnitKey(PUBLIC, "s", "1", 0),
        UnitKey(PUBLIC, "t", "1", 0),
    ]


def test_several_workers_publish_the_generation_that_one_does(tmp_path: Path) -> None:
    revisions = [revision(f"s{number}", f"text {number}.", "A text in common.") for number in range(40)]

    names = []
    for workers in (1, 3):
        with catalog(tmp_path / str(workers), revisions) as made:
            report = reindex(
                made,
                encoder=HashEncoder(),
                analyzer=ANALYZER,
                progress=lambda _: None,
                batch_texts=4,
                workers=workers,
            )
            names.append((report.generation, report.encoded))
    assert names[0] == names[1]
