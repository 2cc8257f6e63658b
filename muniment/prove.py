"""Do answers change when everything is taken away that this principal may not see?"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from muniment.failures import Failure
from muniment.options import AsPrincipal, CatalogDir, ChosenDevice, ConfigFile, print_json, read_principal
from muniment.progress import shown_progress


class Unread(Failure):
    """Nobody read the report."""

    def __init__(self) -> None:
        super().__init__("nobody reads the report: its pipe was closed")


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(
    directory: CatalogDir,
    principal: AsPrincipal,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="a query a line: text, or JSON (a body of POST /v1/packets, a BEIR query); drawn from what is visible"
            " unless given",
        ),
    ] = None,
    reencode: Annotated[
        bool, typer.Option("--reencode", help="encode what is visible again; its codes are copied unless asked for")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="ask the first N queries; drawn ones are 50")
    ] = None,
    device: ChosenDevice = None,
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON")] = False,
) -> None:
    """Build the catalog of what the principal may see beside the whole one, and compare whole answers of both.

    For each query: searches over each channel and packets, through the HTTP application in this process; status,
    headers and every byte of the body. Not compared: how long an answer takes, the milliseconds of `run`, answers to
    an overload (429, 503), the headers `date` and `x-request-id`. Nothing is written into DIR; what is built lies in a
    folder beside it, for its owner alone, and is removed at the end.

    Exit status 0: identical. 1: they differ, and the first field that does is named. 2: nothing was proved, since the
    catalog was written to meanwhile, the machine was overloaded, or no request was answered.

    Example: muniment prove my-catalog --as blue.json --queries questions.txt
    """
    from eval.proof.proving import prove
    from eval.proof.questions import read_questions
    from server.opening import settings_for

    asker, settings = read_principal(principal), settings_for(device, config=config)
    questions = None if queries is None else read_questions(queries, principal=asker, settings=settings)
    with _unwinding(), shown_progress() as progress:
        proof = prove(
            directory,
            asker,
            settings=settings,
            questions=questions,
            limit=limit,
            reencode=reencode,
            progress=progress,
        )
    try:
        print_json(proof.record()) if as_json else print("\n".join(proof.lines()))
        sys.stdout.flush()
    except BrokenPipeError:  # as an ordinary command it would end with 1, which here says that answers differ
        raise Unread from None
    if proof.first is not None:
        raise typer.Exit(1)


@contextmanager
def _unwinding() -> Iterator[None]:
    """Let a signal that ends the program end it as Ctrl-C does: what was built holds texts, and must not stay. Whoever
    is impatient and sends another one does not keep it from being removed."""

    def end(number: int, _: FrameType | None) -> None:
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
