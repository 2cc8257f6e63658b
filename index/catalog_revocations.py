"""What was revoked, how is that kept, and how is it read?

Subjects, tokens and grants have rows of their own; a revision carries it beside its facts, which stay as they came:
the same bytes offered again are still the same, and still revoked. Nothing here takes a revocation back, and none is
forgotten when what it took is deleted (`index/catalog_revoked.py`).
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, select, update

from evidence.access import Principal
from evidence.canonical import canonical
from evidence.errors import NotCanonical
from evidence.grants import Dimension, Grant, Revocations, Subject, Token
from evidence.identity import Namespace, RevisionKey
from index.catalog_labels import FACTS_AND_LABEL
from index.catalog_revoked import remember_revoked
from index.catalog_rows import AnyRow, label_of, revision_seal, stored_facts_of
from index.catalog_state import next_change, record_change
from index.catalog_tables import catalog_state, revision, revocation
from index.errors import DamagedCatalog

STATES_KEPT = 2  # as of holdings: the latest, and the one that open readers may still ask for

_EVERYWHERE = ""
_OF_PRINCIPAL = select(revocation).where(
    revocation.c.name.in_([bindparam("sub"), bindparam("token_id")]),
    revocation.c.namespace.in_([bindparam("acts_in"), bindparam("everywhere")]),
)
_HELD = select(func.count()).select_from(revocation)
_EXPECTED = select(catalog_state.c.revocations)


class Revoked(StrEnum):
    """How a revocation ended."""

    NOW = "now"
    BEFORE = "before"  # it was in force already
    ABSENT = "absent"  # the catalog holds no such revision


class KeptRevocations:
    """The revocations of the last few states. Shared by all readers of a catalog in one process; takes its own lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Revocations] = OrderedDict()

    def at(self, change: int, connection: Connection) -> Revocations:
        """The revocations at `change`, which is what `connection` sees."""
        with self._lock:
            held = self._kept.get(change)
            if held is None:
                held = self._kept[change] = read_revocations(connection)
                while len(self._kept) > STATES_KEPT:
                    del self._kept[min(self._kept)]
            return held


def read_revocations(connection: Connection) -> Revocations:
    """Everything that was revoked, revisions apart. Raises DamagedCatalog when a row changed or is missing."""
    return _read(connection, select(revocation))


def read_revocations_of(connection: Connection, principal: Principal) -> Revocations:
    """Everything that was revoked of one principal and its token, where it acts or everywhere: what is revoked of those
    whom another tenant calls the same costs nothing here. Raises DamagedCatalog as `read_revocations`."""
    sub, token_id = principal.sub, principal.token_id
    named = {
        "sub": sub,
        "token_id": sub if token_id is None else token_id,
        "acts_in": principal.namespace,
        "everywhere": _EVERYWHERE,
    }
    return _read(connection, _OF_PRINCIPAL, named)


def _read(connection: Connection, query: Select[Any], named: Mapping[str, str] | None = None) -> Revocations:
    revoked = [_revoked(row) for row in connection.execute(query, named)]
    held = connection.execute(_HELD).scalar_one()
    expected = connection.execute(_EXPECTED).scalar_one()
    if held != expected:
        raise DamagedCatalog(f"it has {held} revocations, had {expected}")
    return Revocations(
        subjects=frozenset(one for one in revoked if isinstance(one, Subject)),
        token_ids=frozenset(one for one in revoked if isinstance(one, Token)),
        grants=frozenset(one for one in revoked if isinstance(one, Grant)),
    )


def revoke(connection: Connection, what: Subject | Token | Grant | RevisionKey) -> Revoked:
    """Revoke, inside the caller's write transaction. Revoking again changes nothing."""
    return _revoke_revision(connection, what) if isinstance(what, RevisionKey) else _revoke_name(connection, what)


def _revoke_name(connection: Connection, what: Subject | Token | Grant) -> Revoked:
    row = _row(what)
    held = select(revocation.c.change).where(*(revocation.c[name] == value for name, value in row.items()))
    if connection.execute(held).first() is not None:
        return Revoked.BEFORE
    change = next_change(connection)
    connection.execute(insert(revocation).values(**row, seal=_seal(row), change=change))
    record_change(connection, change, revocations=1)
    return Revoked.NOW


def _revoke_revision(connection: Connection, key: RevisionKey) -> Revoked:
    """The facts stay as they came: their digest says whether bytes offered again are the same."""
    one = tuple(revision.c[name] == value for name, value in key._asdict().items())
    row = connection.execute(FACTS_AND_LABEL.where(*one)).one_or_none()
    if row is None:
        return Revoked.ABSENT
    facts = stored_facts_of(row, label_of(row))
    if row.revoked is not None:
        return Revoked.BEFORE
    change = next_change(connection)
    seal = revision_seal(facts, row.content_digest, row.units, revoked=change)
    connection.execute(update(revision).where(*one).values(revoked=change, change=change, seal=seal))
    record_change(connection, change, revoked_revisions=remember_revoked(connection, [key], change=change))
    return Revoked.NOW


def _row(what: Subject | Token | Grant) -> dict[str, str]:
    namespace = _EVERYWHERE if what.namespace is None else what.namespace
    plain = {"namespace": namespace, "dimension": "", "value": ""}
    match what:
        case Subject():
            return {**plain, "kind": "subject", "name": what.sub}
        case Token():
            return {**plain, "kind": "token", "name": what.token_id}
        case Grant():
            return {
                **plain,
                "kind": "grant",
                "name": what.subject,
                "dimension": what.dimension.value,
                "value": what.value,
            }


def _revoked(row: AnyRow) -> Subject | Token | Grant:
    """What a row of `revocation` says. Raises DamagedCatalog when it changed since it was written."""
    columns = {name: row._mapping[name] for name in _SEALED}
    try:
        intact = _seal(columns) == row.seal
    except NotCanonical as error:
        raise DamagedCatalog("a revocation cannot be read") from error
    if not intact:
        raise DamagedCatalog("a revocation does not match its digest")
    namespace = None if row.namespace == _EVERYWHERE else Namespace(row.namespace)
    match row.kind:
        case "subject":
            return Subject(namespace, row.name)
        case "token":
            return Token(namespace, row.name)
        case _:
            return Grant(namespace, row.name, Dimension(row.dimension), row.value)


_SEALED = ("kind", "namespace", "name", "dimension", "value")


def _seal(columns: Mapping[str, str]) -> bytes:
    return hashlib.sha256(canonical([columns[name] for name in _SEALED])).digest()
