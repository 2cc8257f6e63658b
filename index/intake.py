"""How do revisions become searchable in the moment in which they are taken in?

What has no code yet is encoded first, outside any transaction. Then one transaction writes revisions and codes
together: whoever reads the catalog finds both or neither, and a process that is killed leaves what was there before.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from evidence.canonical import digest
from evidence.unit import Unit
from index.catalog import Catalog
from index.catalog_coded import Encoded
from index.catalog_codes import Input, distinct, input_of, without_code
from index.catalog_write import IngestReport, NewRevision
from index.errors import CodesMissing, RecipeMismatch

BATCH_TEXTS = 64  # texts encoded between two reports of progress
TRIES = 3  # a reindex may drop a code that was seen and that no unit had yet; it is then made again

Codes = npt.NDArray[np.int8]
Encode = Callable[[Sequence[str]], Codes]
"""(len(texts), dimension) int8, in the order given, each the one that its text gets alone (R10)."""


def to_encode(catalog: Catalog, revisions: Iterable[NewRevision]) -> list[Unit]:
    """One unit for each distinct text of `revisions` that has no code yet."""
    with catalog.read() as reading:
        return without_code(reading.connection, (unit for new in revisions for unit in new.units))


def to_make_searchable(catalog: Catalog, revisions: Iterable[NewRevision]) -> list[Unit]:
    """One unit for each distinct text of those of `revisions` that cannot be searched yet.

    A text that has a code already counts like any other: what this decides must not hang on what others have (R6).
    """
    with catalog.read() as reading:
        holdings = reading.holdings
    return distinct(
        unit
        for new in revisions
        if new.facts.key not in holdings.coded
        or holdings.content_digests[new.facts.key] != digest(new.facts.content_record())
        for unit in new.units
    )


def take_in(
    catalog: Catalog,
    revisions: Sequence[NewRevision],
    *,
    relabel: bool,
    encode: Encode,
    progress: Callable[[int, int], None],
) -> IngestReport:
    """Take in all of `revisions`, encoded, or none. They can be searched when this returns, in every process.

    What the catalog refuses is refused before anything is encoded. `progress` gets texts encoded, of how many. Raises
    what `Catalog.add` raises, what `encode` raises, and RecipeMismatch for codes of another shape.
    """
    made: dict[Input, Codes] = {}
    for attempt in range(TRIES):
        lacking = [text for text in map(input_of, to_encode(catalog, revisions)) if text not in made]
        if lacking and not attempt:
            catalog.rehearse(revisions, relabel=relabel)
        for first in range(0, len(lacking), BATCH_TEXTS):
            batch = lacking[first : first + BATCH_TEXTS]
            made.update(zip(batch, _encoded(batch, encode, catalog.recipe.dimension), strict=True))
            progress(first + len(batch), len(lacking))
        codes = np.array(list(made.values()), dtype=np.int8).reshape(-1, catalog.recipe.dimension)
        try:
            return catalog.add(revisions, relabel=relabel, encoded=Encoded(texts=list(made), codes=codes))
        except CodesMissing:
            if attempt == TRIES - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _encoded(batch: Sequence[Input], encode: Encode, dimension: int) -> Codes:
    codes = encode([text.text for text in batch])
    if codes.shape != (len(batch), dimension) or codes.dtype != np.int8:
        expected, got = f"int8 {(len(batch), dimension)}", f"{codes.dtype} {codes.shape}"
        raise RecipeMismatch(part="codes of", expected=expected, got=got)
    return codes
