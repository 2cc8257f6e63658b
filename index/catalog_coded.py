"""Which revisions can be searched, and which wait for a reindex?

A mark on the revision says it: it was taken in together with its codes, or published since. Never the mere presence of
codes or rows: whether a text was encoded before, for a revision that the caller may not see, or the same revision was
published before it was taken out, must not decide what the caller finds (R6). Works inside the caller's write
transaction.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, bindparam, exists, func, select, update

from evidence.identity import RevisionKey
from index.catalog_codes import CODE_OF_UNIT, Codes, Input, keep_codes
from index.catalog_state import next_change, record_change
from index.catalog_tables import code, revision, unit
from index.errors import CodesMissing

_MARK = (
    update(revision)
    .where(
        revision.c.namespace == bindparam("of_namespace"),
        revision.c.source_id == bindparam("of_source"),
        revision.c.revision == bindparam("of_revision"),
        revision.c.coded.is_(False),
    )
    .values(coded=True, change=bindparam("at_change"))
)
_OF_REVISION = and_(
    unit.c.namespace == revision.c.namespace,
    unit.c.source_id == revision.c.source_id,
    unit.c.revision == revision.c.revision,
)
_LACKS_CODE = and_(revision.c.coded.is_(True), ~exists(select(code.c.namespace).where(CODE_OF_UNIT).correlate(unit)))
_WITHOUT_CODE = (
    select(func.count())
    .select_from(revision.join(unit, _OF_REVISION))
    .where(revision.c.change == bindparam("at_change"), _LACKS_CODE)
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoded:
    """Distinct texts and their codes. codes: (len(texts), d) int8."""

    texts: Sequence[Input]
    codes: Codes


def keep_with_codes(connection: Connection, keys: Iterable[RevisionKey], encoded: Encoded, *, change: int) -> int:
    """Keep codes, and mark the revisions `keys` as taken in with them. Returns how many had no mark before.

    Raises CodesMissing when a unit of theirs has no code, neither in `encoded` nor in the catalog.
    """
    keep_codes(connection, encoded.texts, encoded.codes)
    marked = sum(connection.execute(_MARK, _named(key, change)).rowcount for key in keys)
    waiting = connection.execute(_WITHOUT_CODE, {"at_change": change}).scalar_one()
    if waiting:
        raise CodesMissing(units=waiting)
    return marked


def mark_published(connection: Connection, *, change: int) -> None:
    """Mark every revision of the state `change`, of which a generation was published: all of it has codes.

    One that came in since waits, also under a key that was there before: the rows under that key are not its own.
    """
    marking = next_change(connection)
    of_state = revision.c.added <= change
    marked = connection.execute(
        update(revision).where(revision.c.coded.is_(False), of_state).values(coded=True, change=marking)
    ).rowcount
    if marked:
        record_change(connection, marking)


def lacking_codes(connection: Connection) -> list[RevisionKey]:
    """Revisions that are marked and of which a unit has no code, in key order: the mark says what is not so."""
    columns = (revision.c.namespace, revision.c.source_id, revision.c.revision)
    rows = connection.execute(
        select(*columns).select_from(revision.join(unit, _OF_REVISION)).where(_LACKS_CODE).distinct().order_by(*columns)
    )
    return [RevisionKey(*row) for row in rows]


def _named(key: RevisionKey, change: int) -> dict[str, str | int]:
    return {
        "of_namespace": key.namespace,
        "of_source": key.source_id,
        "of_revision": key.revision,
        "at_change": change,
    }
