"""Which fields does the head of a text file state, on which lines, and where does its text begin? (pure)

YAML between two lines of `---`. It is read as events, so that nothing is ever constructed from it: a plain scalar is
null, true, false, a JSON number or else the text that stands there (a date stays text, `no` is no boolean, `1.10` is
not 1.1 in silence: it is a number, and refused where a name is wanted). Aliases, tags and repeated keys are refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import yaml

from evidence.strict_json import MAX_DEPTH, key_path
from server.source_place import Place, SourceFileError

MAX_FRONT_MATTER = 64 * 1024  # characters: the parser is slow

_FENCE = re.compile(r"---[ \t]*\r?\n")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_NULLS = frozenset(("", "~", "null"))
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """`fields` as JSON values; `lines`, the line of the file (from 1) of each JSON path that it states;
    `body`, the text after it, exactly; `body_line`, the line on which that begins."""

    fields: Mapping[str, object]
    lines: Mapping[str, int]
    body: str
    body_line: int

    def line_of(self, path: str) -> int:
        """The line of the nearest stated path that leads to `path`; the body's for a `$.text` that is not stated."""
        if path == "$.text" and path not in self.lines:
            return self.body_line
        stated = max((known for known in self.lines if path.startswith(known)), key=len, default=None)
        return 1 if stated is None else self.lines[stated]


class _Mark(Protocol):
    """A position in a YAML stream; the C parser and the Python one have a class each."""

    line: int


@dataclass(slots=True)
class _Open:
    """A list or an object whose end was not yet read."""

    path: str
    value: dict[str, object] | list[object]
    key: str | None = None


def split_front_matter(text: str, *, file: str) -> FrontMatter:
    """The front matter of `text`; without any, no fields and the whole text. Raises SourceFileError."""
    opening = _FENCE.match(text)
    if opening is None:
        return FrontMatter(fields={}, lines={}, body=text, body_line=1)
    closing = _END.search(text, opening.end())
    if closing is None:
        raise SourceFileError(Place(file=file, line=1), problem="front matter that no line of --- ends")
    head = text[opening.end() : closing.start()]
    if len(head) > MAX_FRONT_MATTER:
        problem = f"front matter of {len(head)} characters, at most {MAX_FRONT_MATTER}"
        raise SourceFileError(Place(file=file, line=1), problem=problem)
    reader = _Reader(file)
    reader.read(head)
    fields = {} if reader.document is None else reader.document
    if not isinstance(fields, dict):
        raise SourceFileError(Place(file=file, line=2), problem="front matter is an object of fields")
    return FrontMatter(
        fields=fields,
        lines=reader.lines,
        body=text[closing.end() :],
        body_line=text.count("\n", 0, closing.end()) + 1,
    )


class _Reader:
    """Builds one document from YAML events. Nesting is a list, not recursion."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: list[_Open] = []
        self.lines: dict[str, int] = {}
        self.document: object = None

    def read(self, head: str) -> None:
        try:
            for event in yaml.parse(head, Loader=yaml.SafeLoader):
                self._take(event)
        except yaml.MarkedYAMLError as error:
            raise self._refusal(error.problem_mark, "$", "front matter is not YAML") from None
        except yaml.YAMLError:
            raise self._refusal(None, "$", "front matter holds a character that YAML does not allow") from None

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self._refusal(event.start_mark, "$", "front matter has no aliases")
        if getattr(event, "tag", None) is not None:
            raise self._refusal(event.start_mark, "$", "front matter has no tags")
        if isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self._enter(event, {})
        elif isinstance(event, yaml.SequenceStartEvent):
            self._enter(event, [])
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        parent = self._open[-1] if self._open else None
        if parent is None or isinstance(parent.value, list) or parent.key is not None:
            self._put(event, _plain(event.value) if event.implicit[0] else event.value)
            return
        path = key_path(parent.path, event.value)
        if event.value in parent.value:
            raise self._refusal(event.start_mark, path, "duplicate key")
        self.lines[path] = _line(event.start_mark)
        parent.key = event.value

    def _enter(self, event: yaml.Event, value: dict[str, object] | list[object]) -> None:
        if len(self._open) == MAX_DEPTH:
            raise self._refusal(event.start_mark, "$", f"nested deeper than {MAX_DEPTH}")
        self._open.append(_Open(path=self._put(event, value), value=value))

    def _put(self, event: yaml.Event, value: object) -> str:
        """Put a value where it stands, and return its path."""
        if not self._open:
            self.document = value
            return "$"
        parent = self._open[-1]
        if isinstance(parent.value, list):
            path = f"{parent.path}[{len(parent.value)}]"
            self.lines[path] = _line(event.start_mark)
            parent.value.append(value)
            return path
        if parent.key is None:
            raise self._refusal(event.start_mark, parent.path, "a key must be a string")
        path = key_path(parent.path, parent.key)
        parent.value[parent.key] = value
        parent.key = None
        return path

    def _refusal(self, mark: _Mark | None, path: str, problem: str) -> SourceFileError:
        return SourceFileError(Place(file=self._file, line=_line(mark)), path=path, problem=problem)


def _plain(text: str) -> object:
    """The value of a scalar without quotes."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text


def _line(mark: _Mark | None) -> int:
    """The line of the file: marks count from 0, and the front matter begins on line 2."""
    return 1 if mark is None else mark.line + 2
