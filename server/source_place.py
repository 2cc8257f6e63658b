"""Where in what comes in does a record stand, and how is a bad one refused?"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from server.errors import ServerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line of a file. `line` counts from 1; None means the file as a whole."""

    file: str
    line: int | None

    def __str__(self) -> str:
        file = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in self.file)
        return file if self.line is None else f"{file}:{self.line}"


class SourceFileError(ServerError):
    """What came in cannot be read as it must be.

    Fields: file and line (None: the whole file); path, the JSON path of the offending value, `$` for the record as a
    whole; problem, what is wrong and what is allowed, never content. The text is one line:
    `corpus.jsonl:12: $.access.tenant: a public record has no tenant`.
    """

    def __init__(self, place: Place, *, path: str = "$", problem: str) -> None:
        super().__init__(f"{place}: {problem}" if place.line is None else f"{place}: {path}: {problem}")
        self.file = place.file
        self.line = place.line
        self.path = path
        self.problem = problem


def open_regular(path: Path) -> BinaryIO:
    """`path`, open for reading bytes. Raises SourceFileError when it cannot be, or is no regular file (a pipe would
    wait for ever, a device never ends)."""
    place = Place(file=str(path), line=None)
    try:
        stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except IsADirectoryError:
        raise SourceFileError(place, problem="a folder, not a file") from None
    except (OSError, ValueError) as error:
        raise unreadable(place, error) from None
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise SourceFileError(place, problem="not a regular file")
    return stream


def is_folder(path: Path) -> bool:
    """Whether `path` is a folder; links are followed. Raises SourceFileError when nothing is there to look at."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise unreadable(Place(file=str(path), line=None), error) from None


def is_present(path: Path) -> bool:
    """Whether `path` names anything. Raises SourceFileError when the system does not say."""
    try:
        return path.exists()
    except OSError as error:
        raise unreadable(Place(file=str(path), line=None), error) from None


def unreadable(place: Place, error: OSError | ValueError) -> SourceFileError:
    """The refusal of a file that the system does not let us read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "no such name is possible"
    return SourceFileError(place, problem=f"cannot be read: {reason.lower()}")
