"""How do facts and units become rows, and how are rows that changed behind our back found out?

Every row that an answer rests on carries a digest over all of it. Reading recomputes it, so that a flipped bit in
the database is an error, never another answer.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sqlalchemy import Row

from evidence.access import Label
from evidence.canonical import canonical, digest, digest_text
from evidence.citations import citation_handle
from evidence.errors import EvidenceError
from evidence.identity import Namespace, RevisionKey, UnitKey
from evidence.instant import Instant
from evidence.revision import Claim, ConflictSide, Contradiction, RevisionFacts, Status
from evidence.unit import Unit
from index.errors import DamagedCatalog, describe

Value: TypeAlias = "str | int | bytes | None"
AnyRow: TypeAlias = Row[*tuple[Any, ...]]  # columns are checked by the digests, not by their types

_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, EvidenceError)


def input_digest(unit: Unit) -> bytes:
    """SHA-256 of what both channels read of the unit: the key of its code within a namespace."""
    return hashlib.sha256(unit.input_text.encode("utf-8")).digest()


def label_row(label: Label) -> dict[str, Value]:
    """The columns of `label`."""
    return {"digest": label.digest, "record": canonical(label.record()).decode("utf-8")}


def label_of(row: AnyRow) -> Label:
    """The label of a row of (digest, record). Raises DamagedCatalog when it is not what was written."""
    try:
        record = json.loads(row.record)
        label = Label(
            namespace=Namespace(record["namespace"]),
            roles=tuple(record["roles"]),
            purposes=tuple(record["purposes"]),
            regions=tuple(record["regions"]),
            cases=tuple(record["cases"]),
        )
        intact = label.digest == row.digest
    except _UNREADABLE as error:
        raise DamagedCatalog("a label cannot be read") from error
    if not intact:
        raise DamagedCatalog("a label does not match its digest")
    return label


def facts_row(facts: RevisionFacts, *, units: int, revoked: int | None) -> dict[str, Value]:
    """The columns of a revision that has so many units, `revoked` by that change, None for never. The label is the
    source's and has its own table."""
    content_digest = digest(facts.content_record())
    relations = {
        "supersedes": [list(key) for key in facts.supersedes],
        "contradicts": [relation.record() for relation in facts.contradicts],
        "claims": [claim.record() for claim in facts.claims],
        "applies_to": facts.applies_to,
        "citable_for": facts.citable_for,
    }
    return {
        "namespace": facts.key.namespace,
        "source_id": facts.key.source_id,
        "revision": facts.key.revision,
        "title": facts.title,
        "family": facts.family,
        "owner": facts.owner,
        "authority": facts.authority,
        "status": facts.status.value,
        "was_draft": facts.was_draft,
        "effective_from": facts.effective_from,
        "effective_to": facts.effective_to,
        "relations": json.dumps(relations, ensure_ascii=False, separators=(",", ":")),
        "metadata": facts.metadata,
        "text_digest": facts.text_digest,
        "content_digest": content_digest,
        "units": units,
        "seal": revision_seal(facts, content_digest, units, revoked=revoked),
        "revoked": revoked,
    }


def revision_seal(facts: RevisionFacts, content_digest: str, units: int, *, revoked: int | None) -> bytes:
    """SHA-256 over all that is known of a revision, its label among it. `facts` as they came, `revoked` by which
    change they were revoked, None for never."""
    known = f"{facts.digest} {content_digest} {units!r}"
    if revoked is not None:
        known += f" revoked {revoked!r}"
    return hashlib.sha256(known.encode("utf-8", "surrogatepass")).digest()


def facts_of(row: AnyRow, label: Label) -> RevisionFacts:
    """The facts of a row of `revision` as they hold now, under its source's label. Raises DamagedCatalog when they
    changed: what was revoked here is revoked, whatever status it came with, and a draft among it stays unpublished."""
    facts = stored_facts_of(row, label)
    if row.revoked is None:
        return facts
    return replace(facts, status=Status.REVOKED, was_draft=not facts.is_published)


def stored_facts_of(row: AnyRow, label: Label) -> RevisionFacts:
    """The facts of a row of `revision` as they came, under its source's label. Raises DamagedCatalog as `facts_of`."""
    key = RevisionKey(row.namespace, row.source_id, row.revision)
    try:
        relations = json.loads(row.relations)
        facts = RevisionFacts(
            key=key,
            label=label,
            title=row.title,
            family=row.family,
            owner=row.owner,
            authority=row.authority,
            status=Status(row.status),
            was_draft=row.was_draft,
            effective_from=None if row.effective_from is None else Instant(row.effective_from),
            effective_to=None if row.effective_to is None else Instant(row.effective_to),
            supersedes=tuple(RevisionKey(*parts) for parts in relations["supersedes"]),
            contradicts=tuple(_contradiction(record) for record in relations["contradicts"]),
            claims=tuple(Claim(**record) for record in relations["claims"]),
            applies_to=tuple(relations["applies_to"]),
            citable_for=tuple(relations["citable_for"]),
            metadata=row.metadata,
            text_digest=row.text_digest,
        )
    except (*_UNREADABLE, OverflowError) as error:
        raise DamagedCatalog(f"the facts of {describe(key)} cannot be read") from error
    if revision_seal(facts, row.content_digest, row.units, revoked=row.revoked) != row.seal:
        raise DamagedCatalog(f"the facts of {describe(key)} do not match their digest")
    return facts


def supersedes_of(relations: str) -> tuple[RevisionKey, ...]:
    """The revisions that a row's `relations` say it supersedes. Raises DamagedCatalog."""
    try:
        return tuple(RevisionKey(*parts) for parts in json.loads(relations)["supersedes"])
    except _UNREADABLE as error:
        raise DamagedCatalog("the relations of a revision cannot be read") from error


def unit_row(unit: Unit) -> dict[str, Value]:
    """The columns of a unit."""
    row: dict[str, Value] = {
        "namespace": unit.key.namespace,
        "source_id": unit.key.source_id,
        "revision": unit.key.revision,
        "ordinal": unit.key.ordinal,
        "tokens": unit.tokens,
        "input_digest": input_digest(unit),
        "start": unit.start,
        "end": unit.end,
        "prefix_tokens": unit.prefix_tokens,
        "prefix_tokens_cut": unit.prefix_tokens_cut,
        "heading": json.dumps(unit.heading, ensure_ascii=False),
        "digest": unit.digest,
        "prefix": unit.prefix,
        "text": unit.text,
    }
    return {**row, "seal": _seal(row), "handle": citation_handle(unit)}


def unit_of(row: AnyRow) -> Unit:
    """The unit of a row of `unit`. Raises DamagedCatalog when any column changed since it was written."""
    columns: Mapping[str, Value] = dict(row._mapping)
    key = UnitKey(row.namespace, row.source_id, row.revision, row.ordinal)
    try:
        intact = _seal(columns) == row.seal
    except _UNREADABLE as error:
        raise DamagedCatalog("a unit cannot be read") from error
    if not intact:
        raise DamagedCatalog(f"unit {key.ordinal} of {describe(key.revision_key)} does not match its digest")
    return Unit(
        key=key,
        start=row.start,
        end=row.end,
        heading=tuple(json.loads(row.heading)),
        text=row.text,
        digest=row.digest,
        prefix=row.prefix,
        prefix_tokens=row.prefix_tokens,
        prefix_tokens_cut=row.prefix_tokens_cut,
        tokens=row.tokens,
    )


def breaks(facts: RevisionFacts, text: str, units: Sequence[Unit]) -> str | None:
    """What keeps facts, text and units from belonging together; None when nothing does.

    The units must tile `text`: ordinals from 0, spans that meet, each text the cut of its span.
    """
    if digest_text(text) != facts.text_digest:
        return "its text does not match its digest"
    if facts.label.namespace != facts.key.namespace:
        return "its label is of another namespace"
    end = 0
    for ordinal, unit in enumerate(units):
        if unit.key != UnitKey(*facts.key, ordinal):
            return f"unit {ordinal} has another key"
        if unit.start != end or unit.end < unit.start or unit.text != text[unit.start : unit.end]:
            return f"unit {ordinal} is not the text of its span"
        if unit.digest != digest_text(unit.text):
            return f"unit {ordinal} does not match its digest"
        end = unit.end
    return None if end == len(text) else "its units leave out the end of the text"


def _contradiction(record: dict[str, Any]) -> Contradiction:
    here, there = (None if record[side] is None else ConflictSide(**record[side]) for side in ("here", "there"))
    return Contradiction(namespace=record["namespace"], source_id=record["source_id"], here=here, there=there)


_SEALED = (
    "namespace",
    "source_id",
    "revision",
    "ordinal",
    "tokens",
    "input_digest",
    "start",
    "end",
    "prefix_tokens",
    "prefix_tokens_cut",
    "heading",
    "digest",
    "prefix",
    "text",
)


def _seal(row: Mapping[str, Value]) -> bytes:
    """SHA-256 over all columns but the number, each with its type and its length in front."""
    seal = hashlib.sha256()
    for name in _SEALED:
        value = row[name]
        data = value if isinstance(value, bytes) else str(value).encode("utf-8")
        seal.update(f"{type(value).__name__}:{len(data)}:".encode("ascii"))
        seal.update(data)
    return seal.digest()
