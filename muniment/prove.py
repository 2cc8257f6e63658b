"""Do answers change when everything is taken away that this principal may not see?"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from muniment.options import AsPrincipal, CatalogDir, ChosenDevice, ConfigFile, print_json, read_principal
from muniment.progress import shown_progress

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run(
    directory: CatalogDir,
    principal: AsPrincipal,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="a query a line: plain text, bodies of POST /v1/packets, or BEIR queries; drawn from what is visible"
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

    Exit status 0: identical. 1: they differ, and the first field that does is named.

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
    if as_json:
        print_json(proof.record())
    else:
        print("\n".join(proof.lines()))
    if proof.first is not None:
        raise typer.Exit(1)


@contextmanager
def _unwinding() -> Iterator[None]:
    """Let a signal that ends the program end it as Ctrl-C does: what was built holds texts, and must not stay."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
