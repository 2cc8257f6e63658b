"""The suite `rerank`: scores are compared before anything is timed, and nothing is asserted of speed."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from eval.bench import rerank
from eval.bench.errors import AnswersDiffer
from eval.bench.goals import GOALS
from eval.bench.rounds import Effort
from models.cross_encoder import CrossEncoderReranker
from models.reranker import RerankResult


def test_pairs_of_mixed_lengths_are_compared_for_the_stated_goal() -> None:
    (found,) = rerank.run(torch.device("cpu"), Effort.QUICK)

    assert (found.amount, found.unit, found.goal) == (4, "pairs", GOALS["C2"])
    assert (found.sizes["shortest"], found.sizes["longest"]) == (5, 30)
    assert len(found.ours) == len(found.theirs) == 5


def test_scores_that_differ_end_without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    score = CrossEncoderReranker.score

    def raised(self: CrossEncoderReranker, query: str, texts: Sequence[str]) -> RerankResult:
        found = score(self, query, texts)
        return replace(found, scores=(found.scores[0] + 2000, *found.scores[1:]))  # 2000 / 2^20 is 0.0019

    monkeypatch.setattr(CrossEncoderReranker, "score", raised)
    with pytest.raises(AnswersDiffer, match=r"scores are up to 0\.0019"):
        rerank.run(torch.device("cpu"), Effort.QUICK)
