"""What would an ingest take in, checked whole before anything is written?

An input is read twice: `check` reads all of it and refuses it at the first fault, then `CheckedSources.read` reads it
again for the writer and refuses one that has changed meanwhile. So memory holds two short digests a revision, never
the texts.
"""

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from evidence.access import Label
from evidence.identity import RevisionKey, SourceKey
from evidence.source_record import SourceRevision
from server.source_place import Place, SourceFileError, is_folder, is_present
from server.sources_beir import CORPUS, read_beir
from server.sources_files import SUFFIXES, list_files, read_files
from server.sources_lines import read_jsonl, read_lines

Placed: TypeAlias = tuple[Place, SourceRevision]

_DIGEST_BYTES = 16  # as many bits as a UUID: two keys of one input do not share a digest by chance or by trying
_CHANGED = "changed since it was checked; run the command again"


class SourceFormat(StrEnum):
    """What a path holds."""

    AUTO = "auto"
    JSONL = "jsonl"
    BEIR = "beir"
    FILES = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSources:
    """An input without fault. `revisions` counts the records, `text_bytes` their UTF-8; a record that repeats an
    earlier one of the same input word for word counts, and is read, like any other. `ignored_files` counts the files
    of folders that end in another suffix."""

    revisions: int
    text_bytes: int
    ignored_files: int
    _open: Callable[[], Iterator[Placed]] = field(repr=False)
    _digests: Mapping[bytes, bytes] = field(repr=False)  # of a key -> of all that the revision says
    _sequence: bytes = field(repr=False)  # digest of all that was said, in order

    def read(self) -> Iterator[Placed]:
        """The revisions again, in the input's order. Raises SourceFileError when the input is not what was checked."""
        sequence = hashlib.sha256()
        file = "input"
        for place, revision in self._open():
            file = place.file
            content = _content(revision)
            if self._digests.get(_short(revision.facts.key)) != content:
                raise SourceFileError(place, problem=_CHANGED)
            sequence.update(content)
            yield place, revision
        if sequence.digest() != self._sequence:
            raise SourceFileError(Place(file=file, line=None), problem=_CHANGED)


def check_paths(paths: Sequence[Path], *, source_format: SourceFormat, default_label: Label | None) -> CheckedSources:
    """Check files and folders, in the order given. `default_label` holds for records without `access`.

    Raises SourceFileError at the first fault: a bad record, an unreadable file, a revision offered twice with other
    content, two labels for one source.
    """
    inputs = [(path, _format_of(path, source_format)) for path in paths]
    ignored = sum(list_files(path)[1] for path, kind in inputs if kind is SourceFormat.FILES and is_folder(path))

    def read() -> Iterator[Placed]:
        for path, kind in inputs:
            yield from _READERS[kind](path, default_label=default_label)

    return check(read, ignored_files=ignored)


def check_body(body: bytes, *, default_label: Label | None) -> CheckedSources:
    """Check JSON lines that are held already, as the body of a request. Raises SourceFileError, file `body`."""
    return check(lambda: read_lines(io.BytesIO(body), file="body", default_label=default_label))


def check(read: Callable[[], Iterator[Placed]], *, ignored_files: int = 0) -> CheckedSources:
    """Check what `read` yields; it is called again for each further pass. Raises SourceFileError."""
    digests: dict[bytes, bytes] = {}
    labels: dict[bytes, str] = {}
    sequence = hashlib.sha256()
    revisions = 0
    text_bytes = 0
    for place, revision in read():
        facts = revision.facts
        label, content = facts.label.digest, _content(revision)
        if labels.setdefault(_short(facts.key.source), label) != label:
            problem = f"another label than the same source has in {_first(read, facts.key.source)}"
            raise SourceFileError(place, path="$.access", problem=problem)
        if digests.setdefault(_short(facts.key), content) != content:
            first = _first(read, facts.key)
            problem = f"other content than the same revision has in {first}; a correction is a new revision"
            raise SourceFileError(place, path="$.revision", problem=problem)
        sequence.update(content)
        revisions += 1
        text_bytes += len(revision.text.encode("utf-8"))
    return CheckedSources(
        revisions=revisions,
        text_bytes=text_bytes,
        ignored_files=ignored_files,
        _open=read,
        _digests=digests,
        _sequence=sequence.digest(),
    )


def detect_format(path: Path) -> SourceFormat:
    """What `path` holds: by its suffix, or for a folder by whether it has a corpus.jsonl. Raises SourceFileError."""
    if is_folder(path):
        return SourceFormat.BEIR if is_present(path / CORPUS) else SourceFormat.FILES
    if path.suffix.lower() == ".jsonl":
        return SourceFormat.JSONL
    if path.suffix.lower() in SUFFIXES:
        return SourceFormat.FILES
    problem = f"neither a folder nor a file that ends in .jsonl, {' or '.join(SUFFIXES)}"
    raise SourceFileError(Place(file=str(path), line=None), problem=problem)


def _format_of(path: Path, source_format: SourceFormat) -> SourceFormat:
    return detect_format(path) if source_format is SourceFormat.AUTO else source_format


def _first(read: Callable[[], Iterator[Placed]], key: SourceKey | RevisionKey) -> Place | str:
    """The place of the first revision under `key`: looked for only once a clash is known, so that none is kept."""
    places = (place for place, revision in read() if revision.facts.key[: len(key)] == key)
    return next(places, "this input")


def _short(key: tuple[str, ...]) -> bytes:
    return hashlib.blake2b("\x00".join(key).encode("utf-8"), digest_size=_DIGEST_BYTES).digest()


def _content(revision: SourceRevision) -> bytes:
    return bytes.fromhex(revision.facts.digest.removeprefix("sha256:"))[:_DIGEST_BYTES]


_READERS = {SourceFormat.JSONL: read_jsonl, SourceFormat.BEIR: read_beir, SourceFormat.FILES: read_files}
