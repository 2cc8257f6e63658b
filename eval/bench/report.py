"""How are figures shown on a terminal, and kept as JSON?

The JSON holds all that plots and documents need: machine, versions, sizes, command.
"""

import statistics
from collections.abc import Iterator, Mapping

import torch
from rich.console import Console
from rich.table import Table

from eval.bench.machine import machine, versions
from eval.bench.measured import Curve, Measured
from eval.bench.rounds import Comparison, Effort, milliseconds

_MET = {True: "[green]met[/]", False: "[red]not met[/]", None: ""}


def report(
    measured: Mapping[str, Measured], *, command: str, effort: Effort, device: torch.device
) -> dict[str, object]:
    """All suites as JSON."""
    return {
        "command": command,
        "effort": effort.value,
        "machine": machine(device),
        "versions": versions(),
        "suites": {name: one.record() for name, one in measured.items()},
    }


def show(name: str, measured: Measured, console: Console) -> None:
    """Print a suite: tables on a terminal, elsewhere a line for each thing told, whatever its length."""
    if not console.is_terminal:
        for line in measured.lines():
            console.print(line, soft_wrap=True, markup=False, highlight=False)
        return
    for table in tables(name, measured):
        console.print(table)
    for note in measured.notes():
        console.print(note, markup=False, highlight=False)


def tables(name: str, measured: Measured) -> Iterator[Table]:
    """One of comparisons, one for each curve's work."""
    if measured.comparisons:
        table = Table(title=name, title_justify="left")
        for heading in ("work", "ours", "time", "peer", "time", "ratio", "goal", ""):
            table.add_column(heading, justify="right" if heading in ("time", "ratio") else "left")
        for one in measured.comparisons:
            table.add_row(*_cells(one))
        yield table
    works = dict.fromkeys(curve.work for curve in measured.curves)
    for work in works:
        yield _grown(f"{name}: {work}", [curve for curve in measured.curves if curve.work == work])


def _cells(one: Comparison) -> tuple[str, ...]:
    low, high = one.ratios
    return (
        one.work,
        one.us,
        milliseconds(statistics.median(one.ours)),
        one.peer,
        milliseconds(statistics.median(one.theirs)),
        f"x{one.ratio:.2f}\n{low:.2f} to {high:.2f}",
        "" if one.goal is None else f"{one.goal.name}: {one.goal}",
        _MET[one.is_met],
    )


def _grown(title: str, curves: list[Curve]) -> Table:
    """p50 and memory of each series, a column a size."""
    sizes = sorted({point.size for curve in curves for point in curve.points})
    table = Table(title=title, title_justify="left")
    table.add_column("series")
    for size in sizes:
        table.add_column(f"{size:,}", justify="right")
    for curve in curves:
        by_size = {point.size: point for point in curve.points}
        cells = (
            f"{milliseconds(by_size[size].p50_s)}\n{by_size[size].resident_bytes / 2**20:,.0f} MiB"
            if size in by_size
            else ""
            for size in sizes
        )
        table.add_row(curve.series, *cells)
    return table
