"""How does a catalog get the index that serves it?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evidence.counted import counted
from muniment.failures import UsageFailure
from muniment.options import CatalogDir, Device
from muniment.progress import shown_progress

if TYPE_CHECKING:
    from index.reindex import ReindexReport


def run(
    directory: CatalogDir,
    resume: Annotated[  # noqa: ARG001 - every run resumes; the option only says so
        bool, typer.Option("--resume", help="go on where a stopped run was; every run does, this only says so")
    ] = False,
    workers: Annotated[int, typer.Option("--workers", min=1, help="threads that encode")] = 1,
    device: Device = "auto",
) -> None:
    """Encode what is missing, build a generation and publish it whole.

    Stopped at any moment, the next run goes on and repeats at most one batch; the old index serves meanwhile.

    Example: muniment reindex my-catalog
    """
    if workers < 1:
        raise UsageFailure("--workers must be at least 1")
    report = reindex(directory, device=device, workers=workers)
    print(
        f"published {report.generation}: {counted(report.units, 'unit')}; {report.encoded} encoded"
        f" ({report.tokens} tokens in {report.encode_seconds:.1f} s,"
        f" {report.tokens / max(report.encode_seconds, 1e-9):.0f} tokens/s), {report.reused} reused"
    )


def reindex(directory: Path, *, device: str = "auto", workers: int = 1) -> "ReindexReport":
    """Bring the index of the catalog in `directory` up to date, showing progress."""
    from index.analysis import analyzer_for
    from index.catalog import Catalog
    from index.reindex import Progress, Stage
    from index.reindex import reindex as build
    from models.device import choose_device
    from server.opening import open_encoder, settings_for

    settings = settings_for(device)
    with Catalog.open(directory) as catalog, shown_progress() as show:
        encoder = open_encoder(catalog, settings=settings, device=choose_device(settings.device.value))

        def report(progress: Progress) -> None:
            if progress.stage is Stage.ENCODE:
                show("encode tokens", progress.tokens_done, progress.tokens_total)
            elif progress.stage is Stage.ANALYZE:
                show("analyze units", progress.done, progress.total)

        return build(catalog, encoder=encoder, analyzer=analyzer_for(catalog.recipe), progress=report, workers=workers)
