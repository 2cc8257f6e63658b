"""Which passages match, for this principal, on the catalog's own machine?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from muniment.options import (
    AsPrincipal,
    CatalogDir,
    ChosenDevice,
    ConfigFile,
    Json,
    print_json,
    read_json_option,
    read_principal,
)


def run(
    directory: CatalogDir,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="the question", show_default=False)],
    principal: AsPrincipal,
    k: Annotated[int, typer.Option("-k", help="hits wanted")] = 10,
    channel: Annotated[
        str, typer.Option("--channel", metavar="hybrid|lexical|dense", help="which rankings to use")
    ] = "hybrid",
    rerank: Annotated[bool, typer.Option("--rerank", help="rerank the best candidates")] = False,
    as_of: Annotated[str | None, typer.Option("--as-of", help="a moment in the past, RFC 3339 with a zone")] = None,
    use: Annotated[
        str, typer.Option("--use", metavar="current|historical|draft", help="what evidence is wanted for")
    ] = "current",
    purpose: Annotated[str | None, typer.Option("--purpose", help="a purpose granted to the principal")] = None,
    subject: Annotated[str | None, typer.Option("--subject", help="what the evidence must apply to")] = None,
    filter_json: Annotated[str | None, typer.Option("--filter", metavar="JSON", help="any-of per field")] = None,
    fusion: Annotated[str | None, typer.Option("--fusion", metavar="JSON", help="method and parameters")] = None,
    catalog_version: Annotated[
        str | None, typer.Option("--catalog-version", help="the version to search, or nothing (`stale-version`)")
    ] = None,
    device: ChosenDevice = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Rank what the principal may use.

    Example: muniment search my-catalog "upload limit" --as blue.json -k 5
    """
    from server.opening import open_pipeline, settings_for
    from server.parsing import parse
    from server.schemas import SearchRequest

    body: dict[str, object] = {
        "query": query,
        "k": k,
        "channel": channel,
        "rerank": rerank,
        "as_of": as_of,
        "use": use,
        "purpose": purpose,
        "subject": subject,
        "catalog_version": catalog_version,
    }
    if filter_json is not None:
        body["filter"] = read_json_option(filter_json, "--filter")
    if fusion is not None:
        body["fusion"] = read_json_option(fusion, "--fusion")
    request = parse(body, SearchRequest)
    asker = read_principal(principal)
    with open_pipeline(Path(directory), settings=settings_for(device, config=config)) as pipeline:
        answer = pipeline.search(request, asker)
    if as_json:
        print_json(answer)
    else:
        _show(answer)


def _show(answer: Mapping[str, object]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(show_edge=False, pad_edge=False)
    for name in ("", "source", "heading", "lexical", "dense", "text"):
        table.add_column(name, overflow="fold" if name == "text" else "ellipsis", max_width=72)
    hits = answer["hits"]
    assert isinstance(hits, list)
    for position, hit in enumerate(hits, start=1):
        source, ranks = hit["source"], hit["ranks"]
        excerpt = " ".join(hit["text"].split())[:200]
        table.add_row(
            str(position),
            Text(f"{hit['namespace']}/{source['source_id']}@{source['revision']}"),
            Text(" > ".join(hit["heading"])),
            str(ranks.get("lexical", "-")),
            str(ranks.get("dense", "-")),
            Text(excerpt),
        )
    if hits:
        console.print(table)
    else:
        console.print(f"no hits ({answer['disposition']})")
    degraded = answer["degraded"]
    assert isinstance(degraded, list)
    for note in degraded:
        console.print(Text(f"degraded: {note}"))
