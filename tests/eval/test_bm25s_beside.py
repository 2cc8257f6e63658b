"""Tests of how bm25s takes turns beside ours: with a stand-in, since bm25s itself is not among our packages."""

import sys
from pathlib import Path

import pytest

from eval.bench import bm25s_beside, lexical
from eval.bench.errors import AnswersDiffer
from eval.bench.rounds import ROUNDS, Effort

STAND_IN = Path(__file__).with_name("bm25s_stand_in.py")


def test_each_share_of_visible_rows_is_compared_and_has_its_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25s_beside, "_SCRIPT", STAND_IN)

    _, *beside = lexical.run(Effort.QUICK, bm25s=Path(sys.executable))
    assert [one.sizes["visible"] for one in beside] == [2_000, 192, 16]
    assert [one.goal.name for one in beside if one.goal] == ["C4b 200k", "C4c 10%", "C4c 1%"]
    assert [one.theirs for one in beside] == [(0.5,) * ROUNDS] * 3
    assert all(min(one.ours) > 0 for one in beside)


@pytest.mark.parametrize(
    ("written", "instead", "told"),
    [
        ('job["k1"] *', "1.3 *", "other scores"),
        ("visible is None", "True", "other"),
        ("rows.astype(np.int32)", "rows.astype(np.int32)[::-1]", "other rows"),
        ('[:, : job["k"]]', "[:, :50]", "other numbers of hits"),
    ],
    ids=["another parameter", "a mask left out", "rows of another query", "too few"],
)
def test_answers_that_differ_are_refused(
    written: str, instead: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = STAND_IN.read_text()
    assert written in source
    (tmp_path / "wrong.py").write_text(source.replace(written, instead))
    monkeypatch.setattr(bm25s_beside, "_SCRIPT", tmp_path / "wrong.py")

    with pytest.raises(AnswersDiffer, match=told):
        lexical.run(Effort.QUICK, bm25s=Path(sys.executable))
