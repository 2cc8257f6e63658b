"""Which arguments do several commands share?"""

import re
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from evidence.access import Principal
from evidence.strict_json import InvalidJson, loads_exactly
from muniment.failures import UsageFailure

CatalogDir = Annotated[Path, typer.Argument(metavar="DIR", help="the catalog's folder", show_default=False)]
AsPrincipal = Annotated[
    Path, typer.Option("--as", metavar="PRINCIPAL.json", help="who asks: a principal file", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="print exactly the HTTP body")]
Device = Annotated[str, typer.Option("--device", metavar="auto|cpu|cuda", help="where tensors live")]
ChosenDevice = Annotated[
    str | None,
    typer.Option("--device", metavar="auto|cpu|cuda", help="where tensors live; as the settings say unless given"),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="a TOML file of settings")]

MAX_FILE_BYTES = 1 << 20  # of a principal or a request
_DURATION = re.compile(r"(\d{1,9})([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_principal(path: Path) -> Principal:
    """The principal in a file. Raises UsageFailure naming the file and what is wrong."""
    from server.scope import InvalidPrincipal, principal_of_record

    try:
        return principal_of_record(read_json(path))
    except InvalidPrincipal as error:
        raise UsageFailure(f"{path}: {error}") from None


def read_json(path: Path) -> object:
    """The strict JSON in a file, its numbers as they are written. Raises UsageFailure naming the file."""
    from server.source_place import SourceFileError, open_regular

    try:
        with open_regular(path) as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise UsageFailure(f"{path}: has more than {MAX_FILE_BYTES} bytes")
        return loads_exactly(data)
    except SourceFileError as error:
        raise UsageFailure(str(error)) from None
    except InvalidJson as error:
        raise UsageFailure(f"{path}: {error}") from None


def read_json_option(text: str, option: str) -> object:
    """The strict JSON given on the command line for `option`, its numbers as they are written."""
    try:
        return loads_exactly(text.encode("utf-8", "surrogatepass"))
    except InvalidJson as error:
        raise UsageFailure(f"{option}: {error}") from None


def parse_duration_s(text: str) -> int:
    """Seconds of `90s`, `30m`, `1h`, `7d`. Raises UsageFailure."""
    match = _DURATION.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise UsageFailure(f"{text!r} is no duration; write 90s, 30m, 1h or 7d")
    return int(match[1]) * _SECONDS[match[2]]


def print_json(body: object) -> None:
    """Print `body` as the server would send it."""
    print(msgspec.json.encode(body).decode())
