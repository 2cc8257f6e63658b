"""Tests of eval/bench/measured.py, report.py and the verdict on growth."""

from io import StringIO

import pytest
import torch
from rich.console import Console

from eval.bench.growth import verdict
from eval.bench.measured import Measured, Skipped, percentile
from eval.bench.report import report, show
from eval.bench.rounds import Effort
from tests.eval.bench.builders import comparison, curve, load, ratio_goal


@pytest.mark.parametrize(("percent", "expected"), [(50, 2.0), (75, 3.0), (76, 4.0), (99, 4.0), (100, 4.0)])
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(percent: int, expected: float) -> None:
    assert percentile((1.0, 2.0, 3.0, 4.0), percent) == expected


def test_a_load_tells_rate_percentiles_stages_and_memory() -> None:
    measured = load(0.1, 0.2, 0.3, 0.4)

    record = measured.record()
    assert (record["answers"], record["failed"], record["answers_per_s"]) == (4, 1, 2.0)
    assert (record["p50_s"], record["p95_s"], record["p99_s"]) == (0.2, 0.4, 0.4)
    assert record["resident_bytes"] == [2**20, 3 * 2**20, 2 * 2**20]
    assert "resident 1 MiB at the start, then 3, 2 MiB" in measured.line()


@pytest.mark.parametrize(("slowest", "is_met"), [(0.0024, True), (0.0025, False)])
def test_growth_is_judged_by_the_channel_that_grows_most_over_the_fixed_rows(slowest: float, *, is_met: bool) -> None:
    """Within 1.2: 2 ms may become 2.4 ms. What everybody sees may cost more, and is not judged."""
    curves = [
        curve(0.002, 0.001, slowest, work="dense search"),
        curve(0.002, 0.001, 0.001, work="lexical search"),
        curve(0.002, 0.001, 9.0, work="dense search", series="everything visible"),
    ]

    judged = verdict(curves)
    assert judged.is_met is is_met
    assert judged.found.startswith(f"from 10 to 1,000 units: dense search x{slowest / 0.002:.2f}")


@pytest.mark.parametrize(("least", "told"), [(3.0, "C0 at least x3: met"), (5.0, "C0 at least x5: not met")])
def test_the_line_of_a_comparison_names_its_goal_and_whether_it_is_met(least: float, told: str) -> None:
    assert comparison(goal=ratio_goal(least)).line().endswith(told)


def test_where_it_is_piped_every_thing_told_is_one_line_however_long() -> None:
    written = StringIO()
    measured = Measured(
        comparisons=(comparison(work="a " + "very " * 60 + "long work"),),
        curves=(curve(0.001, 0.002),),
        loads=(load(0.1),),
        skipped=(Skipped(work="peers", reason="not installed"),),
    )

    show("dense", measured, Console(file=written, width=40))
    assert written.getvalue().splitlines() == measured.lines()
    assert len(measured.lines()) == 4


def test_on_a_terminal_a_table_has_median_ratio_spread_goal_and_verdict() -> None:
    written = StringIO()
    one = comparison(ours=(0.001, 0.001), theirs=(0.004, 0.006), goal=ratio_goal(9.0))

    show(
        "dense", Measured(comparisons=(one,)), Console(file=written, width=160, force_terminal=True, color_system=None)
    )
    table = written.getvalue()
    for cell in ("sums", "1.00 ms", "5.00 ms", "x5.00", "4.00 to 6.00", "C0: at least x9", "not met"):
        assert cell in table


def test_a_report_holds_machine_versions_command_and_every_suite() -> None:
    written = report(
        {"dense": Measured(comparisons=(comparison(),))},
        command="muniment bench dense",
        effort=Effort.QUICK,
        device=torch.device("cpu"),
    )

    assert (written["command"], written["effort"]) == ("muniment bench dense", "quick")
    assert {"processor", "cores", "memory_bytes"} <= written["machine"].keys()  # type: ignore[attr-defined]  # a report is JSON
    assert written["suites"]["dense"]["comparisons"][0]["ratio"]["median"] == pytest.approx(4.0)  # type: ignore[index]  # as above
