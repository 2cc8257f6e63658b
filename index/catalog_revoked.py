"""Which revisions were revoked, also those that are gone by now?

A revision carries its revocation beside its facts. Here it stands once more, by its key alone, and outlives it: what
is taken out and comes in again under that key is revoked from the start, whatever its bytes (R4). Nobody is told:
taking in, taking out and revoking answer as if the revision had never been there (R6).
"""

import hashlib
from collections.abc import Iterable

from sqlalchemy import Connection, insert, select

from evidence.canonical import canonical
from evidence.errors import NotCanonical
from evidence.identity import Namespace, RevisionKey
from index.catalog_rows import AnyRow
from index.catalog_tables import catalog_state, revoked_revision
from index.errors import DamagedCatalog, describe


def remember_revoked(connection: Connection, keys: Iterable[RevisionKey], *, change: int) -> int:
    """Keep it that `change` revoked `keys`, none of which was before; how many they are, for `record_change`."""
    rows = [{**key._asdict(), "change": change, "seal": _seal(key, change)} for key in keys]
    if rows:
        connection.execute(insert(revoked_revision), rows)
    return len(rows)


def read_revoked(connection: Connection) -> dict[RevisionKey, int]:
    """Every revision that was revoked, and by which change. Raises DamagedCatalog when one changed or is missing.

    All or none: of a key that was changed only the whole table tells which one is missing (R3).
    """
    found = dict(_intact(row) for row in connection.execute(select(revoked_revision)))
    expected = connection.execute(select(catalog_state.c.revoked_revisions)).scalar_one()
    if len(found) != expected:
        raise DamagedCatalog(f"it remembers {len(found)} revoked revisions, had {expected}")
    return found


def _intact(row: AnyRow) -> tuple[RevisionKey, int]:
    key, change = RevisionKey(Namespace(row.namespace), row.source_id, row.revision), row.change
    try:
        intact = _seal(key, change) == row.seal
    except NotCanonical as error:
        raise DamagedCatalog("a revoked revision cannot be read") from error
    if not intact:
        raise DamagedCatalog(f"that {describe(key)} was revoked does not match its digest")
    return key, change


def _seal(key: RevisionKey, change: int) -> bytes:
    return hashlib.sha256(canonical([*key, change])).digest()
