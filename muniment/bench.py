"""How fast is it here, side by side with its peers?"""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.failures import Negative, UsageFailure
from muniment.progress import shown_progress

if TYPE_CHECKING:
    import torch

    from eval.bench.rounds import Comparison, Effort

SUITES = ("encoder", "dense", "lexical")


def run(
    suite: Annotated[
        str | None, typer.Argument(metavar="[SUITE]", help="encoder, dense or lexical; all unless given")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda", help="where ours runs")] = "cpu",
    out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="write the figures here")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="tiny sizes, to see that it runs; no figures to quote")
    ] = False,
) -> None:
    """Measure against the peers, in turn in one process, after the answers were found equal.

    Prints medians of five rounds and how many times as long the peer takes, with the least and the most of a round.
    Exit status 1 when answers differ.

    Example: muniment bench dense --json dense.json
    """
    from eval.bench.errors import AnswersDiffer
    from eval.bench.machine import machine, versions
    from eval.bench.rounds import Effort
    from models.device import choose_device

    if suite is not None and suite not in SUITES:
        raise UsageFailure(f"no suite named {suite}: there are {', '.join(SUITES)}")
    if out is not None and not out.parent.is_dir():
        raise UsageFailure(f"--json {out}: there is no folder {out.parent}")
    effort = Effort.QUICK if quick else Effort.FULL
    chosen = choose_device(device)
    measured: dict[str, list[Comparison]] = {}
    with shown_progress() as progress:
        suites = {name: work for name, work in _suites(chosen, effort).items() if suite in (None, name)}
        for done, (name, work) in enumerate(suites.items(), start=1):
            try:
                measured[name] = work()
            except AnswersDiffer as error:
                raise Negative(str(error)) from None
            for comparison in measured[name]:
                print(comparison.line(), flush=True)
            progress("measure suites", done, len(suites))
    if out is not None:
        report = {
            "command": shlex.join(["muniment", *sys.argv[1:]]),
            "effort": effort.value,
            "machine": machine(chosen),
            "versions": versions(),
            "suites": {name: [one.record() for one in comparisons] for name, comparisons in measured.items()},
        }
        out.write_text(json.dumps(report, indent=2) + "\n")


def _suites(device: "torch.device", effort: "Effort") -> "dict[str, Callable[[], list[Comparison]]]":
    from eval.bench import dense, encode, lexical
    from server.settings import load_settings

    return {
        "encoder": lambda: encode.run(device, effort, cache=load_settings().cache),
        "dense": lambda: dense.run(device, effort),
        "lexical": lambda: lexical.run(effort),
    }
