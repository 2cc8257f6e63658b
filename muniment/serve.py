"""How is a catalog served?"""

from pathlib import Path
from typing import Annotated

import typer

from muniment.options import CatalogDir


def run(
    directory: CatalogDir,
    host: Annotated[str | None, typer.Option("--host", help="address to listen on")] = None,
    port: Annotated[int | None, typer.Option("--port", help="port to listen on")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="a TOML file of settings")] = None,
    device: Annotated[str | None, typer.Option("--device", metavar="auto|cpu|cuda", help="where tensors live")] = None,
) -> None:
    """Serve a catalog over HTTP until interrupted.

    Example: muniment serve my-catalog --port 8123
    """
    from server.opening import settings_for
    from server.serving import serve

    serve(Path(directory), settings=settings_for(device, host=host, port=port, config=config), on_ready=_say_ready)


def _say_ready(url: str) -> None:
    print(f"Muniment serves on {url} (API document: {url}/docs). Stop with Ctrl-C.", flush=True)
