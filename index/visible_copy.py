"""How does a part of a catalog become a catalog of its own, with nothing of the rest in it?

From scratch, by the path that everything takes in: revisions in another order than they are stored, then their codes, a
generation, and what came after it; revocations last. Codes are copied by the digest of their text, within the namespace
of the revision that needs them, or made again. No row of a revision outside the part is read.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sqlalchemy import bindparam

from evidence.grants import Grant, Subject
from evidence.identity import RevisionKey
from index.analysis import Analyzer
from index.catalog import Catalog
from index.catalog_coded import Encoded
from index.catalog_codes import Codes, Input, codes_of, input_of, keep_codes
from index.catalog_labels import FACTS_AND_LABEL
from index.catalog_read import Reading
from index.catalog_rows import label_of, stored_facts_of
from index.catalog_tables import revision
from index.catalog_write import NewRevision
from index.intake import take_in
from index.recipe import Recipe
from index.reindex import Encoder, reindex
from index.segments import Segments
from index.snapshot import Snapshot

REVISIONS_AT_ONCE = 200  # whose codes are written in one transaction

Progress = Callable[[str, int, int], None]  # step, done, of how many

_ONE_REVISION = FACTS_AND_LABEL.where(
    revision.c.namespace == bindparam("namespace"),
    revision.c.source_id == bindparam("source_id"),
    revision.c.revision == bindparam("revision"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """The revisions of the part by how they can be found: in the published generation, from the delta, not yet."""

    published: Sequence[RevisionKey]
    delta: Sequence[RevisionKey]
    waiting: Sequence[RevisionKey]


def copy_part(
    snapshot: Snapshot,
    directory: Path,
    *,
    recipe: Recipe,
    keys: Iterable[RevisionKey],
    revoked: Iterable[Subject | Grant],
    analyzer: Analyzer,
    encoder: Encoder | None,
    prepare: Callable[[Path], object],
    progress: Progress,
) -> None:
    """Make a catalog of the revisions `keys` of one state in `directory`, which must be new or empty.

    encoder: makes all codes again; None copies them. prepare: as of `Catalog.create`. revoked: what the part is to have
    revoked, revisions apart, which carry it themselves. Memory: some batches, and what lies in the delta.
    Raises RecipeMismatch where analyzer or encoder is not the recipe's, and what reading and writing raise.
    """
    part = _split(sorted(keys, key=_scrambled), snapshot.segments, snapshot.reading)
    reading, taken = snapshot.reading, _Taken(reading=snapshot.reading)
    total = len(part.published) + len(part.delta) + len(part.waiting)

    def told(revisions: Iterable[NewRevision]) -> Iterator[NewRevision]:
        for new in revisions:
            yield new
            progress("copy revisions", len(taken.copied), total)

    with Catalog.create(directory, recipe, prepare=prepare) as catalog:
        catalog.add(told(taken.revisions(part.published)), relabel=False)
        if encoder is None:
            for texts, codes in _codes(reading, part.published, recipe.dimension):
                with catalog.write() as connection:
                    keep_codes(connection, texts, codes)
        reindex(
            catalog,
            encoder=_NoEncoder(recipe) if encoder is None else encoder,
            analyzer=analyzer,
            progress=lambda made: progress(f"{made.stage.value} visible units", made.done, made.total),
        )
        for batch in _batches(part.delta):
            revisions = list(told(taken.revisions(batch)))
            if encoder is None:
                ((texts, codes),) = _codes(reading, batch, recipe.dimension)
                catalog.add(revisions, relabel=False, encoded=Encoded(texts=texts, codes=codes))
            else:
                encode = encoder.encode_documents
                take_in(catalog, revisions, relabel=False, encode=encode, progress=lambda *_: None)
        catalog.add(told(taken.revisions(part.waiting)), relabel=False)
        for what in (*taken.revoked, *revoked):
            catalog.revoke(what)


class _NoEncoder:
    """Stands in for the encoder where every code is there already."""

    def __init__(self, recipe: Recipe) -> None:
        self.runtime = recipe.runtime
        self.model_digest = recipe.model_digest

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:  # noqa: ARG002 - as the protocol has it
        raise AssertionError("every code of the published part was copied")


class _Taken:
    """Reads revisions as they came in, and remembers which of them there were and which are revoked by now."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.copied: list[RevisionKey] = []
        self.revoked: list[RevisionKey] = []

    def revisions(self, keys: Iterable[RevisionKey]) -> Iterator[NewRevision]:
        """The revisions as they came, a later revocation apart. Raises DamagedCatalog."""
        for key in keys:
            row = self._reading.connection.execute(_ONE_REVISION, key._asdict()).one()
            units = self._reading.units_of(key)
            self.copied.append(key)
            if row.revoked is not None:
                self.revoked.append(key)
            yield NewRevision(
                facts=stored_facts_of(row, label_of(row)), text="".join(unit.text for unit in units), units=units
            )


def _split(keys: Sequence[RevisionKey], segments: Segments, reading: Reading) -> _Split:
    held, base = reading.holdings, segments.base
    published, delta, waiting = [], [], []
    for key in keys:
        place = base.run_of.get(key)
        if key not in held.coded:
            waiting.append(key)
        elif place is not None and base.runs[place].facts_digest == held.content_digests[key]:
            published.append(key)
        else:
            delta.append(key)
    return _Split(published=published, delta=delta, waiting=waiting)


def _codes(reading: Reading, keys: Sequence[RevisionKey], dimension: int) -> Iterator[tuple[list[Input], Codes]]:
    """The distinct texts of the revisions and their codes, a batch of revisions at a time. Raises DamagedCatalog."""
    for batch in _batches(keys):
        found: dict[Input, Codes] = {}
        for key in batch:
            texts = [input_of(unit) for unit in reading.units_of(key)]
            codes = codes_of(reading.connection, key, units=len(texts), dimension=dimension)
            found.update(zip(texts, codes, strict=True))
        yield list(found), np.array(list(found.values()), dtype=np.int8).reshape(-1, dimension)


def _batches(keys: Sequence[RevisionKey]) -> Iterator[Sequence[RevisionKey]]:
    return (keys[first : first + REVISIONS_AT_ONCE] for first in range(0, len(keys), REVISIONS_AT_ONCE))


def _scrambled(key: RevisionKey) -> bytes:
    """An order that has nothing to do with the one in which revisions are stored or came, the same every time."""
    return hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).digest()
