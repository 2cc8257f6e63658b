"""Tests of eval/bench/peers/suite.py: engines are judged by what they find, and one that is missing is told."""

from pathlib import Path

import pytest
import torch

from eval.bench.errors import AnswersDiffer
from eval.bench.peers import suite
from eval.bench.peers.environment import Environment
from eval.bench.rounds import Effort
from index.dense import DenseIndex

GLUED = next(engine for engine in suite.ENGINES if engine.name == "glued")
CPU = torch.device("cpu")


def test_quality_counts_every_relevant_row_alike() -> None:
    """Two of the two relevant rows of one query, at the first two places; none of the other."""
    found = suite.quality([[4, 9, 1], [5]], [[9, 4], [7]])

    assert found == {"R@10": 0.5, "nDCG@10": 0.5}


def test_engines_are_compared_and_one_without_an_environment_is_left_out_with_the_reason(tmp_path: Path) -> None:
    """faiss and rank-bm25, which are here; exact by vector, as ours must be."""
    (tmp_path / "absent_peer.py").write_text("import a_package_that_is_not_there")
    absent = Environment(name="absent", requirements=(), folder=tmp_path)

    told = suite.run(CPU, Effort.QUICK, cache=tmp_path, progress=lambda *_: None, engines=(absent, GLUED))
    (skipped,) = told.skipped
    assert skipped.work == "search with a filter, absent"
    assert "No module named" in skipped.reason
    assert [one.work for one in told.comparisons] == [
        "vector search with a filter, top 10",
        "hybrid search with a filter, top 10",
    ]
    assert "R@10 1.000 and 1.000" in told.comparisons[0].equal
    assert len(told.verdicts) == 2


def test_an_inexact_answer_of_ours_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topk = DenseIndex.topk
    monkeypatch.setattr(
        DenseIndex, "topk", lambda self, queries, *, ranges, k: topk(self, -queries, ranges=ranges, k=k)
    )

    with pytest.raises(AnswersDiffer, match="ours is not the exact first ten"):
        suite.run(CPU, Effort.QUICK, cache=tmp_path, progress=lambda *_: None, engines=())
