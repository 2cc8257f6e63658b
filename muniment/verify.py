"""Is everything in the catalog and its index as it was written?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.options import CatalogDir, print_json
from muniment.progress import shown_progress

if TYPE_CHECKING:
    from server.rescoring import Rescored


def run(
    directory: CatalogDir,
    scores: Annotated[
        bool, typer.Option("--scores", help="also score sample queries anew with rank-bm25 and a float64 product")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON")] = False,
) -> None:
    """Check every checksum and invariant. Exit status 1 when anything is damaged, one line for each damage.

    With --scores, and nothing damaged, up to 20 queries for each of up to 24 callers are scored again by other
    implementations, over at most 20,000 of the units that each may use; one line for each difference.

    Example: muniment verify my-catalog --scores
    """
    from index.integrity import verify

    damages = [str(damage) for damage in verify(Path(directory))]
    report = _rescored(Path(directory)) if scores and not damages else None
    lines = [*damages, *(report.differences if report else ())]
    if as_json:
        print_json({"damages": damages, **({} if report is None else {"scores": report.record()})})
    else:
        for line in lines:
            print(line)
        if report is not None:
            print(report.summary())
        print(_verdict(damages, lines))
    if lines:
        raise typer.Exit(1)


def _rescored(directory: Path) -> "Rescored":
    from server.opening import settings_for
    from server.rescoring import rescore

    with shown_progress() as progress:
        return rescore(directory, settings=settings_for(), progress=progress)


def _verdict(damages: list[str], lines: list[str]) -> str:
    if damages:
        return "damaged"
    return "whole, but scores differ" if lines else "whole"
