"""Tests of eval/bench/pipeline.py and what it is made of: both ways come to the same answers."""

from pathlib import Path

import pytest
import torch

from eval.bench import pipeline
from eval.bench.errors import AnswersDiffer
from eval.bench.glued import Glued
from eval.bench.rounds import Effort
from server.settings import load_settings
from tests.eval.bench.builders import load


@pytest.mark.parametrize(("answers", "p50_s", "is_met"), [(5, 0.103, True), (4, 0.103, False), (5, 0.104, False)])
def test_batching_pays_where_answers_come_two_and_a_half_times_as_fast_and_three_milliseconds_later(
    answers: int, p50_s: float, *, is_met: bool
) -> None:
    """Both for two seconds; without batching there were two answers, after 100 ms each."""
    told = pipeline.batching(load(*[p50_s] * answers), load(0.1, 0.1))

    assert (told.goal, told.is_met) == ("C8", is_met)


@pytest.mark.full
def test_the_whole_path_is_compared_and_a_server_is_loaded() -> None:
    told = pipeline.run(torch.device("cpu"), Effort.QUICK, cache=load_settings().cache, progress=lambda *_: None)

    (comparison,), (verdict, batching), loads = told.comparisons, told.verdicts, told.loads
    assert comparison.goal is not None
    assert (comparison.goal.name, verdict.goal, batching.goal) == ("C7", "C7 p99", "C8")
    assert len(loads) == 2
    for served in loads:
        assert (served.clients, served.failed) == (64, 0)
        assert len(served.latencies_s) >= 64
        assert {"encode", "search", "assemble"} <= served.stages.keys()
        assert min(served.resident_bytes) > 0


@pytest.mark.full
def test_another_order_of_the_peer_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    search = Glued.search
    monkeypatch.setattr(Glued, "search", lambda self, text, tenant, *, k: search(self, text, tenant, k=2 * k)[k:])

    with pytest.raises(AnswersDiffer, match="of the first 20 are the same"):
        pipeline.run(torch.device("cpu"), Effort.QUICK, cache=load_settings().cache, progress=lambda *_: None)
