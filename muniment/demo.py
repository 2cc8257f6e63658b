"""How does a newcomer see a real packet in one command?

Builds the sample catalog where there is none, makes a token for each sample principal, serves, and prints one
`curl` to paste. `make serve` calls it.
"""

import json
import os
import shlex
import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

TOKEN_LIFETIME_S = 30 * 86400
TOKENS = Path(".muniment") / "tokens.json"


def run(
    catalog: Annotated[Path, typer.Option("--catalog", help="where the sample catalog is, or is built")] = Path(
        ".muniment/sample"
    ),
    host: Annotated[str, typer.Option("--host", help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="port to listen on")] = 8000,
    device: Annotated[str, typer.Option("--device", metavar="auto|cpu|cuda", help="where tensors live")] = "auto",
) -> None:
    """Serve the sample catalog, building it first where there is none.

    Example: muniment demo --port 8123
    """
    from server.opening import settings_for
    from server.serving import serve

    if not catalog.exists():
        build(catalog, device=device)
    tokens = make_tokens(catalog)
    settings = settings_for(device, host=host, port=port)
    serve(catalog, settings=settings, on_ready=lambda url: _introduce(url, tokens))


def build(catalog: Path, *, device: str) -> None:
    """Build the sample catalog beside its place and move it there when it is whole."""
    from muniment.ingest import NO_LABEL, ingest
    from muniment.initialize import initialize
    from muniment.reindex import reindex
    from muniment.shipped import SOURCES

    print(f"building the sample catalog in {catalog}", flush=True)
    catalog.parent.mkdir(parents=True, exist_ok=True)
    unfinished = catalog.with_name(catalog.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    initialize(unfinished, device=device)
    ingest(unfinished, [SOURCES], label=NO_LABEL)
    reindex(unfinished, device=device)
    unfinished.rename(catalog)


def make_tokens(catalog: Path) -> dict[str, str]:
    """A token for each sample principal, also kept in TOKENS, readable by its owner alone."""
    from muniment.options import read_principal
    from muniment.shipped import PRINCIPALS
    from server.keys import load_key
    from server.tokens import issue

    key = load_key(catalog)
    now_s = int(time.time())
    tokens = {
        path.stem: issue(read_principal(path), key=key, now_s=now_s, lifetime_s=TOKEN_LIFETIME_S)
        for path in sorted(PRINCIPALS.glob("*.json"))
    }
    TOKENS.parent.mkdir(parents=True, exist_ok=True)
    TOKENS.unlink(missing_ok=True)
    with os.fdopen(os.open(TOKENS, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(tokens, file, indent=2)
    return tokens


def _introduce(url: str, tokens: dict[str, str]) -> None:
    from muniment.shipped import demo_request

    principal, body = demo_request()
    print("\nDevelopment tokens, one for each sample principal, in force for 30 days:\n")
    for name, token in tokens.items():
        print(f"  {name}: {token}\n")
    print(f"(kept in {TOKENS})\n")
    print("Paste this to get an evidence packet:\n")
    print(
        f"curl -s {url}/v1/packets"
        f" -H {shlex.quote('authorization: Bearer ' + tokens[principal])}"
        " -H 'content-type: application/json'"
        f" -d {shlex.quote(json.dumps(body, ensure_ascii=False))}\n"
    )
    print(f"Muniment serves on {url} (API document: {url}/docs). Stop with Ctrl-C.", flush=True)
