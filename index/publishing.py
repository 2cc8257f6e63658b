"""How does a new generation come into force, all at once or not at all?

Files are written and synced one by one, their directory is synced, the manifest comes last, the finished directory is
renamed into place, and CURRENT is replaced by a rename. Whenever the power goes, CURRENT names a whole generation:
the old one or the new one. A failed write or sync ends this attempt: nothing is tried again, nothing is in force.
"""

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from index.errors import DamagedGeneration, NoGeneration, PublisherBusy, PublishFailed
from index.generation import CURRENT, GENERATIONS, check_part, current_name, open_manifest
from index.generation_format import (
    ARRAYS,
    MANIFEST,
    RUNS,
    Manifest,
    Part,
    RevisionRun,
    identity_order,
    name_of,
    write_runs,
)
from index.postings import Postings
from index.recipe import Recipe
from index.vocabulary import write_terms

LOCK = "publish.lock"

_UNFINISHED = ".unfinished-"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contents:
    """What a generation is made of.

    codes: arrays of (n, dimension) int8 in row order, read once. lengths: (rows,) int32.
    runs: in row order, from row 0 to the last without gaps.
    """

    recipe: Recipe
    runs: Sequence[RevisionRun]
    codes: Iterable[npt.NDArray[np.int8]]
    postings: Postings
    lengths: npt.NDArray[np.int32]


class PublisherLock:
    """Proof that this process is the only one that publishes in `directory`. Made by `publisher_lock` alone."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory


@contextmanager
def publisher_lock(directory: Path) -> Iterator[PublisherLock]:
    """Be the only publisher of the catalog in `directory`; raises PublisherBusy at once when another process is.

    The lock ends with the process that holds it, however that ends. What a dead publisher left unfinished is removed.
    """
    with (directory / LOCK).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PublisherBusy from None
        for left in (directory / GENERATIONS).glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left)
        yield PublisherLock(directory)


def publish(contents: Contents, *, lock: PublisherLock) -> str:
    """Write a generation, bring it into force, and return its name.

    Equal contents have an equal name: publishing them again changes nothing. The generation that was in force before
    stays beside the new one for readers that are about to open it; older ones are removed. Raises PublishFailed.
    """
    generations = lock.directory / GENERATIONS
    unfinished = generations / f"{_UNFINISHED}{secrets.token_hex(8)}"
    try:
        unfinished.mkdir(parents=True)
        try:
            name = _write(unfinished, contents)
            _move_into_place(unfinished, generations / name)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        previous = _previous_name(lock.directory)
        if name != previous:
            _replace_current(lock.directory, name)
            _remove_others(generations, keep={name, previous})
    except OSError as error:
        raise PublishFailed(error.strerror or "the disk reports an error") from error
    return name


def _write(folder: Path, contents: Contents) -> str:
    """Write all files of a generation; returns its name."""
    rows, terms = len(contents.lengths), list(contents.postings.terms)
    term_text, term_offsets = write_terms(terms)
    postings = contents.postings
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "lengths.int32": contents.lengths,
        "order.int32": identity_order(contents.runs, rows),
        "posting_offsets.int64": postings.offsets,
        "posting_rows.int32": postings.posting_rows,
        "posting_frequencies.int32": postings.frequencies,
        "term_offsets.int64": term_offsets,
        "terms.utf8": term_text,
    }
    parts = {name: _write_part(folder / name, [array], array.shape) for name, array in arrays.items()}
    parts["codes.int8"] = _write_part(folder / "codes.int8", contents.codes, (rows, contents.recipe.dimension))
    runs = np.frombuffer(write_runs(contents.runs), dtype=np.uint8)
    parts[RUNS] = _write_part(folder / RUNS, [runs], ())
    _sync_directory(folder)
    manifest = Manifest(recipe_digest=contents.recipe.digest, parts=parts).write()
    _write_bytes(folder / MANIFEST, [manifest])
    _sync_directory(folder)
    return name_of(manifest)


def _write_part(file: Path, arrays: Iterable[npt.NDArray[np.generic]], shape: tuple[int, ...]) -> Part:
    dtype = np.dtype(ARRAYS.get(file.name, "<u1"))
    size, sha256 = _write_bytes(
        file, (np.ascontiguousarray(array, dtype=dtype).data.cast("B") for array in arrays if array.size)
    )
    if shape and size != np.prod(shape, dtype=np.int64) * dtype.itemsize:
        raise ValueError(f"{file.name} should have shape {shape}, got {size} bytes")
    return Part(size_bytes=size, sha256=sha256, shape=shape)


def _write_bytes(file: Path, blocks: Iterable[bytes | memoryview]) -> tuple[int, str]:
    """Write and sync a new file; its size, and its SHA-256 in hexadecimal."""
    size, sha256 = 0, hashlib.sha256()
    with file.open("xb") as opened:
        for block in blocks:
            opened.write(block)
            sha256.update(block)
            size += len(block)
        opened.flush()
        os.fsync(opened.fileno())
    return size, sha256.hexdigest()


def _move_into_place(unfinished: Path, target: Path) -> None:
    """Rename the finished directory to its name, unless the same generation lies there unharmed already."""
    if target.exists() and _is_intact(target):
        shutil.rmtree(unfinished)
    else:
        if target.exists():
            target.rename(target.with_name(f"{_UNFINISHED}{secrets.token_hex(8)}"))
        unfinished.rename(target)
    _sync_directory(target.parent)  # also for one that was there: the attempt that put it there may have failed here


def _is_intact(folder: Path) -> bool:
    try:
        for part, expected in open_manifest(folder).parts.items():
            check_part(folder, part, expected)
    except DamagedGeneration:
        return False
    return True


def _previous_name(directory: Path) -> str | None:
    try:
        return current_name(directory)
    except (NoGeneration, DamagedGeneration):
        return None


def _replace_current(directory: Path, name: str) -> None:
    written = directory / f"{CURRENT}.tmp"
    written.unlink(missing_ok=True)  # left by a publisher that died here
    _write_bytes(written, [f"{name}\n".encode("ascii")])
    written.replace(directory / CURRENT)
    _sync_directory(directory)


def _remove_others(generations: Path, *, keep: set[str | None]) -> None:
    """What cannot be removed now is removed after the next publishing: the new generation is in force already."""
    for folder in generations.iterdir():
        if folder.name not in keep:
            shutil.rmtree(folder, ignore_errors=True)


def _sync_directory(folder: Path) -> None:
    """Make the names in a directory survive a power cut."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
