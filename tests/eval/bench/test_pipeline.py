"""Tests of eval/bench/pipeline.py and what it is made of: both ways come to the same answers."""

from pathlib import Path

import pytest
import torch

from eval.bench import pipeline
from eval.bench.errors import AnswersDiffer
from eval.bench.glued import Glued
from eval.bench.rounds import Effort
from server.settings import load_settings


@pytest.mark.full
def test_the_whole_path_is_compared_and_a_server_is_loaded() -> None:
    told = pipeline.run(torch.device("cpu"), Effort.QUICK, cache=load_settings().cache, progress=lambda *_: None)

    (comparison,), (verdict,), (load,) = told.comparisons, told.verdicts, told.loads
    assert comparison.goal is not None
    assert (comparison.goal.name, verdict.goal) == ("C7", "C7 p99")
    assert (load.clients, load.failed) == (64, 0)
    assert len(load.latencies_s) >= 64
    assert {"encode", "search", "assemble"} <= load.stages.keys()
    assert min(load.resident_bytes) > 0


@pytest.mark.full
def test_another_order_of_the_peer_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    search = Glued.search
    monkeypatch.setattr(Glued, "search", lambda self, text, tenant, *, k: search(self, text, tenant, k=2 * k)[k:])

    with pytest.raises(AnswersDiffer, match="of the first 20 are the same"):
        pipeline.run(torch.device("cpu"), Effort.QUICK, cache=load_settings().cache, progress=lambda *_: None)
