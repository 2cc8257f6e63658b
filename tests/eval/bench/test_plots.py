"""Tests of eval/bench/plots.py: pictures come from the JSON alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from eval.bench.measured import Measured
from eval.bench.plots import MISSED, NO_GOAL, figures, plot, read_reports
from tests.eval.bench.builders import comparison, curve, load, ratio_goal

PNG = b"\x89PNG"


def record(**suites: Measured) -> dict[str, Any]:
    """A report as a file holds it."""
    written: dict[str, Any] = json.loads(json.dumps({"suites": {name: one.record() for name, one in suites.items()}}))
    return written


def drawn(report: dict[str, Any], folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    return {file.name: file.read_bytes() for file in plot([report], folder)}


def test_ratios_growth_and_stages_have_a_picture_each_and_what_is_not_there_has_none(tmp_path: Path) -> None:
    report = record(
        dense=Measured(comparisons=(comparison(goal=ratio_goal(3.0)), comparison(work="more sums"))),
        growth=Measured(curves=(curve(0.001, 0.002), curve(0.001, 0.3, work="hybrid search"))),
        pipeline=Measured(loads=(load(0.1, 0.2),)),
        http=Measured(),
    )

    pictures = drawn(report, tmp_path / "plots")
    assert list(pictures) == ["dense.png", "growth-1.png", "growth-2.png", "pipeline-stages.png"]
    assert all(picture.startswith(PNG) for picture in pictures.values())


def test_equal_figures_have_equal_bytes_and_another_ratio_has_others(tmp_path: Path) -> None:
    first = record(dense=Measured(comparisons=(comparison(),)))
    other = record(dense=Measured(comparisons=(comparison(theirs=(0.006, 0.006)),)))

    one, again, two = (
        drawn(report, tmp_path / str(number))["dense.png"] for number, report in enumerate((first, first, other))
    )
    assert one == again
    assert one != two


def test_a_bar_is_as_long_as_the_ratio_and_the_mark_stands_at_the_goal() -> None:
    """Of two comparisons, x4 each, the second has a goal of 9, which it misses."""
    report = record(dense=Measured(comparisons=(comparison(), comparison(goal=ratio_goal(9.0)))))

    (axes,) = figures([report])["dense"].axes
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    assert [bar.get_width() for bar in bars] == pytest.approx([4.0, 4.0])
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [NO_GOAL, MISSED]
    marks = [tuple(line.get_xdata()) for line in axes.lines if line.get_linewidth() > 2]  # type: ignore[arg-type]  # plain numbers
    assert marks == [(9.0, 9.0)]


def test_a_suite_that_was_measured_again_is_drawn_as_it_was_last() -> None:
    first = record(dense=Measured(comparisons=(comparison(),)))
    again = record(dense=Measured(comparisons=(comparison(theirs=(0.006, 0.006)),)))

    (axes,) = figures([first, again])["dense"].axes
    assert [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)] == pytest.approx([6.0])


@pytest.mark.parametrize("text", ["[]", '{"suites": 3}', "{"])
def test_a_file_without_figures_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    file.write_text(text)

    with pytest.raises(ValueError, match=r"holds no figures|Expecting"):
        read_reports([file])
