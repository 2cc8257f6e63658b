"""How do measured figures look?

Pictures from the JSON alone, so that they can be made again from what is committed: for each suite the ratio of every
comparison beside its goal, growth on logarithmic axes, and where the time of a request goes. One colour means ours or
a goal that is met, another one that is not; no picture holds a figure that the JSON does not.
"""

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from eval.bench.measured import OUTSIDE

Record = Mapping[str, Any]

MET, MISSED, NO_GOAL = "#2a7f62", "#c8553d", "#5b7c99"
_SERIES = ("#2a7f62", "#5b7c99", "#c8553d", "#8a6fa8", "#b58a2e", "#444444")
_DPI = 150
_WRAP = 46  # code points of a label's line


def plot(reports: Sequence[Record], folder: Path) -> list[Path]:
    """Write the pictures of these reports into `folder`; which files they are, in order of their names.

    A suite that several reports hold is taken from the last of them.
    """
    written = []
    for name, figure in figures(reports).items():
        file = folder / f"{name}.png"
        FigureCanvasAgg(figure)
        figure.savefig(file, dpi=_DPI, metadata={"Software": None})  # so that equal figures have equal bytes
        written.append(file)
    return sorted(written)


def figures(reports: Sequence[Record]) -> dict[str, Figure]:
    """Name -> picture, as `plot` writes them."""
    suites: dict[str, Record] = {}
    for report in reports:
        suites.update(report["suites"])
    return dict(picture for name, suite in suites.items() for picture in _pictures(name, suite))


def read_reports(files: Sequence[Path]) -> list[Record]:
    """The reports in these files. Raises OSError, or ValueError for a file that holds none."""
    reports: list[Record] = []
    for file in files:
        report = json.loads(file.read_text("utf-8"))
        if not isinstance(report, dict) or not isinstance(report.get("suites"), dict):
            raise ValueError(f"{file} holds no figures of `muniment bench`")
        reports.append(report)
    return reports


def _pictures(name: str, suite: Record) -> list[tuple[str, Figure]]:
    found = []
    if suite["comparisons"]:
        found.append((name, _ratios(name, suite["comparisons"])))
    for number, work in enumerate(dict.fromkeys(curve["work"] for curve in suite["curves"]), start=1):
        curves = [curve for curve in suite["curves"] if curve["work"] == work]
        found.append((f"{name}-{number}", _growth(work, curves)))
    if suite["loads"]:
        found.append((f"{name}-stages", _stages(suite["loads"])))
    return found


def _ratios(name: str, comparisons: Sequence[Record]) -> Figure:
    """A bar a comparison: how many times as long the peer takes, the least and the most of a round, and the goal."""
    figure, axes = _axes(height=1.6 + 0.62 * len(comparisons))
    places = range(len(comparisons))
    ratios = [one["ratio"]["median"] for one in comparisons]
    axes.barh(places, ratios, color=[_colour(one["goal"]) for one in comparisons], height=0.55, zorder=2)
    spreads = [[one["ratio"]["median"] - one["ratio"]["min"] for one in comparisons]]
    spreads.append([one["ratio"]["max"] - one["ratio"]["median"] for one in comparisons])
    axes.errorbar(ratios, places, xerr=spreads, fmt="none", ecolor="#222222", elinewidth=1, capsize=3, zorder=3)
    for place, one in zip(places, comparisons, strict=True):
        least = None if one["goal"] is None else one["goal"]["ratio_at_least"]
        if least is not None:
            axes.plot([least, least], [place - 0.38, place + 0.38], color="black", linewidth=2.2, zorder=4)
        axes.annotate(
            f"x{one['ratio']['median']:.3g}" + ("" if least is None else f"  (goal x{least:g})"),
            (max(one["ratio"]["max"], least or 0), place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.axvline(1, color="#999999", linewidth=1, linestyle=":", zorder=1)
    axes.set_yticks(list(places), [_label(f"{one['work']}, against {one['peer']}") for one in comparisons], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.8), high * 3)
    axes.set_xlabel("how many times as long the peer takes (logarithmic); the black mark is the goal")
    axes.set_title(f"{name}: median of the rounds, with the least and the most of a round", loc="left", fontsize=10)
    return figure


def _growth(work: str, curves: Sequence[Record]) -> Figure:
    """p50 over the size, a line a series; memory below it."""
    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    times, memory = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for curve, colour in zip(curves, _SERIES * len(curves), strict=False):
        sizes = [point["size"] for point in curve["points"]]
        p50 = [1000 * point["p50_s"] for point in curve["points"]]
        times.plot(sizes, p50, marker="o", color=colour, label=curve["series"])
        held = [point["resident_bytes"] / 2**20 for point in curve["points"]]
        if all(size > 0 for size in held):
            memory.plot(sizes, held, marker="o", color=colour, label=curve["series"])
    times.set_ylabel("p50 of a search, ms")
    memory.set_ylabel("resident memory, MiB")
    memory.set_xlabel("units in the catalog")
    for axes in (times, memory):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(*_decades(axes.get_ylim()))
        axes.set_xlim(*_decades(axes.get_xlim()))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axis.set_minor_formatter(NullFormatter())
        axes.grid(visible=True, which="major", color="#dddddd")
        _bare(axes)
    times.legend(frameon=False, fontsize=8)
    times.set_title(work, loc="left", fontsize=10)
    return figure


def _stages(loads: Sequence[Record]) -> Figure:
    """A bar a load: the mean milliseconds of a request by stage, one after the other. What passed outside the pipeline
    is told beside it: among many clients that is mostly waiting, and would hide the rest."""
    figure, axes = _axes(height=1.8 + 0.7 * len(loads))
    names = [stage for stage in dict.fromkeys(each for load in loads for each in load["stages_s"]) if stage != OUTSIDE]
    for stage, colour in zip(names, _SERIES * len(names), strict=False):
        means = [1000 * load["stages_s"].get(stage, 0.0) for load in loads]
        begun = [
            1000 * sum(load["stages_s"].get(before, 0.0) for before in names[: names.index(stage)]) for load in loads
        ]
        axes.barh(range(len(loads)), means, left=begun, color=colour, height=0.5, label=stage, zorder=2)
    labels = [
        _label(
            f"{load['work']}: {load['answers_per_s']:,.0f} answers/s, p50 {1000 * load['p50_s']:,.0f} ms,"
            f" of it {1000 * load['stages_s'].get(OUTSIDE, 0.0):,.0f} ms {OUTSIDE}"
        )
        for load in loads
    ]
    axes.set_yticks(range(len(loads)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("mean milliseconds of a request in the pipeline, by stage")
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _axes(*, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(9.5, height), layout="constrained")
    axes = figure.subplots()
    _bare(axes)
    axes.grid(visible=True, axis="x", color="#e4e4e4", zorder=0)
    return figure, axes


def _decades(limits: tuple[float, float]) -> tuple[float, float]:
    """Whole powers of ten around what is drawn, so that a small difference does not look like a large one."""
    low, high = limits
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def _bare(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def _colour(goal: Record | None) -> str:
    if goal is None:
        return NO_GOAL
    return MET if goal["met"] else MISSED


def _label(text: str) -> str:
    return textwrap.fill(text, _WRAP)
