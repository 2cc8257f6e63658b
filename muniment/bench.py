"""How fast is it here, side by side with its peers?"""

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.failures import Negative, UsageFailure
from muniment.progress import shown_progress

if TYPE_CHECKING:
    from eval.bench.measured import Measured


def run(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar="[SUITE]...", help="which to run, by name; all unless given")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda", help="where ours runs")] = "cpu",
    out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="write the figures here")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="tiny sizes, to see that it runs; no figures to quote")
    ] = False,
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="DIR", help="draw the figures into this folder")
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="FILE", help="with --plots: figures of an earlier run; nothing is measured"),
    ] = None,
) -> None:
    """Measure against the peers, in turn with them, after the answers were found equal.

    Suites: encode, rerank, dense, approximate, lexical, pack, http, pipeline, reindex, growth, peers. Prints medians of
    several rounds, how many times as long the peer takes with the least and the most of a round, and the goal where
    there is one. Peers of the suite peers run in environments of their own, which pip makes at the first run. Exit
    status 1 when answers differ.

    Example: muniment bench dense --json dense.json
    """
    if source and (plots is None or suites or out is not None):
        raise UsageFailure("--from draws figures that are there: it goes with --plots, and with no suite and no --json")
    if plots is not None and find_spec("matplotlib") is None:
        raise UsageFailure("--plots needs matplotlib: install Muniment with the extra `bench`")
    for option, folder in (("--json", out and out.parent), ("--plots", plots)):
        if folder is not None and not folder.is_dir():
            raise UsageFailure(f"{option}: there is no folder {folder}")
    records = _read(source) if source else [_measure(suites or [], device, quick=quick)]
    if out is not None:
        out.write_text(json.dumps(records[0], indent=2) + "\n")
    if plots is not None:
        from eval.bench.plots import plot

        for picture in plot(records, plots):
            print(picture)


def _measure(asked: list[str], device: str, *, quick: bool) -> dict[str, object]:
    from rich.console import Console

    from eval.bench.errors import BenchError
    from eval.bench.report import report, show
    from eval.bench.rounds import Effort
    from eval.bench.suites import SUITES, Bench
    from models.device import choose_device
    from server.settings import load_settings

    for name in asked:
        if name not in SUITES:
            raise UsageFailure(f"no suite named {name}: there are {', '.join(SUITES)}")
    chosen = choose_device(device)
    effort = Effort.QUICK if quick else Effort.FULL
    console = Console()
    measured: dict[str, Measured] = {}
    wanted = [name for name in SUITES if not asked or name in asked]
    with shown_progress() as progress:
        bench = Bench(device=chosen, effort=effort, cache=load_settings().cache, progress=progress)
        for done, name in enumerate(wanted, start=1):
            try:
                measured[name] = SUITES[name](bench)
            except BenchError as error:
                raise Negative(str(error)) from None
            show(name, measured[name], console)
            progress("measure suites", done, len(wanted))
    return report(measured, command=shlex.join(["muniment", *sys.argv[1:]]), effort=effort, device=chosen)


def _read(files: list[Path]) -> list[dict[str, object]]:
    from eval.bench.plots import read_reports

    try:
        return [dict(one) for one in read_reports(files)]
    except OSError as error:
        raise UsageFailure(f"{error.filename}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise UsageFailure(f"--from: {error}") from None
