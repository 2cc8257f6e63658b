"""Under which name is a source, a revision, a unit known? (pure)

Identity is (namespace, source_id, revision), and the ordinal for a unit. Two tenants may use the same
source_id and never meet. Keys order by code point, component by component (R11).
"""

import re
from typing import NamedTuple, NewType
from urllib.parse import quote, unquote

Namespace = NewType("Namespace", str)  # "public", or a tenant's name
UnitId = NewType("UnitId", str)

PUBLIC = Namespace("public")

_is_plain = re.compile(r"[A-Za-z0-9_.~-]*").fullmatch  # what percent-encoding leaves as it is (RFC 3986, 2.3)


class SourceKey(NamedTuple):
    """Names a source."""

    namespace: Namespace
    source_id: str


class RevisionKey(NamedTuple):
    """Names one revision of a source."""

    namespace: Namespace
    source_id: str
    revision: str

    @property
    def source(self) -> SourceKey:
        return SourceKey(self.namespace, self.source_id)


class UnitKey(NamedTuple):
    """Names one unit of a revision. `ordinal` counts from 0 in text order."""

    namespace: Namespace
    source_id: str
    revision: str
    ordinal: int

    @property
    def revision_key(self) -> RevisionKey:
        return RevisionKey(self.namespace, self.source_id, self.revision)


def unit_id(key: UnitKey) -> UnitId:
    """`namespace/source_id@revision#ordinal`, each part percent-encoded, so that it reads back without doubt.

    >>> unit_id(UnitKey(PUBLIC, "SB-A-7", "7", 0))
    'public/SB-A-7@7#0'
    """
    namespace, source_id, revision, ordinal = key
    if _is_plain(f"{namespace}{source_id}{revision}"):
        return UnitId(f"{namespace}/{source_id}@{revision}#{ordinal}")
    written = (quote(part, safe="") for part in (namespace, source_id, revision))
    return UnitId("{}/{}@{}#{}".format(*written, ordinal))


def parse_unit_id(text: str) -> UnitKey | None:
    """The key that `unit_id` wrote as `text`, or None when it never wrote that."""
    head, _, ordinal = text.rpartition("#")
    head, _, revision = head.rpartition("@")
    namespace, _, source_id = head.partition("/")
    if not (ordinal.isascii() and ordinal.isdigit() and len(ordinal) <= 9):
        return None
    key = UnitKey(Namespace(unquote(namespace)), unquote(source_id), unquote(revision), int(ordinal))
    return key if unit_id(key) == text else None
