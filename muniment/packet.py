"""What may be said about this question, as an evidence packet, on the catalog's own machine?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from muniment.failures import UsageFailure
from muniment.options import (
    AsPrincipal,
    CatalogDir,
    ChosenDevice,
    ConfigFile,
    Json,
    print_json,
    read_json,
    read_principal,
)


def run(
    directory: CatalogDir,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="the question", show_default=False)],
    principal: AsPrincipal,
    request_file: Annotated[
        Path | None, typer.Option("--request", metavar="FILE", help="the body of POST /v1/packets without `query`")
    ] = None,
    device: ChosenDevice = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Build an evidence packet and its manifest. Exit status 1 when the packet is not accepted.

    Example: muniment packet my-catalog "What may I upload?" --as blue.json --request limits.json
    """
    from server.edge import new_request_id
    from server.opening import open_pipeline, open_recorder, settings_for
    from server.parsing import parse
    from server.schemas import PacketRequest

    body = {} if request_file is None else read_json(request_file)
    if not isinstance(body, dict) or "query" in body:
        raise UsageFailure(f"{request_file}: must be a JSON object without `query`")
    request = parse({**body, "query": query}, PacketRequest)
    asker = read_principal(principal)
    settings = settings_for(device, config=config)
    with (
        open_pipeline(Path(directory), settings=settings) as pipeline,
        open_recorder(pipeline.catalog, settings=settings) as recorder,
    ):
        recording = recorder.begin(new_request_id())
        answer = pipeline.packet(
            request, asker, deliver=lambda answered: recording.keep(answered.body, answered.sealing)
        )
        recording.seal()
    if as_json:
        print_json(answer)
    else:
        _show(answer)
    if answer["disposition"] != "accepted":
        raise typer.Exit(1)


def _show(answer: Mapping[str, object]) -> None:
    import json

    from rich.console import Console
    from rich.text import Text

    console = Console()
    console.print(f"{answer['disposition']}, {answer['state']}: {answer['behaviour']}")
    console.print(f"packet {answer['packet_id']}")
    manifest = answer["manifest"]
    assert isinstance(manifest, Mapping)
    for note in manifest["degraded"]:
        console.print(Text(f"degraded: {note}"))
    packet, refusal = answer["packet"], answer["refusal"]
    if refusal is not None:
        console.print(Text(json.dumps(refusal, indent=2)))
    if not isinstance(packet, dict):
        return
    for role in packet["coverage"]["roles"]:
        console.print(Text(f"role {role['role']}: {role['state']} {' '.join(role['handles'])}"))
    for item in packet["evidence"]:
        where = f"{item['namespace']}/{item['source_id']}@{item['revision']}"
        console.print(Text(f"\n{item['handle']}  {where}  {item['support_role']}", style="bold"))
        console.print(Text(item["text"].strip()))
    rendered = answer["rendered"]
    assert isinstance(rendered, dict)
    tokens = "" if rendered["tokens"] is None else f", {rendered['tokens']} tokens ({rendered['tokenizer']})"
    console.print(f"\n{rendered['bytes']} bytes{tokens}")
