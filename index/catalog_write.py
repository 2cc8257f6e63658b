"""How does a revision enter the catalog, and when is it refused?

Each function works inside the caller's write transaction. What is refused raises, the transaction is rolled back,
and the catalog is what it was: a call is taken whole or not at all.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, bindparam, insert, select, update

from evidence.access import Label
from evidence.canonical import canonical, digest
from evidence.identity import RevisionKey, SourceKey
from evidence.revision import RevisionFacts
from evidence.unit import Unit
from index.catalog_rows import (
    Value,
    breaks,
    facts_of,
    facts_row,
    label_of,
    label_row,
    revision_seal,
    supersedes_of,
    unit_row,
)
from index.catalog_tables import catalog_state, ingest, label, revision, source, unit
from index.errors import InvalidRevision, LabelChanged, RevisionChanged, SupersedesCycle

UNITS_HELD = 1000  # rows collected before they are written: one statement for many

_ONE_SOURCE = (source.c.namespace == bindparam("of_namespace"), source.c.source_id == bindparam("of_source"))
_ONE_REVISION = (
    revision.c.namespace == bindparam("of_namespace"),
    revision.c.source_id == bindparam("of_source"),
    revision.c.revision == bindparam("of_revision"),
)
_LABEL_OF_SOURCE = select(source.c.label_digest).where(*_ONE_SOURCE)
_CONTENT_OF_REVISION = select(revision.c.content_digest).where(*_ONE_REVISION)
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


def add(connection: Connection, revisions: Iterable[NewRevision], *, relabel: bool) -> IngestReport:
    """Take `revisions` in. With `relabel`, a source follows the label that its revisions bring.

    Raises InvalidRevision, RevisionChanged, LabelChanged (also when one call brings two labels for a source)
    or SupersedesCycle.
    """
    change = connection.execute(select(catalog_state.c.change)).scalar_one() + 1
    call = _Call(connection=connection, change=change, relabel=relabel)
    for offered in revisions:
        call.take(offered)
    call.write_held()
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
        connection.execute(
            update(catalog_state).values(change=change, revisions=catalog_state.c.revisions + report.accepted)
        )
    return report


@dataclass(slots=True, kw_only=True)
class _Call:
    """One call under way: what it counted, and the rows that are not written yet."""

    connection: Connection
    change: int
    relabel: bool
    offered: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    labels: dict[SourceKey, Label] = field(default_factory=dict)  # what this call brought; only kept for a relabel
    superseding: list[RevisionKey] = field(default_factory=list)
    held_revisions: dict[RevisionKey, dict[str, Value]] = field(default_factory=dict)
    held_units: list[dict[str, Value]] = field(default_factory=list)
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
        content_digest = self._content_digest(facts.key)
        if content_digest is not None:
            if content_digest != digest(facts.content_record()):
                raise RevisionChanged(facts.key)
            self.unchanged += 1
            return
        self.held_revisions[facts.key] = {
            **facts_row(facts, units=len(offered.units)),
            "added": self.change,
            "change": self.change,
        }
        self.held_units.extend(unit_row(new) for new in offered.units)
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
        self.held_revisions.clear()
        self.held_units.clear()

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

    def _content_digest(self, key: RevisionKey) -> str | None:
        held = self.held_revisions.get(key)
        if held is not None:
            return str(held["content_digest"])
        return self.connection.execute(_CONTENT_OF_REVISION, _names(key)).scalar_one_or_none()

    def _settle_label(self, facts: RevisionFacts) -> None:
        """Make the source, keep its label, or change it where that was asked for."""
        key = facts.key.source
        if self.relabel and self.labels.setdefault(key, facts.label) != facts.label:
            raise LabelChanged(facts.key)
        held = self.connection.execute(_LABEL_OF_SOURCE, _names_source(key)).scalar_one_or_none()
        offered = facts.label.digest
        if held == offered:
            return
        if held is not None and not self.relabel:
            raise LabelChanged(facts.key)
        if self.connection.execute(select(label.c.digest).where(label.c.digest == offered)).first() is None:
            self.connection.execute(insert(label), [label_row(facts.label)])
        if held is None:
            self.connection.execute(
                insert(source).values(namespace=key.namespace, source_id=key.source_id, label_digest=offered)
            )
            return
        self.write_held()
        self.connection.execute(update(source).where(*_ONE_SOURCE).values(label_digest=offered), _names_source(key))
        self._relabel_revisions(key, held, facts.label)
        self.relabelled += 1

    def _relabel_revisions(self, key: SourceKey, held: str, new: Label) -> None:
        """The facts of all revisions of a source follow its label."""
        old = label_of(self.connection.execute(select(label).where(label.c.digest == held)).one())
        rows = self.connection.execute(
            select(revision).where(revision.c.namespace == key.namespace, revision.c.source_id == key.source_id)
        )
        moved = [(row, replace(facts_of(row, old), label=new)) for row in rows]
        self.connection.execute(
            update(revision).where(*_ONE_REVISION).values(seal=bindparam("new_seal"), change=self.change),
            [
                {**_names(facts.key), "new_seal": revision_seal(facts, row.content_digest, row.units)}
                for row, facts in moved
            ],
        )


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


def _names(key: RevisionKey) -> dict[str, str]:
    """The parameters that name a revision in the statements above."""
    return {**_names_source(key.source), "of_revision": key.revision}


def _names_source(key: SourceKey) -> dict[str, str]:
    return {"of_namespace": key.namespace, "of_source": key.source_id}
