"""How good is the ranking, per channel and fused, on judged queries?"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.failures import UsageFailure
from muniment.options import AsPrincipal, CatalogDir, Device, read_json_option, read_principal
from muniment.progress import shown_progress

if TYPE_CHECKING:
    from server.schemas import Channel, Fusion


def run(
    directory: CatalogDir,
    folder: Annotated[Path, typer.Argument(metavar="BEIR_FOLDER", help="queries.jsonl and qrels", show_default=False)],
    principal: AsPrincipal,
    measures: Annotated[str, typer.Option("--measures", help="nDCG, R, P, AP, RR, Success with @cutoff")] = (
        "nDCG@10 R@100"
    ),
    channel: Annotated[
        list[str] | None, typer.Option("--channel", metavar="lexical|dense|hybrid", help="repeat; all unless given")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="judgements of qrels/SPLIT.tsv; qrels.tsv or test unless given")
    ] = None,
    rerank: Annotated[bool, typer.Option("--rerank", help="rerank the best candidates")] = False,
    fusion: Annotated[str | None, typer.Option("--fusion", metavar="JSON", help="method and parameters")] = None,
    out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="write the report here")] = None,
    device: Device = "auto",
) -> None:
    """Measure ranking quality with the same pipeline that answers requests.

    The sources a query brings are those of its first 200 units; a source stands where its best unit does.

    Example: muniment eval my-catalog scifact --as public.json --measures "nDCG@10 R@100"
    """
    from eval.dataset import read_dataset
    from eval.driving import depth_of_search, evaluate_pipeline
    from eval.measures import parse_measures
    from server.opening import open_pipeline, settings_for

    named, channels, merged = parse_measures(measures), _channels(channel), _fusion(fusion)
    asker = read_principal(principal)
    settings = settings_for(device)
    depth_of_search(named, merged, max_k=settings.max_k)
    if out is not None and not out.parent.is_dir():
        raise UsageFailure(f"--json {out}: there is no folder {out.parent}")
    dataset = read_dataset(folder, split=split)
    with open_pipeline(directory, settings=settings) as pipeline, shown_progress() as progress:
        report = evaluate_pipeline(
            pipeline,
            dataset,
            principal=asker,
            measures=named,
            channels=channels,
            rerank=rerank,
            fusion=merged,
            max_k=settings.max_k,
            progress=progress,
        )
    if out is not None:
        out.write_text(json.dumps(report, indent=2) + "\n")
    _show(report)


def _channels(asked: list[str] | None) -> "tuple[Channel, ...]":
    from server.schemas import Channel

    every = (Channel.LEXICAL, Channel.DENSE, Channel.HYBRID)
    unknown = [name for name in asked or () if name not in every]
    if unknown:
        raise UsageFailure(f"--channel {unknown[0]}: allowed are {', '.join(every)}")
    return tuple(one for one in every if not asked or one.value in asked)


def _fusion(asked: str | None) -> "Fusion":
    from server.errors import Invalid
    from server.parsing import parse
    from server.schemas import Fusion

    if asked is None:
        return Fusion()
    try:
        return parse(read_json_option(asked, "--fusion"), Fusion)
    except Invalid as error:
        raise UsageFailure(f"--fusion: {error}") from None


def _show(report: dict[str, object]) -> None:
    channels, degraded = report["channels"], report["degraded"]
    assert isinstance(channels, dict)
    assert isinstance(degraded, dict)
    for name, figures in channels.items():
        print(f"{name:8} " + "  ".join(f"{measure} {value:.4f}" for measure, value in figures.items()))
    print(f"{report['queries']} queries")
    for name, notes in degraded.items():
        for note in notes:
            print(f"degraded: {name}: {note}", file=sys.stderr)
