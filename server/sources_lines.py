"""Which revisions does a file of JSON lines offer?

One record a line, in UTF-8, strict JSON; lines end in LF or CRLF, blank ones are passed over. Memory is bounded by
the longest line allowed, whatever the size of the file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from evidence.access import Label
from evidence.errors import InvalidSource
from evidence.source_record import SourceRevision, parse_source
from evidence.strict_json import InvalidJson, loads
from server.source_place import Place, SourceFileError, open_regular, unreadable

MAX_LINE_BYTES = 16 * 1024 * 1024  # without its line ending


def read_jsonl(path: Path, *, default_label: Label | None) -> Iterator[tuple[Place, SourceRevision]]:
    """The revisions of a file, in its order. Raises SourceFileError at the first bad line."""
    with open_regular(path) as stream:
        yield from read_lines(stream, file=str(path), default_label=default_label)


def read_lines(stream: BinaryIO, *, file: str, default_label: Label | None) -> Iterator[tuple[Place, SourceRevision]]:
    """The revisions of a stream, in its order; `file` names it in errors. Raises SourceFileError at the first bad
    line, and for a stream without any record."""
    place = None
    for place, record in json_lines(stream, file=file):
        try:
            revision = parse_source(record, default_label=default_label)
        except InvalidSource as error:
            raise SourceFileError(place, path=error.path, problem=error.problem) from None
        yield place, revision
    if place is None:
        raise SourceFileError(Place(file=file, line=1), problem="holds no record")


def json_lines(stream: BinaryIO, *, file: str) -> Iterator[tuple[Place, object]]:
    """The JSON value of each line that is not blank. Raises SourceFileError."""
    line = 0
    while True:
        line += 1
        place = Place(file=file, line=line)
        try:
            data = stream.readline(MAX_LINE_BYTES + len(b"\r\n"))
        except OSError as error:
            raise unreadable(place, error) from None
        if not data:
            return
        content = data.removesuffix(b"\n").removesuffix(b"\r")
        if len(content) > MAX_LINE_BYTES:
            raise SourceFileError(place, problem=f"a line of more than {MAX_LINE_BYTES} bytes")
        if not content.strip():
            continue
        try:
            value = loads(content)
        except InvalidJson as error:
            raise SourceFileError(place, path=error.path, problem=error.problem) from None
        yield place, value
