"""Why is a unit in a packet, and if it is not, at which step did it leave?"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from evidence.counted import counted
from muniment.failures import UsageFailure
from muniment.options import AsPrincipal, CatalogDir, ChosenDevice, ConfigFile, print_json, read_json, read_principal


def run(
    directory: CatalogDir,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="the question", show_default=False)],
    unit: Annotated[
        str, typer.Argument(metavar="HANDLE-OR-UNIT", help="a citation handle, or a unit id", show_default=False)
    ],
    principal: AsPrincipal,
    request_file: Annotated[
        Path | None, typer.Option("--request", metavar="FILE", help="the body of POST /v1/packets without `query`")
    ] = None,
    device: ChosenDevice = None,
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="print everything as JSON")] = False,
) -> None:
    """Follow one unit through a request. For the operator: it tells about units that the principal may not see.

    Exit status 1 when the packet does not hold the unit.

    Example: muniment explain my-catalog "What may I upload?" EV-5WQ8R2ZJ7D0M3KTX --as blue.json
    """
    from server.errors import UnknownUnit
    from server.explaining import explain
    from server.opening import open_pipeline, settings_for
    from server.parsing import parse
    from server.schemas import PacketRequest

    body = {} if request_file is None else read_json(request_file)
    if not isinstance(body, dict) or "query" in body:
        raise UsageFailure(f"{request_file}: must be a JSON object without `query`")
    request = parse({**body, "query": query}, PacketRequest)
    asker = read_principal(principal)
    with open_pipeline(Path(directory), settings=settings_for(device, config=config)) as pipeline:
        try:
            explained = explain(pipeline, request, asker, named=unit)
        except UnknownUnit as error:
            raise UsageFailure(str(error)) from None
    if as_json:
        print_json(explained)
    else:
        for line in lines(explained):
            print(line)
    if explained["left_at"] is not None:
        raise typer.Exit(1)


def lines(explained: Mapping[str, Any]) -> Iterator[str]:
    """What `explain` found, for a person, in the order of the path."""
    yield f"{explained['unit_id']}  {explained['handle']}"
    for dimension in explained.get("label", []):
        if dimension["needs"]:
            meets = "met" if dimension["meets"] else "NOT MET"
            needs, holds = " or ".join(dimension["needs"]), ", ".join(dimension["holds"]) or "nothing"
            yield f"label      {dimension['dimension']}: {meets}; needs {needs}, the principal holds {holds}"
    if "standing" in explained:
        yield f"standing   {explained['standing']}"
    for reason in explained.get("because", []):
        yield f"           {reason}"
    for name, place in explained.get("channels", {}).items():
        offered = "" if place["rank"] is None or place["offered"] else ", deeper than the channel offers"
        yield f"{name:<10} {_place(place)}{offered}"
    for name in ("fused", "reranked"):
        if explained.get(name) is not None:
            yield f"{name:<10} {_place(explained[name])}"
    for group in explained.get("conflict_groups", []):
        yield f"conflict   {group['id']}, {counted(len(group['members']), 'unit')}"
    if explained.get("packet") is not None:
        packet = explained["packet"]
        yield f"packet     {packet['disposition']}, {packet['state']}"
    yield f"result     {_result(explained)}"


def _place(place: Mapping[str, Any]) -> str:
    if place["rank"] is None:
        return f"not among {place['of']}"
    return f"rank {place['rank']} of {place['of']}, score {place['score']}"


def _result(explained: Mapping[str, Any]) -> str:
    if explained["left_at"] is None:
        return f"in the packet ({explained['decision']['reason']})"
    omission = explained.get("omission")
    return f"left at {explained['left_at']}" + (f" ({omission['reason']})" if omission else "")
