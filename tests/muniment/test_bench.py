"""Tests of `muniment bench`: every suite runs, compares answers before it times them, and says what it measured.

Of speed nothing is asserted: a benchmark is never a timed test.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.bench.rounds import Comparison, in_turn
from index.bm25 import formula
from index.dense import DenseIndex
from index.ranges import RowRanges
from index.selection import Ranking
from index.statistics import gather
from tests.muniment.commands import run


@pytest.mark.parametrize(
    ("suite", "comparisons"), [("encode", 2), ("rerank", 1), ("dense", 18), ("approximate", 1), ("http", 2)]
)
def test_a_suite_writes_its_figures_with_machine_versions_sizes_and_command(
    suite: str, comparisons: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dense: two kinds of faiss index, 1 and 64 queries, 1, 10, 50 and 100% visible, and 64 tenants at once."""
    out = tmp_path / "figures.json"

    ran = run(capsys, "bench", suite, "--quick", "--json", out)
    report = json.loads(out.read_text())
    figures = report["suites"][suite]["comparisons"]
    assert (ran.status, len(ran.out.splitlines()), len(figures)) == (0, comparisons, comparisons)
    assert list(report["suites"]) == [suite]
    assert report["command"] == f"muniment bench {suite} --quick --json {out}"
    assert (report["effort"], report["machine"]["device"]) == ("quick", "cpu")
    assert {"python", "torch", "numpy"} <= report["versions"].keys()
    for one in figures:
        assert one["sizes"]
        assert one["equal"]
        assert len(one["ours"]["rounds"]) == len(one["theirs"]["rounds"]) >= 5
        assert one["ratio"]["min"] <= one["ratio"]["max"]


def test_dense_answers_that_differ_end_with_1_and_no_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topk = DenseIndex.topk
    out = tmp_path / "figures.json"

    def without_the_best(self: DenseIndex, queries: Any, *, ranges: RowRanges, k: int) -> list[Ranking]:
        found = topk(self, queries, ranges=ranges, k=k + 1)
        return [Ranking(rows=one.rows[1:], scores=one.scores[1:]) for one in found]

    monkeypatch.setattr(DenseIndex, "topk", without_the_best)
    ran = run(capsys, "bench", "dense", "--quick", "--json", out)
    assert (ran.status, ran.out) == (1, "")
    assert "ours and the peer's answers differ: other scores" in ran.err
    assert not out.exists()


def test_lexical_answers_that_differ_end_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """BM25 with another k1."""
    other = formula("lucene", k1="1.3")
    monkeypatch.setattr(
        "eval.bench.lexical.gather",
        lambda postings, lengths, *, ranges, formula: gather(postings, lengths, ranges=ranges, formula=other),
    )

    ran = run(capsys, "bench", "lexical", "--quick")
    assert ran.status == 1
    assert "scores are up to" in ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sorting"], "no suite named sorting: there are encode, "),
        (["dense", "sorting"], "no suite named sorting: there are encode, "),
        (["--plots", "absent"], "--plots: there is no folder absent"),
        (["--from", "figures.json"], "it goes with --plots"),
        (["dense", "--from", "figures.json", "--plots", "."], "it goes with --plots"),
        (["--from", "absent.json", "--plots", "."], "absent.json: cannot be read"),
        (["dense", "--json", "absent/figures.json"], "there is no folder absent"),
        (["dense", "--device", "tpu"], "no device named 'tpu'"),
    ],
)
def test_bad_usage_ends_with_2_and_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(capsys, "bench", *arguments)

    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert told in ran.err


def test_suites_run_in_their_own_order_and_are_drawn_from_the_file_as_they_were_when_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, now, later = tmp_path / "figures.json", tmp_path / "now", tmp_path / "later"
    now.mkdir()
    later.mkdir()

    measured = run(capsys, "bench", "lexical", "dense", "--quick", "--json", out, "--plots", now)
    drawn = run(capsys, "bench", "--from", out, "--plots", later)
    assert (measured.status, drawn.status) == (0, 0)
    assert list(json.loads(out.read_text())["suites"]) == ["dense", "lexical"]
    assert drawn.out.splitlines() == [str(later / "dense.png"), str(later / "lexical.png")]
    for name in ("dense.png", "lexical.png"):
        assert (now / name).read_bytes() == (later / name).read_bytes()


def test_without_matplotlib_plots_are_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muniment.bench.find_spec", lambda _: None)

    ran = run(capsys, "bench", "dense", "--plots", tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert "extra `bench`" in ran.err


def test_sides_take_turns_for_the_rounds_asked_for() -> None:
    calls: list[str] = []

    ours, theirs = in_turn(lambda: calls.append("o"), lambda: calls.append("t"), rounds=3)

    assert (len(ours), len(theirs)) == (3, 3)
    turns = [call for at, call in enumerate(calls) if at == 0 or calls[at - 1] != call]
    assert turns == ["o", "t"] * 4  # the first pair warms up


def test_the_ratio_is_the_peers_median_over_ours_with_the_least_and_the_most_of_a_round() -> None:
    comparison = Comparison(
        work="sums",
        us="us",
        peer="them",
        equal="all",
        amount=10,
        unit="sums",
        sizes={"sums": 10},
        ours=(0.001, 0.002, 0.003),
        theirs=(0.004, 0.004, 0.018),
    )

    assert comparison.ratio == pytest.approx(2.0)
    assert list(comparison.ratios) == pytest.approx([2.0, 6.0])
    assert comparison.line() == "sums: us 2.00 ms (5,000 sums/s), them 4.00 ms; x2.00 (2.00 to 6.00)"
