"""How does a revision enter the catalog, and when is it refused?

Each function works inside the caller's write transaction. What is refused raises, the transaction is rolled back,
and the catalog is what it was: a call is taken whole or not at all.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, bindparam, insert, select

from evidence.access import Label
from evidence.canonical import canonical, digest
from evidence.identity import RevisionKey, SourceKey
from evidence.revision import RevisionFacts, Status
from evidence.unit import Unit
from index.catalog_coded import Encoded, keep_with_codes
from index.catalog_labels import keep_label, label_digest_of, move_source
from index.catalog_revoked import read_revoked
from index.catalog_rows import Value, breaks, facts_row, supersedes_of, unit_row
from index.catalog_state import next_change, record_change
from index.catalog_tables import ingest, relabelling, revision, source, superseder, unit
from index.errors import InvalidRevision, LabelChanged, RevisionChanged, SupersedesCycle

UNITS_HELD = 1000  # rows collected before they are written: one statement for many

_ONE_REVISION = (
    revision.c.namespace == bindparam("of_namespace"),
    revision.c.source_id == bindparam("of_source"),
    revision.c.revision == bindparam("of_revision"),
)
_CONTENT_OF_REVISION = select(revision.c.content_digest, revision.c.revoked).where(*_ONE_REVISION)
_RELATIONS_OF_REVISION = select(revision.c.relations).where(*_ONE_REVISION)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRevision:
    """A revision on its way in. `units` tile `text` in order."""

    facts: RevisionFacts
    text: str
    units: Sequence[Unit]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What one call did, or would do. `units`, `tokens` and `text_bytes` count what was accepted.

    `ingest_id` is a digest of what was offered, in order: the same lines again have the same id.
    """

    ingest_id: str
    accepted: int  # revisions that were new
    unchanged: int  # revisions that the catalog held already, byte for byte
    relabelled: int  # sources that have another label now
    units: int
    tokens: int  # encoder tokens of the units: what is left to encode, at most
    text_bytes: int  # UTF-8


def add(
    connection: Connection, revisions: Iterable[NewRevision], *, relabel: bool, encoded: Encoded | None = None
) -> IngestReport:
    """Take `revisions` in. With `relabel`, a source follows the label that its revisions bring. With `encoded`, which
    holds a code for every text of theirs that had none, they can be searched before the next reindex. A revision that
    was revoked before it was taken out is revoked again, and counted like any other.

    Raises InvalidRevision, RevisionChanged, LabelChanged (also when one call brings two labels for a source),
    SupersedesCycle or CodesMissing.
    """
    change = next_change(connection)
    call = _Call(connection=connection, change=change, relabel=relabel, revoked=read_revoked(connection))
    keys = []
    for offered in revisions:
        call.take(offered)
        if encoded is not None:
            keys.append(offered.facts.key)
    call.write_held()
    marked = 0 if encoded is None else keep_with_codes(connection, keys, encoded, change=change)
    _refuse_cycles(connection, call.superseding)
    report = call.report()
    if report.accepted or report.relabelled:
        connection.execute(
            insert(ingest).values(
                change=change,
                ingest_id=report.ingest_id,
                accepted=report.accepted,
                unchanged=report.unchanged,
                relabelled=report.relabelled,
            )
        )
        if call.relabellings:
            connection.execute(insert(relabelling), call.relabellings)
    if report.accepted or report.relabelled or marked:
        record_change(connection, change, revisions=report.accepted)
    return report


@dataclass(slots=True, kw_only=True)
class _Call:
    """One call under way: what it counted, and the rows that are not written yet."""

    connection: Connection
    change: int
    relabel: bool
    revoked: Mapping[RevisionKey, int]  # by which change
    offered: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    labels: dict[SourceKey, Label] = field(default_factory=dict)  # what this call brought; only kept for a relabel
    superseding: list[RevisionKey] = field(default_factory=list)
    held_revisions: dict[RevisionKey, dict[str, Value]] = field(default_factory=dict)
    held_units: list[dict[str, Value]] = field(default_factory=list)
    held_superseders: list[dict[str, str]] = field(default_factory=list)
    relabellings: list[dict[str, Value]] = field(default_factory=list)
    accepted: int = 0
    unchanged: int = 0
    relabelled: int = 0
    units: int = 0
    tokens: int = 0
    text_bytes: int = 0

    def take(self, offered: NewRevision) -> None:
        """Refuse, skip or hold one revision."""
        facts = offered.facts
        problem = breaks(facts, offered.text, offered.units)
        if problem is not None:
            raise InvalidRevision(facts.key, problem)
        self.offered.update(canonical([*facts.key, facts.digest]))
        self._settle_label(facts)
        if self._holds(facts):
            self.unchanged += 1
            return
        self.held_revisions[facts.key] = {
            **facts_row(facts, units=len(offered.units), revoked=self.revoked.get(facts.key)),
            "added": self.change,
            "change": self.change,
        }
        self.held_units.extend(unit_row(new) for new in offered.units)
        self.held_superseders.extend(_superseder_row(facts.key, target) for target in dict.fromkeys(facts.supersedes))
        if facts.supersedes:
            self.superseding.append(facts.key)
        self.accepted += 1
        self.units += len(offered.units)
        self.tokens += sum(new.tokens for new in offered.units)
        self.text_bytes += len(offered.text.encode("utf-8"))
        if len(self.held_units) >= UNITS_HELD:
            self.write_held()

    def write_held(self) -> None:
        """Write the rows held, parents before children."""
        if self.held_revisions:
            self.connection.execute(insert(revision), list(self.held_revisions.values()))
        if self.held_units:
            self.connection.execute(insert(unit), self.held_units)
        if self.held_superseders:
            self.connection.execute(insert(superseder), self.held_superseders)
        self.held_revisions.clear()
        self.held_units.clear()
        self.held_superseders.clear()

    def report(self) -> IngestReport:
        return IngestReport(
            ingest_id=f"ingest-{self.offered.hexdigest()[:32]}",
            accepted=self.accepted,
            unchanged=self.unchanged,
            relabelled=self.relabelled,
            units=self.units,
            tokens=self.tokens,
            text_bytes=self.text_bytes,
        )

    def _holds(self, facts: RevisionFacts) -> bool:
        """Whether the revision is there already. Raises RevisionChanged when it is, with other content.

        One that was revoked here may also be offered as what it has become, which is what an export of it says.
        """
        held = self.held_revisions.get(facts.key)
        if held is not None:
            content_digest, revoked = held["content_digest"], held["revoked"] is not None
        else:
            row = self.connection.execute(_CONTENT_OF_REVISION, _names(facts.key)).one_or_none()
            if row is None:
                return False
            content_digest, revoked = row.content_digest, row.revoked is not None
        came_as = _came_as(facts) if revoked else (facts,)
        if all(content_digest != digest(one.content_record()) for one in came_as):
            raise RevisionChanged(facts.key)
        return True

    def _settle_label(self, facts: RevisionFacts) -> None:
        """Make the source, keep its label, or change it where that was asked for."""
        key = facts.key.source
        if self.relabel and self.labels.setdefault(key, facts.label) != facts.label:
            raise LabelChanged(facts.key)
        held = label_digest_of(self.connection, key)
        offered = facts.label.digest
        if held == offered:
            return
        if held is not None and not self.relabel:
            raise LabelChanged(facts.key)
        keep_label(self.connection, facts.label)
        named = {"namespace": key.namespace, "source_id": key.source_id}
        if held is None:
            self.connection.execute(insert(source).values(label_digest=offered, **named))
            return
        self.write_held()
        move_source(self.connection, key, before=held, after=offered, change=self.change)
        self.relabellings.append({"change": self.change, "before": held, "after": offered, **named})
        self.relabelled += 1


def _came_as(facts: RevisionFacts) -> tuple[RevisionFacts, ...]:
    """As what a revision may have come that was revoked here and is offered as `facts`."""
    if facts.status is not Status.REVOKED:
        return (facts,)
    before = (Status.DRAFT,) if facts.was_draft else (Status.CURRENT, Status.SUPERSEDED)
    return (facts, *(replace(facts, status=status, was_draft=False) for status in before))


def _refuse_cycles(connection: Connection, new: Iterable[RevisionKey]) -> None:
    """Raise SupersedesCycle when following `supersedes` from a new revision leads back to where it was.

    A circle that was not there before runs through a new revision, so that walking from those finds it. Each revision
    is followed once: cost is the number of relations within reach, whatever their shape.
    """
    done: set[RevisionKey] = set()
    for start in new:
        path: dict[RevisionKey, Iterator[RevisionKey]] = {} if start in done else {start: _targets(connection, start)}
        while path:
            key = next(reversed(path))
            target = next(path[key], None)
            if target is None:
                del path[key]
                done.add(key)
            elif target in path:
                on_path = list(path)
                raise SupersedesCycle(tuple(on_path[on_path.index(target) :]))
            elif target not in done:
                path[target] = _targets(connection, target)


def _targets(connection: Connection, key: RevisionKey) -> Iterator[RevisionKey]:
    relations = connection.execute(_RELATIONS_OF_REVISION, _names(key)).scalar_one_or_none()
    return iter(() if relations is None else supersedes_of(relations))


def _superseder_row(key: RevisionKey, target: RevisionKey) -> dict[str, str]:
    return {
        **key._asdict(),
        "of_namespace": target.namespace,
        "of_source": target.source_id,
        "of_revision": target.revision,
    }


def _names(key: RevisionKey) -> dict[str, str]:
    """The parameters that name a revision in the statements above."""
    return {"of_namespace": key.namespace, "of_source": key.source_id, "of_revision": key.revision}
