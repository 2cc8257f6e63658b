"""Tests of eval/bench/reindexing.py: a reindex is held against the encoder alone, and its memory against a bound."""

import pytest
import torch

from eval.bench import reindexing
from eval.bench.reindexing import Run, verdicts
from eval.bench.rounds import Effort
from index.reindex import ReindexReport
from server.settings import load_settings


def run_of(*, seconds: float, held_bytes: int = 0) -> Run:
    """Of 1,000 tokens."""
    report = ReindexReport(
        generation="", units=50, encoded=50, reused=0, dropped=0, tokens=1_000, encode_seconds=0.0, seconds=seconds
    )
    return Run(report=report, held_bytes=held_bytes)


@pytest.mark.parametrize(("seconds", "is_met"), [(1.1, True), (1.12, False)])
def test_the_rate_is_that_of_all_passages_against_the_mean_of_the_encoder_alone(
    seconds: float, *, is_met: bool
) -> None:
    """1,000 tokens a second on average, of which nine tenths are asked for: 1,000 tokens in 1.11 s."""
    rate, _ = verdicts(run_of(seconds=9.0), run_of(seconds=seconds), [900.0, 1_100.0])

    assert (rate.goal, rate.is_met) == ("C9", is_met)


@pytest.mark.parametrize(
    ("few", "many", "is_met"), [(2**30, 2**31, True), (2**30, 2**31 + 1, False), (2**31 + 1, 2**30, False)]
)
def test_memory_is_judged_by_whichever_took_more(few: int, many: int, *, is_met: bool) -> None:
    """Two GiB are allowed."""
    _, memory = verdicts(run_of(seconds=1.0, held_bytes=few), run_of(seconds=1.0, held_bytes=many), [1.0])

    assert memory.is_met is is_met


@pytest.mark.full
def test_passages_are_encoded_and_published_in_two_catalogs() -> None:
    heard: list[tuple[str, int, int]] = []
    rate, memory = reindexing.run(
        torch.device("cpu"),
        Effort.QUICK,
        cache=load_settings().cache,
        progress=lambda *step: heard.append(step),
    ).verdicts

    assert rate.found.startswith("200 passages, 2,400 tokens in ")
    assert "with 20 passages" in memory.found
    assert ("encode", 200, 200) in heard
