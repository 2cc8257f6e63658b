"""Tests of `muniment verify --scores`: what it says, and how it ends. What it notices: tests/server/test_rescoring."""

import json
from pathlib import Path

import pytest

from index import statistics
from index.bm25 import rarity
from tests.muniment.commands import run


def test_the_sample_agrees_with_rank_bm25_and_the_float64_product(
    sample_catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R9, R10: with the packaged encoder, for every caller of the sample."""
    ran = run(capsys, "verify", sample_catalog, "--scores")

    summary, verdict = ran.out.splitlines()
    assert (ran.status, verdict) == (0, "whole")
    assert summary.endswith("scores compared: all agree")


def test_a_wrong_score_ends_with_1_and_a_line_for_each_difference(
    sample_catalog: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        statistics, "rarity", lambda chosen, units, frequency: rarity(chosen, units=units, frequency=frequency) * 1.01
    )

    ran = run(capsys, "verify", sample_catalog, "--scores")
    *differences, summary, verdict = ran.out.splitlines()
    assert (ran.status, verdict) == (1, "whole, but scores differ")
    assert summary.endswith("scores compared: some differ")
    assert all("lexical score is" in line for line in differences)

    printed = json.loads(run(capsys, "verify", sample_catalog, "--scores", "--json").out)
    assert printed["damages"] == []
    assert printed["scores"]["differences"] == differences
