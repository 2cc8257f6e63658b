"""Tests of eval/bench/growth.py and drawn_rows.py: what one caller sees is the same in every size."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eval.bench import drawn_rows, growth
from eval.bench.errors import AnswersDiffer
from eval.bench.generations import Searched, open_rows, recipe_of
from eval.bench.rounds import Effort
from index.generation import Generation
from index.ranges import RowRanges

KIND = drawn_rows.Kind(visible=32, dimension=8, terms=4, vocabulary=30)


def drawn(folder: Path, units: int) -> Generation:
    folder.mkdir()
    name = drawn_rows.publish_drawn(folder, units, KIND)
    return open_rows(folder, name, recipe=recipe_of(KIND.dimension)).base


def terms_of_rows(generation: Generation) -> list[dict[int, int]]:
    """Term number -> frequency, of each row."""
    postings = generation.postings
    rows: list[dict[int, int]] = [{} for _ in range(generation.rows)]
    for term in range(KIND.vocabulary):
        for place in range(postings.offsets[term], postings.offsets[term + 1]):
            rows[postings.posting_rows[place]][term] = int(postings.frequencies[place])
    return rows


def test_the_callers_rows_are_the_same_in_every_size(tmp_path: Path) -> None:
    """Also where there are no others, and the runs touch."""
    small, large = drawn(tmp_path / "small", 32), drawn(tmp_path / "large", 400)

    mine = [drawn_rows.caller_rows(units, KIND.visible).rows() for units in (32, 400)]
    assert np.array_equal(small.codes[mine[0]], large.codes[mine[1]])
    of_small, of_large = terms_of_rows(small), terms_of_rows(large)
    assert [of_small[row] for row in mine[0]] == [of_large[row] for row in mine[1]]
    assert any(of_small[row] for row in mine[0])
    assert small.keys_of(mine[0]) == large.keys_of(mine[1])


def test_lengths_are_sums_of_frequencies_and_rows_ascend_within_a_term(tmp_path: Path) -> None:
    generation = drawn(tmp_path / "rows", 400)

    postings = generation.postings
    assert [sum(terms.values()) for terms in terms_of_rows(generation)] == generation.lengths.tolist()
    for term in range(KIND.vocabulary):
        rows = postings.posting_rows[postings.offsets[term] : postings.offsets[term + 1]]
        assert (np.diff(rows) > 0).all()


def test_a_commoner_term_is_in_more_rows(tmp_path: Path) -> None:
    """Zipf's law, as far as 2,000 rows show it: the first term in more than twice the rows of the tenth."""
    generation = drawn(tmp_path / "rows", 2_000)

    held = np.diff(generation.postings.offsets)
    assert held[0] > 2 * held[9] > 0


def test_every_channel_and_both_views_have_a_point_for_each_size() -> None:
    told = growth.run(torch.device("cpu"), Effort.QUICK, progress=lambda *_: None)

    assert len(told.curves) == 6
    assert all([point.size for point in curve.points] == [400, 1_600] for curve in told.curves)
    assert all(len(point.seconds) == 4 for curve in told.curves for point in curve.points)
    assert told.verdicts[0].goal == "C10"
    assert told.skipped == ()


def test_answers_that_hang_on_what_the_caller_does_not_see_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics of everything, where those of the visible rows are due (R9)."""
    ask = Searched.ask

    def over_everything(self: Searched, *arguments: Any, eligible: Any, depth: int) -> Any:
        everything = RowRanges.from_pairs([(0, self.segments.rows)])
        return ask(self, *arguments, eligible=self.eligible(everything), depth=depth)

    monkeypatch.setattr(Searched, "ask", over_everything)
    with pytest.raises(AnswersDiffer, match="other answers over the same visible rows"):
        growth.run(torch.device("cpu"), Effort.QUICK, progress=lambda *_: None)


def test_a_size_without_room_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 units of 64 dimensions and 10 terms take 64,000 bytes, 2.5 times that while they are made; 1,600 four times
    as many."""
    monkeypatch.setattr(growth, "free_memory_bytes", lambda: 200_000)

    told = growth.run(torch.device("cpu"), Effort.QUICK, progress=lambda *_: None)
    assert [one.work for one in told.skipped] == ["growth, 1,600 units"]
    assert "of memory" in told.skipped[0].reason
