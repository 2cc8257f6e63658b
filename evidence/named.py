"""What does a manifest name? (pure)

Whoever is shown a stored manifest must be able to see every unit in it now (R35), so that what it names is found in
its own words: each object that carries an identity, and each text that is a unit's id. Read generously: a text that
only looks like a unit's id counts as one, and the manifest is then withheld rather than shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evidence.canonical import Json
from evidence.identity import Namespace, RevisionKey, SourceKey, UnitKey, parse_unit_id

# What the caller asked for and what the operator wrote: both may name what is not there, or not theirs.
NOT_SHOWN = frozenset({"request", "query_class"})


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
    units: set[UnitKey] = set()
    revisions: set[RevisionKey] = set()
    sources: set[SourceKey] = set()
    texts: dict[RevisionKey, str] = {}
    for value in _inside({name: value for name, value in manifest.items() if name not in NOT_SHOWN}):
        if isinstance(value, str):
            unit = parse_unit_id(value) if "#" in value and "@" in value else None
            if unit is not None:
                units.add(unit)
        elif isinstance(value, Mapping):
            source, revision = _identity(value)
            if revision is not None:
                revisions.add(revision)
                text = value.get("text_digest")
                if isinstance(text, str):
                    texts[revision] = text
            elif source is not None:
                sources.add(source)
    return Named(units=frozenset(units), revisions=frozenset(revisions), sources=frozenset(sources), texts=texts)


def _identity(record: Mapping[str, Json]) -> tuple[SourceKey | None, RevisionKey | None]:
    namespace, source_id, revision = record.get("namespace"), record.get("source_id"), record.get("revision")
    if not isinstance(namespace, str) or not isinstance(source_id, str):
        return None, None
    source = SourceKey(Namespace(namespace), source_id)
    return source, RevisionKey(*source, revision) if isinstance(revision, str) else None


def _inside(value: Json) -> Iterator[Json]:
    """Every object and text of a record."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping):
            yield found
            waiting.extend(found.values())
        elif isinstance(found, Sequence):
            waiting.extend(found)
