"""What does a manifest name? (pure)

Whoever is shown a stored manifest must be able to see every unit in it now (R35). Identities are read from the fields
that hold them, wherever these stand, and from nowhere else: titles, owners, values of claims and names of roles are
free text, and one that reads like a unit's id names no unit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evidence.canonical import Json
from evidence.identity import Namespace, RevisionKey, SourceKey, UnitKey, parse_unit_id

# What the caller asked for and what the operator wrote: both may name what is not there, or not theirs.
NOT_SHOWN = frozenset({"request", "query_class"})

# The fields that hold ids of units: one, a list of them, or a list of lists. A source or a revision is an object with
# `namespace` and `source_id`, and `revision`.
_LEAVES = (str, int, type(None))
UNIT_FIELDS = ("unit_id", "duplicate_of", "members", "sides", "prevails", "overruled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a manifest names. `texts`: of each included unit's revision the digest of its text."""

    units: frozenset[UnitKey]
    revisions: frozenset[RevisionKey]
    sources: frozenset[SourceKey]
    texts: Mapping[RevisionKey, str]

    def every_revision(self) -> frozenset[RevisionKey]:
        """The revisions named, and those of the units."""
        return self.revisions | {unit.revision_key for unit in self.units}


def named_in(manifest: Mapping[str, Json]) -> Named:
    """Everything that a manifest names outside the request and the query class."""
    unit_ids: set[str] = set()
    revisions: set[RevisionKey] = set()
    sources: set[SourceKey] = set()
    texts: dict[RevisionKey, str] = {}
    for record in _objects({name: value for name, value in manifest.items() if name not in NOT_SHOWN}):
        for field in UNIT_FIELDS:
            if field in record:
                unit_ids.update(_texts(record[field]))
        source, revision = _identity(record)
        if revision is not None:
            revisions.add(revision)
            text = record.get("text_digest")
            if isinstance(text, str):
                texts[revision] = text
        elif source is not None:
            sources.add(source)
    units = frozenset(unit for text in unit_ids if (unit := parse_unit_id(text)) is not None)
    return Named(units=units, revisions=frozenset(revisions), sources=frozenset(sources), texts=texts)


def _identity(record: Mapping[str, Json]) -> tuple[SourceKey | None, RevisionKey | None]:
    if "source_id" not in record:
        return None, None
    namespace, source_id, revision = record.get("namespace"), record["source_id"], record.get("revision")
    if not isinstance(namespace, str) or not isinstance(source_id, str):
        return None, None
    source = SourceKey(Namespace(namespace), source_id)
    return source, RevisionKey(*source, revision) if isinstance(revision, str) else None


def _texts(value: Json) -> Iterator[str]:
    """The texts that a field holds: one, those of a list, or of a list of lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    """Every object of a record."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        inside: Iterable[Json] = ()
        if isinstance(found, Mapping):
            yield found
            inside = found.values()
        elif isinstance(found, Sequence) and not isinstance(found, str):
            inside = found
        waiting.extend(item for item in inside if not isinstance(item, _LEAVES))  # most are: three times as fast
