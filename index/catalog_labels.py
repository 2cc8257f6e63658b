"""How does a source come under another label?

Each function works inside the caller's write transaction. A label is kept once, whoever lies under it; the revisions
of a source share its label, so that their seals are written anew when it changes.
"""

from dataclasses import dataclass, replace

from sqlalchemy import Connection, Select, bindparam, delete, exists, func, insert, select, update

from evidence.access import Label
from evidence.identity import SourceKey
from index.catalog_rows import label_of, label_row, revision_seal, stored_facts_of
from index.catalog_state import next_change, record_change
from index.catalog_tables import label, relabelling, revision, source
from index.errors import DamagedCatalog

_ONE_SOURCE = (source.c.namespace == bindparam("of_namespace"), source.c.source_id == bindparam("of_source"))
LABELLED = revision.outerjoin(source).outerjoin(label)  # revisions, also those whose source or label is missing
FACTS_AND_LABEL = select(revision, label.c.digest, label.c.record).select_from(LABELLED)
_DIGEST_OF_SOURCE = select(source.c.label_digest).where(*_ONE_SOURCE)
_GIVEN_BY_HAND = (
    update(relabelling)
    .where(relabelling.c.namespace == bindparam("of_namespace"), relabelling.c.source_id == bindparam("of_source"))
    .values(after="")  # which is no label's digest: a rollback finds that the source has another one
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relabelled:
    """What a relabel did. `changed`: false where the source had that label already."""

    label: Label
    revisions: int
    changed: bool


def relabel(connection: Connection, key: SourceKey, new: Label) -> Relabelled | None:
    """Put a source and all its revisions under `new`, a label of its own namespace; None when there is no such source.

    From now on no rollback of an ingest that came before gives it another label, also where it had `new` already.
    Raises ValueError for a label of another namespace: a source never moves.
    """
    if new.namespace != key.namespace:
        raise ValueError(f"a source of {key.namespace!r} cannot have a label of {new.namespace!r}")
    held = label_digest_of(connection, key)
    if held is None:
        return None
    of_source = (revision.c.namespace == key.namespace, revision.c.source_id == key.source_id)
    revisions = connection.execute(select(func.count()).select_from(revision).where(*of_source)).scalar_one()
    connection.execute(_GIVEN_BY_HAND, _named(key))
    changed = held != new.digest
    if changed:
        change = next_change(connection)
        keep_label(connection, new)
        move_source(connection, key, before=held, after=new.digest, change=change)
        drop_unused_labels(connection)
        record_change(connection, change)
    return Relabelled(label=new, revisions=revisions, changed=changed)


def label_digest_of(connection: Connection, key: SourceKey) -> str | None:
    """The digest of a source's label; None when there is no such source."""
    return connection.execute(_DIGEST_OF_SOURCE, _named(key)).scalar_one_or_none()


def keep_label(connection: Connection, new: Label) -> None:
    """See that the label is there to be referred to."""
    if connection.execute(select(label.c.digest).where(label.c.digest == new.digest)).first() is None:
        connection.execute(insert(label), [label_row(new)])


def move_source(connection: Connection, key: SourceKey, *, before: str, after: str, change: int) -> None:
    """Put a source that lies under the label `before` under `after`, both by digest; its revisions' facts follow."""
    connection.execute(update(source).where(*_ONE_SOURCE).values(label_digest=after), _named(key))
    labels = {row.digest: label_of(row) for row in connection.execute(_labels_named(before, after))}
    if not {before, after} <= set(labels):
        raise DamagedCatalog("a source has a label that is missing")
    rows = connection.execute(
        select(revision).where(revision.c.namespace == key.namespace, revision.c.source_id == key.source_id)
    ).all()
    for row in rows:
        facts = replace(stored_facts_of(row, labels[before]), label=labels[after])
        seal = revision_seal(facts, row.content_digest, row.units, revoked=row.revoked)
        connection.execute(
            _RESEAL, {**_named(key), "of_revision": row.revision, "new_seal": seal, "new_change": change}
        )


def drop_unused_labels(connection: Connection) -> None:
    """Take out the labels that no source has any longer and that no rollback would give back."""
    used = exists().where(source.c.label_digest == label.c.digest)
    remembered = exists().where(relabelling.c.before == label.c.digest)
    connection.execute(delete(label).where(~used, ~remembered))


_RESEAL = (
    update(revision)
    .where(
        revision.c.namespace == bindparam("of_namespace"),
        revision.c.source_id == bindparam("of_source"),
        revision.c.revision == bindparam("of_revision"),
    )
    .values(seal=bindparam("new_seal"), change=bindparam("new_change"))
)


def _labels_named(*digests: str) -> Select[tuple[str, str]]:
    return select(label).where(label.c.digest.in_(digests))


def _named(key: SourceKey) -> dict[str, str]:
    return {"of_namespace": key.namespace, "of_source": key.source_id}
