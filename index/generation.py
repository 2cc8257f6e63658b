"""What does a published generation hold?

Opened read-only, every byte checked before the first is used. Useful for scoring: arrays by row, mapped from disk.
Not useful for deciding who may see what: that is judged from the catalog's live facts (`index/snapshot.py`); a
generation only says where the rows of a revision lie.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from evidence.identity import RevisionKey, UnitKey
from index.errors import DamagedGeneration, NoGeneration, RecipeMismatch
from index.generation_format import (
    ARRAYS,
    MANIFEST,
    RUNS,
    Manifest,
    Part,
    RevisionRun,
    is_name,
    name_of,
    read_manifest,
    read_runs,
)
from index.postings import Postings
from index.recipe import Recipe
from index.vocabulary import Vocabulary

CURRENT = "CURRENT"
GENERATIONS = "generations"

_OPEN_TRIES = 10  # a publisher may take two generations' directories away between reading CURRENT and opening


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Generation:
    """An open generation. Arrays are read-only and stay valid after its directory was removed.

    codes: (rows, dimension) int8. lengths: (rows,) int32, terms in each row's text, repeats counted.
    order: (rows,) int32, the rank of each row under namespace, source_id, revision, ordinal (R11).
    runs: one a revision, ascending and touching; a revision without units has an empty one.
    run_starts: (runs,) int64. run_of: each revision's place in `runs`.
    """

    name: str
    recipe_digest: str
    rows: int
    dimension: int
    codes: npt.NDArray[np.int8]
    lengths: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    postings: Postings
    runs: tuple[RevisionRun, ...]
    run_starts: npt.NDArray[np.int64]
    run_of: Mapping[RevisionKey, int]

    def key_of(self, row: int) -> UnitKey:
        """The unit that `row` stands for. Raises IndexError outside `[0, rows)`."""
        return self.keys_of([row])[0]

    def keys_of(self, rows: Sequence[int] | npt.NDArray[np.integer[Any]]) -> list[UnitKey]:
        """The units that `rows` stand for, in that order. Raises IndexError outside `[0, rows)`."""
        wanted = np.asarray(rows, dtype=np.int64)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= self.rows):
            raise IndexError(f"rows count from 0 to {self.rows - 1}")
        places = np.searchsorted(self.run_starts, wanted, side="right") - 1
        ordinals = wanted - self.run_starts[places]
        revisions = [self.runs[place].key for place in places.tolist()]
        return [
            UnitKey(key.namespace, key.source_id, key.revision, ordinal)
            for key, ordinal in zip(revisions, ordinals.tolist(), strict=True)
        ]

    def rows_of(self, key: RevisionKey) -> range:
        """The rows of a revision; empty when this generation does not hold it."""
        place = self.run_of.get(key)
        return range(0) if place is None else range(self.runs[place].start, self.runs[place].end)


def current_name(directory: Path) -> str:
    """The name of the generation that the catalog in `directory` publishes now. Raises NoGeneration."""
    try:
        line = (directory / CURRENT).read_bytes().decode("ascii", "replace")
    except FileNotFoundError:
        raise NoGeneration from None
    if not line.endswith("\n") or not is_name(line[:-1]):
        raise DamagedGeneration(name="unknown", part=CURRENT, problem="does not name a generation")
    return line[:-1]


def is_published(directory: Path) -> bool:
    """Whether the catalog in `directory` publishes a generation. Raises DamagedGeneration."""
    try:
        current_name(directory)
    except NoGeneration:
        return False
    return True


def open_current(directory: Path, recipe: Recipe) -> Generation:
    """The published generation of the catalog in `directory`.

    Raises NoGeneration, DamagedGeneration, NewerFormat or RecipeMismatch.
    """
    for _ in range(_OPEN_TRIES):
        name = current_name(directory)
        try:
            return open_generation(directory, name, recipe=recipe)
        except DamagedGeneration:
            if current_name(directory) == name:
                raise
    raise DamagedGeneration(name=name, part=CURRENT, problem="moves faster than a generation can be opened")


def open_generation(directory: Path, name: str, *, recipe: Recipe) -> Generation:
    """Generation `name` of the catalog in `directory`. Reads every file once to check it."""
    folder = directory / GENERATIONS / name
    manifest = open_manifest(folder)
    if manifest.recipe_digest != recipe.digest:
        raise RecipeMismatch(part="digest", expected=recipe.digest, got=manifest.recipe_digest)
    arrays = {part: _open_array(folder, part, manifest.parts[part]) for part in ARRAYS}
    with _open_part(folder, RUNS, manifest.parts[RUNS]) as file:
        runs = read_runs(file.read())
    rows, dimension = manifest.parts["codes.int8"].shape
    return Generation(
        name=name,
        recipe_digest=manifest.recipe_digest,
        rows=rows,
        dimension=dimension,
        codes=arrays["codes.int8"],
        lengths=arrays["lengths.int32"],
        order=arrays["order.int32"],
        postings=Postings(
            terms=Vocabulary(text=arrays["terms.utf8"], offsets=arrays["term_offsets.int64"]),
            offsets=arrays["posting_offsets.int64"],
            posting_rows=arrays["posting_rows.int32"],
            frequencies=arrays["posting_frequencies.int32"],
        ),
        runs=runs,
        run_starts=np.array([run.start for run in runs], dtype=np.int64),
        run_of={run.key: place for place, run in enumerate(runs)},
    )


def open_manifest(folder: Path) -> Manifest:
    """The manifest of the generation in `folder`, which its name must match. Raises DamagedGeneration."""
    try:
        data = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise DamagedGeneration(name=folder.name, part=MANIFEST, problem="cannot be read") from error
    if name_of(data) != folder.name:
        raise DamagedGeneration(name=folder.name, part=MANIFEST, problem="does not match the generation's name")
    try:
        return read_manifest(data)
    except ValueError as error:
        raise DamagedGeneration(name=folder.name, part=MANIFEST, problem=str(error)) from error


def check_part(folder: Path, part: str, expected: Part) -> None:
    """Raise DamagedGeneration unless the file has its size and its digest."""
    _open_part(folder, part, expected).close()


def _open_array(folder: Path, part: str, expected: Part) -> npt.NDArray[Any]:
    dtype = np.dtype(ARRAYS[part])
    with _open_part(folder, part, expected) as file:
        if expected.size_bytes == 0:  # there is nothing to map
            return np.empty(expected.shape, dtype=dtype)
        return np.memmap(file, dtype=dtype, mode="r", shape=expected.shape)


def _open_part(folder: Path, part: str, expected: Part) -> IO[bytes]:
    """The file, checked, at its start. What was checked is what is read: the file is opened once."""
    try:
        file = (folder / part).open("rb")
    except OSError as error:
        raise DamagedGeneration(name=folder.name, part=part, problem="cannot be read") from error
    try:
        size = file.seek(0, 2)
        if size != expected.size_bytes:
            problem = f"has {size} bytes, was published with {expected.size_bytes}"
            raise DamagedGeneration(name=folder.name, part=part, problem=problem)
        file.seek(0)
        if hashlib.file_digest(file, "sha256").hexdigest() != expected.sha256:
            raise DamagedGeneration(name=folder.name, part=part, problem="does not match its digest")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
