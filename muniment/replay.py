"""Would the same answer be given now, and what differs first?"""

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
    manifest_file: Annotated[
        Path, typer.Argument(metavar="MANIFEST.json", help="a manifest, or a whole answer that holds one")
    ],
    principal: AsPrincipal,
    device: ChosenDevice = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Answer a manifest's request again, and compare layer by layer. Exit status 1 when a layer differs.

    The manifest gives the question; what may be seen comes from PRINCIPAL.json alone.

    Example: muniment replay my-catalog manifest.json --as blue.json
    """
    from server.opening import open_pipeline, open_recorder, settings_for
    from server.recalling import query_code_of
    from server.replaying import not_configured, replay

    given = read_json(manifest_file)
    manifest = given.get("manifest", given) if isinstance(given, dict) else given
    if not isinstance(manifest, dict):
        raise UsageFailure(f"{manifest_file}: must hold a manifest, one JSON object")
    asker = read_principal(principal)
    settings = settings_for(device, config=config)
    with (
        open_pipeline(Path(directory), settings=settings) as pipeline,
        open_recorder(pipeline.catalog, settings=settings) as recorder,
    ):
        verdict = replay(
            pipeline,
            manifest,
            asker,
            code_of=lambda packet_id: query_code_of(packet_id, asker, records=recorder.records),
        )
        missing = not_configured(manifest, pipeline)
    if as_json:
        print_json(verdict.record())
    else:
        print("identical" if verdict.layer is None else f"differs, first in the layer {verdict.layer.value}")
        if missing is not None:
            print(missing)
    if verdict.layer is not None:
        raise typer.Exit(1)
