"""Which texts were encoded already, and in which order do units become the rows of a generation?

A code is kept by the digest of the text it stands for, within a namespace: revisions that repeat a text share it,
tenants never do. Texts are read in batches, so that memory does not grow with the catalog apart from arrays.
"""

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, and_, bindparam, delete, exists, func, insert, select

from evidence.identity import Namespace, RevisionKey
from evidence.unit import Unit
from index.catalog_read import Holdings
from index.catalog_rows import AnyRow, input_digest, unit_of
from index.catalog_tables import code, revision, source, unit
from index.errors import DamagedCatalog

ROWS_A_QUERY = 1000

CODE_OF_UNIT = and_(code.c.namespace == unit.c.namespace, code.c.input_digest == unit.c.input_digest)
_ONE_CODE = select(code.c.namespace).where(
    code.c.namespace == bindparam("of_namespace"), code.c.input_digest == bindparam("of_digest")
)

Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Distinct texts without a code, shortest first.

    units: (n,) int64, for each text the number of one unit that has it. tokens: (n,) int64, its encoder tokens.
    """

    units: Numbers
    tokens: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A text to encode, and the name its code is kept under."""

    namespace: Namespace
    digest: bytes
    text: str


def missing(connection: Connection) -> Missing:
    """The distinct texts of the catalog that have no code yet, by length, then namespace and digest."""
    rows = connection.execute(
        select(func.min(unit.c.number), func.min(unit.c.tokens).label("length"))
        .where(~exists().where(CODE_OF_UNIT))
        .group_by(unit.c.namespace, unit.c.input_digest)
        .order_by("length", unit.c.namespace, unit.c.input_digest)
        .execution_options(yield_per=ROWS_A_QUERY)
    )
    numbers, tokens = _two_columns(rows)
    return Missing(units=numbers, tokens=tokens)


def inputs(connection: Connection, numbers: Numbers) -> list[Input]:
    """What both channels read of the numbered units, in the order given. Units taken out meanwhile are left out."""
    rows = connection.execute(select(unit).where(unit.c.number.in_(numbers.tolist()))).all()
    found = {
        row.number: Input(namespace=row.namespace, digest=row.input_digest, text=unit_of(row).input_text)
        for row in rows
    }
    return [found[number] for number in numbers.tolist() if number in found]


def distinct_texts(connection: Connection) -> int:
    """How many different texts the units have, counted within each namespace."""
    texts = select(unit.c.namespace, unit.c.input_digest).distinct().subquery()
    return connection.execute(select(func.count()).select_from(texts)).scalar_one()


def input_of(new: Unit) -> Input:
    """What both channels read of a unit."""
    return Input(namespace=new.key.namespace, digest=input_digest(new), text=new.input_text)


def without_code(connection: Connection, units: Iterable[Unit]) -> list[Unit]:
    """For each distinct text of `units` that has no code yet, one unit that has it, in the order given."""
    return [new for new in distinct(units) if not _is_coded(connection, new.key.namespace, input_digest(new))]


def distinct(units: Iterable[Unit]) -> list[Unit]:
    """The first unit of each text within a namespace, in the order given."""
    texts: dict[tuple[Namespace, bytes], Unit] = {}
    for new in units:
        texts.setdefault((new.key.namespace, input_digest(new)), new)
    return list(texts.values())


def keep_codes(connection: Connection, encoded: Sequence[Input], codes: Codes) -> None:
    """Keep the codes of texts. codes: (len(encoded), d) int8. One that somebody else kept meanwhile is left alone: a
    text has one code, whoever encodes it (R10)."""
    rows = []
    for text, vector in zip(encoded, codes, strict=True):
        if _is_coded(connection, text.namespace, text.digest):
            continue
        data = vector.tobytes()
        rows.append(
            {
                "namespace": text.namespace,
                "input_digest": text.digest,
                "seal": hashlib.sha256(data).digest(),
                "codes": data,
            }
        )
    if rows:
        connection.execute(insert(code), rows)


def _is_coded(connection: Connection, namespace: Namespace, digest: bytes) -> bool:
    row = connection.execute(_ONE_CODE, {"of_namespace": namespace, "of_digest": digest}).first()
    return row is not None


def drop_unused_codes(connection: Connection) -> int:
    """Take out the codes of texts that no unit has any longer. Returns how many."""
    return connection.execute(delete(code).where(~exists().where(CODE_OF_UNIT))).rowcount


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which unit becomes which row: by label digest, then namespace, source_id, revision and ordinal.

    keys: the revisions in the order of their rows, those without units among them.
    starts: (len(keys) + 1,) int64, the first row of each revision, and the number of rows.
    units: (rows,) int64, the number of each row's unit.
    """

    keys: Sequence[RevisionKey]
    starts: Numbers
    units: Numbers


def lay_out(connection: Connection, holdings: Holdings) -> Layout:
    """The layout of everything that `connection` sees. Raises DamagedCatalog when a revision lacks units."""
    keys = sorted(holdings.facts, key=lambda key: (holdings.label_digests[holdings.facts[key].label], key))
    counts = np.array([holdings.unit_counts[key] for key in keys], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    rows = connection.execute(
        select(unit.c.number, unit.c.ordinal)
        .join(revision)
        .join(source)
        .order_by(source.c.label_digest, unit.c.namespace, unit.c.source_id, unit.c.revision, unit.c.ordinal)
        .execution_options(yield_per=ROWS_A_QUERY)
    )
    numbers, ordinals = _two_columns(rows)
    expected = np.arange(starts[-1], dtype=np.int64) - np.repeat(starts[:-1], counts)
    if not np.array_equal(ordinals, expected):
        raise DamagedCatalog("some revision does not have the units it should have")
    return Layout(keys=keys, starts=starts, units=numbers)


def texts_in(connection: Connection, layout: Layout) -> Iterator[str]:
    """What both channels read of each row, in row order."""
    for first in range(0, len(layout.units), ROWS_A_QUERY):
        numbers = layout.units[first : first + ROWS_A_QUERY]
        yield from (text.text for text in inputs(connection, numbers))


def codes_in(connection: Connection, layout: Layout, *, dimension: int) -> Iterator[Codes]:
    """The codes of each row, in row order, in arrays of (n, dimension) int8. Raises DamagedCatalog.

    Every text of the layout must have a code.
    """
    for first in range(0, len(layout.units), ROWS_A_QUERY):
        numbers = layout.units[first : first + ROWS_A_QUERY].tolist()
        rows = connection.execute(
            select(unit.c.number, code.c.codes, code.c.seal).join(code, CODE_OF_UNIT).where(unit.c.number.in_(numbers))
        ).all()
        found = {row.number: row for row in rows}
        block = np.empty((len(numbers), dimension), dtype=np.int8)
        for place, number in enumerate(numbers):
            block[place] = code_of(found.get(number), dimension)
        yield block


def codes_of(connection: Connection, key: RevisionKey, *, units: int, dimension: int) -> Codes:
    """The codes of a revision's units in text order, (units, dimension) int8. Raises DamagedCatalog."""
    rows = connection.execute(
        select(unit.c.ordinal, code.c.codes, code.c.seal)
        .join(code, CODE_OF_UNIT)
        .where(unit.c.namespace == key.namespace, unit.c.source_id == key.source_id, unit.c.revision == key.revision)
    ).all()
    found = {row.ordinal: row for row in rows}
    codes = np.empty((units, dimension), dtype=np.int8)
    for ordinal in range(units):
        codes[ordinal] = code_of(found.get(ordinal), dimension)
    return codes


def code_of(row: AnyRow | None, dimension: int) -> Codes:
    """The code in a row of `code`: (dimension,) int8. Raises DamagedCatalog when it is missing or changed."""
    if row is None:
        raise DamagedCatalog("a unit has no code")
    if hashlib.sha256(row.codes).digest() != row.seal:
        raise DamagedCatalog("a code does not match its digest")
    if len(row.codes) != dimension:
        raise DamagedCatalog(f"a code has {len(row.codes)} dimensions, the recipe has {dimension}")
    return np.frombuffer(row.codes, dtype=np.int8)


def _two_columns(rows: Iterable[AnyRow]) -> tuple[Numbers, Numbers]:
    """Two columns of whole numbers as arrays, without a Python object for each."""
    first, second = array("q"), array("q")
    for row in rows:
        first.append(row[0])
        second.append(row[1])
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
