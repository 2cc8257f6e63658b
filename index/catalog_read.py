"""What does the catalog hold, seen in one consistent state?

Facts are read once and kept for as long as nothing was written; what was written since is added to what is kept.
Units and texts are read when they are asked for.
"""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select

from evidence.access import Label
from evidence.canonical import digest_text
from evidence.citations import citation_handle
from evidence.grants import Revocations
from evidence.identity import RevisionKey, SourceKey, UnitKey
from evidence.revision import RevisionFacts
from evidence.unit import Unit
from index.catalog_keys import batches, is_one_of_those
from index.catalog_revocations import KeptRevocations
from index.catalog_rows import AnyRow, facts_of, label_of, unit_of
from index.catalog_tables import catalog_state, ingest, label, revision, source, unit
from index.errors import DamagedCatalog, describe

HANDLES_AT_ONCE = 500  # of one statement: SQLite binds at least 999 parameters, whatever it was built with
STATES_KEPT = 2  # states whose facts stay in memory: the latest, and the one that open readers may still ask for

_CHANGE = select(catalog_state.c.change)
_UNIT = (unit.c.namespace, unit.c.source_id, unit.c.revision, unit.c.ordinal)
_UNITS = select(unit).where(is_one_of_those(_UNIT))
_INGESTS = select(revision.c.namespace, revision.c.source_id, revision.c.revision, ingest.c.ingest_id).join(ingest)
_KEYS = select(revision.c.namespace, revision.c.source_id, revision.c.revision)
_UNITS_OF_HANDLES = (
    select(unit)
    .where(unit.c.handle.in_(bindparam("handles", expanding=True)))
    .order_by(unit.c.namespace, unit.c.source_id, unit.c.revision, unit.c.ordinal)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What is known of all revisions in one state of the catalog. Every mapping is in key order; none is ever edited.

    content_digests: of each revision's facts without the label, as a generation keeps it for its rows. superseding: by
    source, the revisions that declare to supersede one of it.
    """

    change: int
    keys: Sequence[RevisionKey]
    facts: Mapping[RevisionKey, RevisionFacts]
    superseding: Mapping[SourceKey, Sequence[RevisionFacts]]
    by_label: Mapping[Label, Sequence[RevisionFacts]]
    label_digests: Mapping[Label, str]
    content_digests: Mapping[RevisionKey, str]
    unit_counts: Mapping[RevisionKey, int]
    coded: frozenset[RevisionKey]  # can be searched: taken in together with their codes, or published since


class KeptHoldings:
    """The holdings of the last few states. Shared by all readers of a catalog in one process; takes its own lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Holdings] = OrderedDict()

    def at(self, change: int, connection: Connection) -> Holdings:
        """The holdings at `change`, which is what `connection` sees. Reads only what was written since a kept state."""
        with self._lock:
            held = self._kept.get(change)
            if held is None:
                earlier = max((kept for kept in self._kept if kept < change), default=None)
                held = _read_holdings(connection, change, None if earlier is None else self._kept[earlier])
                self._kept[change] = held
                while len(self._kept) > STATES_KEPT:
                    del self._kept[min(self._kept)]
            return held


class Reading:
    """One read transaction: every answer is of the same state, whatever is committed meanwhile.

    `connection` is for the modules of this package that keep tables of their own in the catalog.
    """

    def __init__(self, connection: Connection, kept: KeptHoldings, revocations: KeptRevocations) -> None:
        self.connection = connection
        # SQLite takes its snapshot at the first statement, so this must stay in front of all others.
        self.change: int = connection.execute(_CHANGE).scalar_one()
        self._kept = kept
        self._revocations = revocations

    @property
    def holdings(self) -> Holdings:
        """Everything known of all revisions."""
        return self._kept.at(self.change, self.connection)

    @property
    def revocations(self) -> Revocations:
        """What was revoked, revisions apart: their status says it."""
        return self._revocations.at(self.change, self.connection)

    def facts(self) -> Mapping[RevisionKey, RevisionFacts]:
        """The facts of every revision, in key order."""
        return self.holdings.facts

    @property
    def unit_count(self) -> int:
        return self.connection.execute(select(func.count()).select_from(unit)).scalar_one()

    def units(self, keys: Sequence[UnitKey]) -> list[Unit]:
        """The units of `keys`, in that order, repeats kept. Raises KeyError for a key the catalog does not hold.

        Costs one statement for each KEYS_AT_ONCE of them.
        """
        asked = list(dict.fromkeys(keys))
        rows = (row for named in batches(_UNIT, asked) for row in self.connection.execute(_UNITS, named))
        found = {read.key: read for read in map(unit_of, rows)}
        return [found[key] for key in keys]

    def ingest_ids(self) -> dict[RevisionKey, str]:
        """Which `add` brought each revision."""
        rows = self.connection.execute(_INGESTS)
        return {RevisionKey(row.namespace, row.source_id, row.revision): row.ingest_id for row in rows}

    def units_by_handle(self, handle: str) -> list[Unit]:
        """The units that a citation handle names, in key order: none, one, or several where handles collide.

        They are of any namespace and under any label: what the caller may not see must not come of it (R7).
        """
        return self.units_by_handles([handle]).get(handle, [])

    def units_by_handles(self, handles: Iterable[str]) -> dict[str, list[Unit]]:
        """The units that each of these handles names, as `units_by_handle`; one that names none is not there.

        Costs one statement for each HANDLES_AT_ONCE of them.
        """
        asked = sorted(set(handles))
        found: defaultdict[str, list[Unit]] = defaultdict(list)
        for start in range(0, len(asked), HANDLES_AT_ONCE):
            batch = asked[start : start + HANDLES_AT_ONCE]
            for row in self.connection.execute(_UNITS_OF_HANDLES, {"handles": batch}):
                read = unit_of(row)
                if citation_handle(read) != row.handle:
                    of = describe(read.key.revision_key)
                    raise DamagedCatalog(f"unit {read.key.ordinal} of {of} has another handle")
                found[row.handle].append(read)
        return dict(found)

    def units_of(self, key: RevisionKey) -> list[Unit]:
        """All units of a revision in text order. Raises KeyError for a revision the catalog does not hold."""
        expected = self.holdings.unit_counts[key]
        rows = self.connection.execute(
            select(unit)
            .where(
                unit.c.namespace == key.namespace, unit.c.source_id == key.source_id, unit.c.revision == key.revision
            )
            .order_by(unit.c.ordinal)
        )
        units = [unit_of(row) for row in rows]
        if [read.key.ordinal for read in units] != list(range(expected)):
            raise DamagedCatalog(f"{describe(key)} should have {expected} units")
        return units

    def revision_text(self, key: RevisionKey) -> str:
        """The stored text of a revision. Raises KeyError for a revision the catalog does not hold."""
        text = "".join(read.text for read in self.units_of(key))
        if digest_text(text) != self.facts()[key].text_digest:
            raise DamagedCatalog(f"the text of {describe(key)} does not match its digest")
        return text


def _read_holdings(connection: Connection, change: int, earlier: Holdings | None) -> Holdings:
    labels = {row.digest: label_of(row) for row in connection.execute(select(label))}
    expected = connection.execute(select(catalog_state.c.revisions)).scalar_one()
    facts = {} if earlier is None else dict(earlier.facts)
    digests = {} if earlier is None else dict(earlier.content_digests)
    counts = {} if earlier is None else dict(earlier.unit_counts)
    coded = set() if earlier is None else set(earlier.coded)
    for row in _rows_since(connection, None if earlier is None else earlier.change):
        if row.label_digest not in labels:
            raise DamagedCatalog("a source has a label that is missing")
        read = facts_of(row, labels[row.label_digest])
        facts[read.key], digests[read.key], counts[read.key] = read, row.content_digest, row.units
        (coded.add if row.coded else coded.discard)(read.key)
    if earlier is not None and len(facts) != expected:  # something was taken out since
        held = {RevisionKey(*row) for row in connection.execute(_KEYS)}
        facts = {key: known for key, known in facts.items() if key in held}
    if len(facts) != expected:
        raise DamagedCatalog(f"it has {len(facts)} revisions, had {expected}")
    keys = sorted(facts)
    by_label: defaultdict[Label, list[RevisionFacts]] = defaultdict(list)
    superseding: defaultdict[SourceKey, list[RevisionFacts]] = defaultdict(list)
    for key in keys:
        known = facts[key]
        by_label[known.label].append(known)
        if known.supersedes:
            for of_source in {target.source for target in known.supersedes}:
                superseding[of_source].append(known)
    return Holdings(
        change=change,
        keys=keys,
        facts={key: facts[key] for key in keys},
        superseding={of_source: superseding[of_source] for of_source in sorted(superseding)},
        by_label=dict(by_label),
        label_digests={held_label: name for name, held_label in labels.items()},
        content_digests={key: digests[key] for key in keys},
        unit_counts={key: counts[key] for key in keys},
        coded=frozenset(coded & facts.keys()),
    )


def _rows_since(connection: Connection, change: int | None) -> Iterator[AnyRow]:
    """The revisions whose facts were written after `change`, all of them for None, with their source's label.

    A revision without its source is there too: it must not go missing in silence.
    """
    query = select(revision, source.c.label_digest).outerjoin(source)
    yield from connection.execute(query if change is None else query.where(revision.c.change > change))
