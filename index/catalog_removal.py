"""How is something taken out of the catalog again?

Each function works inside the caller's write transaction. What is taken out is gone whole: the same bytes, or others,
may come in again as if nothing had been there, but for one thing: a revision that was revoked comes in as revoked
(`index/catalog_revoked.py`). Codes stay until the next reindex, as their rows do in the published generation: without
a revision nothing leads to either.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Delete, Table, and_, bindparam, delete, func, insert, select, update

from evidence.identity import Namespace, RevisionKey, SourceKey
from evidence.revision import Status
from index.catalog_labels import drop_unused_labels, label_digest_of, move_source
from index.catalog_revoked import remember_revoked
from index.catalog_rows import AnyRow
from index.catalog_state import next_change, record_change
from index.catalog_tables import ingest, relabelling, revision, source, superseder, unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was taken out."""

    sources: int  # that have no revision left
    revisions: int
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """What a rollback took out, and what it did to the sources that the ingest had relabelled and that are left."""

    removed: Removed
    restored: int  # have the label again that they had before
    kept: int  # keep the one they have: they were relabelled since, or something came in under it


def delete_source(connection: Connection, key: SourceKey) -> Removed | None:
    """Take out a source with all its revisions; None when there is no such source.

    Those that came as revoked are remembered from now on, as those that were revoked here are already.
    """
    if label_digest_of(connection, key) is None:
        return None
    change = next_change(connection)
    remembered = remember_revoked(connection, _came_as_revoked(connection, key), change=change)
    removed = _remove(connection, and_(*_of_source(revision, key)))
    drop_unused_labels(connection)
    record_change(connection, change, revisions=-removed.revisions, revoked_revisions=remembered)
    return removed


def roll_back(connection: Connection, ingest_id: str) -> RolledBack | None:
    """Undo an ingest: take out the revisions it brought, and give back the labels it changed; None when no ingest
    that changed anything has that id.

    What later calls did stays: revisions of the same source that another ingest brought, with the label that they came
    under, labels given since, and that a revision was revoked. One that came as revoked is undone with the ingest that
    said so.
    """
    undone = connection.execute(select(ingest.c.change).where(ingest.c.ingest_id == ingest_id)).scalars().all()
    if not undone:
        return None
    change = next_change(connection)
    removed = _remove(connection, revision.c.added.in_(undone))
    newest_first = select(relabelling).where(relabelling.c.change.in_(undone)).order_by(relabelling.c.change.desc())
    rows = connection.execute(newest_first).all()
    connection.execute(delete(relabelling).where(relabelling.c.change.in_(undone)))
    settled = [_give_back(connection, row, change) for row in rows]
    connection.execute(delete(ingest).where(ingest.c.change.in_(undone)))
    drop_unused_labels(connection)
    record_change(connection, change, revisions=-removed.revisions)
    return RolledBack(removed=removed, restored=settled.count(True), kept=settled.count(False))


def _came_as_revoked(connection: Connection, key: SourceKey) -> list[RevisionKey]:
    rows = connection.execute(
        select(revision.c.revision)
        .where(*_of_source(revision, key), revision.c.status == Status.REVOKED.value, revision.c.revoked.is_(None))
        .order_by(revision.c.revision)
    )
    return [RevisionKey(*key, name) for name in rows.scalars()]


def _remove(connection: Connection, which: ColumnElement[bool]) -> Removed:
    """Take out the revisions for which `which` holds, children before parents, and the sources that have none left."""
    held = connection.execute(
        select(revision.c.namespace, revision.c.source_id, revision.c.revision, revision.c.units).where(which)
    ).all()
    keys = [{"of_namespace": row.namespace, "of_source": row.source_id, "of_revision": row.revision} for row in held]
    if keys:
        for table in (superseder, unit, revision):
            connection.execute(_of_revision(table), keys)
    emptied = [
        key
        for key in sorted({SourceKey(row.namespace, row.source_id) for row in held})
        if not _revisions_left(connection, key)
    ]
    for key in emptied:
        for table in (relabelling, source):
            connection.execute(delete(table).where(*_of_source(table, key)))
    return Removed(sources=len(emptied), revisions=len(held), units=sum(row.units for row in held))


def _revisions_left(connection: Connection, key: SourceKey) -> int:
    return connection.execute(select(func.count()).select_from(revision).where(*_of_source(revision, key))).scalar_one()


def _give_back(connection: Connection, row: AnyRow, change: int) -> bool:
    """Put a source back under the label that the ingest of `row` took from it; False where it keeps the one it has.

    It does where it was relabelled since, or a later ingest brought a revision under that label, which may not lie
    under another one for it. Then the first such ingest remembers the earlier label, in case that one is undone too.
    """
    key = SourceKey(Namespace(row.namespace), row.source_id)
    later = connection.execute(
        select(relabelling)
        .where(*_of_source(relabelling, key), relabelling.c.change > row.change)
        .order_by(relabelling.c.change)
        .limit(1)
    ).one_or_none()
    brought = connection.execute(
        select(func.min(revision.c.added)).where(*_of_source(revision, key), revision.c.added > row.change)
    ).scalar_one()
    if brought is not None and (later is None or brought < later.change):
        connection.execute(insert(relabelling).values({**row._mapping, "change": brought}))
        return False
    if later is None and label_digest_of(connection, key) == row.after:
        move_source(connection, key, before=row.after, after=row.before, change=change)
        return True
    if later is not None and later.before == row.after:
        one = (*_of_source(relabelling, key), relabelling.c.change == later.change)
        connection.execute(update(relabelling).where(*one).values(before=row.before))
    return False


def _of_source(table: Table, key: SourceKey) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.namespace == key.namespace, table.c.source_id == key.source_id


def _of_revision(table: Table) -> Delete:
    return delete(table).where(
        table.c.namespace == bindparam("of_namespace"),
        table.c.source_id == bindparam("of_source"),
        table.c.revision == bindparam("of_revision"),
    )
