"""How do sources get into a catalog?"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.failures import UsageFailure
from muniment.options import CatalogDir, print_json
from muniment.progress import shown_progress

if TYPE_CHECKING:
    from evidence.access import Label
    from index.catalog import Catalog
    from models.encoder import Encoder
    from server.ingest import Outcome

Texts = list[str]

NO_LABEL: dict[str, object] = {
    "public": False,
    "tenant": None,
    "roles": [],
    "purposes": [],
    "regions": [],
    "cases": [],
}


def run(
    directory: CatalogDir,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="files or folders", show_default=False)],
    public: Annotated[bool, typer.Option("--public", help="records without a label become public")] = False,
    tenant: Annotated[str | None, typer.Option("--tenant", help="... or belong to this tenant")] = None,
    role: Annotated[Texts | None, typer.Option("--role", help="... restricted to a role (repeat)")] = None,
    purpose: Annotated[Texts | None, typer.Option("--purpose", help="... to a purpose (repeat)")] = None,
    region: Annotated[Texts | None, typer.Option("--region", help="... to a region (repeat)")] = None,
    case: Annotated[Texts | None, typer.Option("--case", help="... to a case (repeat)")] = None,
    relabel: Annotated[bool, typer.Option("--relabel", help="give known sources the label said now")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="report what would change, and write nothing")] = False,
    source_format: Annotated[
        str, typer.Option("--format", metavar="auto|jsonl|beir|files", help="what PATH holds")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON")] = False,
) -> None:
    """Add revisions: a .jsonl of revisions, a BEIR folder, or a folder of .md and .txt files.

    Everything is read and checked before anything is written; a malformed line leaves the catalog as it was.
    Unchanged revisions are skipped, so the same command can be run again. Where an index was published already, an
    input of at most 16 MiB with at most 50,000 new encoder tokens can be searched at once; more waits for a reindex.

    Example: muniment ingest my-catalog handbook/ --tenant blue --role technician
    """
    label = {
        "public": public,
        "tenant": tenant,
        "roles": role or [],
        "purposes": purpose or [],
        "regions": region or [],
        "cases": case or [],
    }
    outcome = ingest(directory, paths, label=label, relabel=relabel, dry_run=dry_run, source_format=source_format)
    if as_json:
        print_json(outcome.record())
    else:
        print("\n".join(outcome.lines()))
        if not dry_run and outcome.report.accepted and not outcome.searchable:
            print(f"next: muniment reindex {directory}")


def ingest(
    directory: Path,
    paths: list[Path],
    *,
    label: Mapping[str, object],
    relabel: bool = False,
    dry_run: bool = False,
    source_format: str = "auto",
) -> "Outcome":
    """Take `paths` into the catalog in `directory`, showing progress; with `dry_run`, only say what that would do."""
    from evidence.source_record import UNLABELLED
    from index.catalog import Catalog
    from models.device import choose_device
    from server.ingest import Chunker, rehearse
    from server.ingest import ingest as take_in
    from server.opening import open_encoder, settings_for
    from server.source_place import SourceFileError
    from server.sources import SourceFormat, check_paths

    if source_format not in tuple(SourceFormat):
        raise UsageFailure(f"--format {source_format}: allowed are {', '.join(SourceFormat)}")
    default_label = _default_label(label)
    try:
        checked = check_paths(paths, source_format=SourceFormat(source_format), default_label=default_label)
    except SourceFileError as error:
        if error.problem == UNLABELLED:
            raise UsageFailure(f"{error}; --public or --tenant T gives one to all records without it") from None
        raise
    with Catalog.open(directory) as catalog, shown_progress() as progress:
        encoder = open_encoder(catalog, settings=settings_for("cpu"), device=choose_device("cpu"))
        chunker = Chunker.of(catalog.recipe, encoder.counter, document_window=encoder.document_window)
        if dry_run:
            return rehearse(
                catalog,
                checked,
                relabel=relabel,
                chunker=chunker,
                progress=progress,
                encode=encoder.encode_documents,
            )
        encode = encoder.encode_documents if _can_be_searched_at_once(catalog, encoder) else None
        return take_in(catalog, checked, relabel=relabel, chunker=chunker, progress=progress, encode=encode)


def _can_be_searched_at_once(catalog: "Catalog", encoder: "Encoder") -> bool:
    """Whether there is an index to search beside, and this machine makes rows of the catalog's recipe (R10)."""
    from index.analysis import analyzer_for
    from index.generation import is_published

    recipe = catalog.recipe
    makes_rows = encoder.runtime == recipe.runtime and analyzer_for(recipe).name == recipe.analyzer
    return makes_rows and is_published(catalog.directory)


def _default_label(stated: Mapping[str, object]) -> "Label | None":
    from evidence.errors import InvalidSource
    from evidence.label_record import parse_label

    if stated["public"] and stated["tenant"] is not None:
        raise UsageFailure("say only one of --public and --tenant T")
    if not stated["public"] and stated["tenant"] is None:
        if any(stated[name] for name in ("roles", "purposes", "regions", "cases")):
            raise UsageFailure("--role, --purpose, --region and --case go with --public or --tenant T")
        return None
    try:
        return parse_label(stated, path="--tenant")
    except InvalidSource as error:
        raise UsageFailure(str(error)) from None
