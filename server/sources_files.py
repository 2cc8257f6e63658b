"""Which revisions does a folder of Markdown and text files offer?

Each `.md` and `.txt` file is one revision. YAML front matter may state every field of a record but the text; what it
leaves out is the path without its suffix (`source_id`), "1" (`revision`), the first heading or the file's name
(`title`). The text is what follows the front matter, exactly.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from evidence.access import Label
from evidence.errors import InvalidSource
from evidence.source_record import MAX_TEXT_BYTES, SourceRevision, parse_source
from server.front_matter import MAX_FRONT_MATTER, FrontMatter, split_front_matter
from server.source_place import Place, SourceFileError, is_folder, open_regular, unreadable

SUFFIXES = (".md", ".txt")
REVISION = "1"

_MAX_FILE_BYTES = MAX_TEXT_BYTES + 4 * MAX_FRONT_MATTER
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.+)")  # CommonMark 0.31.2, section 4.2
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")  # section 4.3, first level
_CODE_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")  # section 4.5


def read_files(folder: Path, *, default_label: Label | None) -> Iterator[tuple[Place, SourceRevision]]:
    """The revisions of a folder, in the code-point order of their paths; of one file when `folder` is a file.
    Raises SourceFileError."""
    if not is_folder(folder):
        yield _read_file(folder, folder.stem, default_label)
        return
    paths, _ = list_files(folder)
    if not paths:
        problem = f"holds no file that ends in {' or '.join(SUFFIXES)}"
        raise SourceFileError(Place(file=str(folder), line=None), problem=problem)
    for path in paths:
        yield _read_file(path, path.relative_to(folder).with_suffix("").as_posix(), default_label)


def list_files(folder: Path) -> tuple[list[Path], int]:
    """The files that `read_files` reads, in its order, and how many others lie beside them.

    Names that begin with a dot are passed over, folders and all. A symbolic link is followed to a file within the
    folder; one that leads out of it, or to a folder, is refused, as is a link to nothing. Raises SourceFileError.
    """
    found: list[Path] = []
    others = 0
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        try:
            entries = list(os.scandir(inside))
        except OSError as error:
            raise unreadable(Place(file=str(inside), line=None), error) from None
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = inside / entry.name
            if entry.is_symlink():
                _check_link(path, folder)
            if entry.is_dir():
                waiting.append(path)
            elif path.suffix.lower() in SUFFIXES:
                found.append(path)
            else:
                others += 1
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix()), others


def _check_link(path: Path, folder: Path) -> None:
    place = Place(file=str(path), line=None)
    try:
        target = path.resolve(strict=True)
        root = folder.resolve(strict=True)
    except OSError as error:
        raise unreadable(place, error) from None
    except RuntimeError:
        raise SourceFileError(place, problem="a symbolic link that leads to itself") from None
    if target.is_dir():
        raise SourceFileError(place, problem="a symbolic link to a folder is not followed")
    if not target.is_relative_to(root):
        raise SourceFileError(place, problem="a symbolic link that leads out of the folder is not followed")


def _read_file(path: Path, source_id: str, default_label: Label | None) -> tuple[Place, SourceRevision]:
    text = _read_text(path)
    matter = split_front_matter(text, file=str(path))
    if "text" in matter.fields:
        place = Place(file=str(path), line=matter.line_of("$.text"))
        raise SourceFileError(place, path="$.text", problem="the text is what follows the front matter")
    title = path.stem
    if path.suffix.lower() == ".md":
        title = _first_heading(matter.body) or title
    record = {"source_id": source_id, "revision": REVISION, "title": title, **matter.fields, "text": matter.body}
    try:
        revision = parse_source(record, default_label=default_label)
    except InvalidSource as error:
        place = Place(file=str(path), line=_line_of(error.path, matter))
        raise SourceFileError(place, path=error.path, problem=error.problem) from None
    return Place(file=str(path), line=1), revision


def _read_text(path: Path) -> str:
    whole = Place(file=str(path), line=None)
    with open_regular(path) as stream:
        try:
            data = stream.read(_MAX_FILE_BYTES + 1)
        except OSError as error:
            raise unreadable(whole, error) from None
    if len(data) > _MAX_FILE_BYTES:
        raise SourceFileError(whole, problem=f"more than {_MAX_FILE_BYTES} bytes")
    if data.startswith(b"\xef\xbb\xbf"):
        problem = "starts with a byte order mark; save it as UTF-8 without one"
        raise SourceFileError(Place(file=str(path), line=1), problem=problem)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceFileError(Place(file=str(path), line=line), path="$.text", problem="not UTF-8") from None


def _line_of(path: str, matter: FrontMatter) -> int:
    """The line that a refused JSON path stands on; that of the character where NUL is what was refused."""
    line = matter.line_of(path)
    nul = matter.body.find("\x00") if path == "$.text" else -1
    return line if nul < 0 else line + matter.body.count("\n", 0, nul)


def _first_heading(markdown: str) -> str | None:
    """The text of the first heading outside fenced code, inline markup and all; None when it has none."""
    fence = None
    before = ""
    for line in markdown.splitlines():
        mark = _CODE_FENCE.match(line)
        if fence is not None:
            if mark is not None and mark[1].startswith(fence) and not line.strip(" \t`~"):
                fence = None
        elif mark is not None:
            fence = mark[1]
        elif (heading := _HEADING.fullmatch(line)) is not None:
            return _without_closing_marks(heading[1])
        elif before and _UNDERLINE.fullmatch(line):
            return before
        before = line.strip() if fence is None and mark is None else ""
    return None


def _without_closing_marks(heading: str) -> str:
    """`Limits ##` reads `Limits`, `C#` stays."""
    text = heading.strip()
    opened = text.rstrip("#")
    return opened.rstrip() if opened != text and opened.endswith((" ", "\t")) else text
