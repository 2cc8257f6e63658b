"""Which revision of which source does a record offer, and which record stands for a revision? (pure)

The schema of the public contract, one record a revision. Reading is closed: what the schema does not name is refused
with its JSON path. Writing is the inverse: what `to_record` wrote, `parse_source` reads as the same revision.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from evidence.access import Label
from evidence.canonical import Json, digest_bytes
from evidence.errors import InvalidSource
from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey
from evidence.instant import Instant, format_instant
from evidence.label_record import parse_label
from evidence.metadata import parse_metadata
from evidence.record_fields import (
    as_boolean,
    as_instant,
    as_list,
    as_name,
    as_name_set,
    as_object,
    as_optional_name,
    as_passage,
    as_text,
)
from evidence.revision import Claim, ConflictSide, Contradiction, RevisionFacts, Status
from evidence.strict_json import key_path

MAX_TITLE = 4096  # code points
UNLABELLED = "`access` is required: a record with no label is refused"
MAX_TEXT_BYTES = 16 * 1024 * 1024  # of UTF-8

RECORD_KEYS = (
    "source_id",
    "revision",
    "title",
    "text",
    "family",
    "owner",
    "authority",
    "status",
    "was_draft",
    "effective_from",
    "effective_to",
    "supersedes",
    "contradicts",
    "claims",
    "applies_to",
    "citable_for",
    "access",
    "metadata",
)

_Statement = TypeVar("_Statement", Claim, Contradiction)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRevision:
    """A revision as it comes in. `quotes` are the passages that no unit boundary may split: those of claims and of
    `contradicts[].here`, each a part of `text`, each once, in the record's order."""

    facts: RevisionFacts
    text: str
    quotes: tuple[str, ...]


def parse_source(record: object, *, default_label: Label | None) -> SourceRevision:
    """The revision that a parsed JSON value offers.

    `default_label` holds for a record without `access`; without both it is refused (R3). Label dimensions,
    `applies_to`, `citable_for` and `supersedes` are sets: sorted, repeats dropped. Claims and contradictions keep
    their order, and a repeated one is refused. A reference lies in the record's own namespace unless it says
    `"public": true`. Raises InvalidSource with the JSON path.
    """
    fields = as_object(record, "$", allowed=RECORD_KEYS, required=("source_id", "revision", "text"))
    label = _label(fields, default_label)
    key = RevisionKey(
        label.namespace, as_name(fields["source_id"], "$.source_id"), as_name(fields["revision"], "$.revision")
    )
    text, text_digest = _text(fields["text"])
    start, end = _interval(fields)
    status = _status(fields.get("status", Status.CURRENT.value))
    quoted = _Quoted(text=text, found=set())
    claims = tuple(_claim(entry, path, quoted) for entry, path in as_list(fields.get("claims", []), "$.claims"))
    claim_keys = frozenset(claim.key for claim in claims)
    contradicts = tuple(
        _contradiction(entry, path, key.source, claim_keys, quoted)
        for entry, path in as_list(fields.get("contradicts", []), "$.contradicts")
    )
    facts = RevisionFacts(
        key=key,
        label=label,
        title=_title(fields.get("title", "")),
        family=as_optional_name(fields.get("family", ""), "$.family"),
        owner=as_optional_name(fields.get("owner", ""), "$.owner"),
        authority=as_optional_name(fields.get("authority", ""), "$.authority"),
        status=status,
        was_draft=_was_draft(fields, status),
        effective_from=start,
        effective_to=end,
        supersedes=_superseded(fields.get("supersedes", []), key),
        contradicts=_each_once(contradicts, "$.contradicts"),
        claims=_each_once(claims, "$.claims"),
        applies_to=as_name_set(fields.get("applies_to", []), "$.applies_to"),
        citable_for=as_name_set(fields.get("citable_for", []), "$.citable_for"),
        metadata=parse_metadata(fields.get("metadata", {})),
        text_digest=text_digest,
    )
    here = [relation.here.quote for relation in contradicts if relation.here is not None]
    quotes = dict.fromkeys([*(claim.quote for claim in claims), *(quote for quote in here if quote is not None)])
    return SourceRevision(facts=facts, text=text, quotes=tuple(quotes))


def to_record(facts: RevisionFacts, text: str) -> dict[str, Json]:
    """The record that `parse_source` reads as this revision again. What is absent or empty is left out."""
    label = facts.label
    access: dict[str, Json] = {"public": True} if label.namespace == PUBLIC else {"tenant": label.namespace}
    access |= {name: list(values) for name, values in label.record().items() if isinstance(values, tuple) and values}
    times = {"effective_from": facts.effective_from, "effective_to": facts.effective_to}
    optional: dict[str, Json] = {
        "family": facts.family,
        "owner": facts.owner,
        "authority": facts.authority,
        "status": facts.status.value,
        "was_draft": facts.was_draft,
        **{name: format_instant(at) for name, at in times.items() if at is not None},
        "supersedes": [
            {"source_id": target.source_id, "revision": target.revision, "public": target.namespace == PUBLIC}
            for target in facts.supersedes
        ],
        "contradicts": [_contradiction_record(relation) for relation in facts.contradicts],
        "claims": [claim.record() for claim in facts.claims],
        "applies_to": list(facts.applies_to),
        "citable_for": list(facts.citable_for),
        "metadata": json.loads(facts.metadata),
    }
    return {
        "source_id": facts.key.source_id,
        "revision": facts.key.revision,
        **({"title": facts.title} if facts.title else {}),
        "text": text,
        **{name: value for name, value in optional.items() if value},
        "access": access,
    }


def _label(fields: Mapping[str, object], default_label: Label | None) -> Label:
    if "access" in fields:
        return parse_label(fields["access"], path="$.access")
    if default_label is None:
        raise InvalidSource("$.access", UNLABELLED)
    return default_label


def _title(value: object) -> str:
    title = as_text(value, "$.title")
    if len(title) > MAX_TITLE:
        raise InvalidSource("$.title", f"{len(title)} characters, at most {MAX_TITLE}")
    return title


def _text(value: object) -> tuple[str, str]:
    """The text and the digest of its UTF-8 bytes."""
    text = as_passage(value, "$.text")
    data = text.encode("utf-8")
    if len(data) > MAX_TEXT_BYTES:
        raise InvalidSource("$.text", f"{len(data)} bytes of UTF-8, at most {MAX_TEXT_BYTES}")
    return text, digest_bytes(data)


def _status(value: object) -> Status:
    status = as_text(value, "$.status")
    if status not in tuple(Status):
        raise InvalidSource("$.status", f"unknown; allowed: {', '.join(Status)}")
    return Status(status)


def _was_draft(fields: Mapping[str, object], status: Status) -> bool:
    was_draft = as_boolean(fields.get("was_draft", False), "$.was_draft")
    if was_draft and status is not Status.REVOKED:
        raise InvalidSource("$.was_draft", "only a revoked revision was a draft; a draft has the status draft")
    return was_draft


def _interval(fields: Mapping[str, object]) -> tuple[Instant | None, Instant | None]:
    start = as_instant(fields.get("effective_from"), "$.effective_from")
    end = as_instant(fields.get("effective_to"), "$.effective_to")
    if start is not None and end is not None and end <= start:
        raise InvalidSource("$.effective_to", "the interval ends before it starts, or at once")
    return start, end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quoted:
    """The text that a record's quotes come from, and the quotes that were found in it: each is looked for once."""

    text: str
    found: set[str]

    def quote(self, value: object, path: str) -> str:
        """`value` as a passage of the text."""
        quote = as_passage(value, path)
        if quote not in self.found:
            if quote not in self.text:
                raise InvalidSource(path, "the quote is not in the text")
            self.found.add(quote)
        return quote


def _claim(value: object, path: str, quoted: _Quoted) -> Claim:
    keys = ("key", "value", "quote")
    fields = as_object(value, path, allowed=keys, required=keys)
    return Claim(
        key=as_name(fields["key"], key_path(path, "key")),
        value=as_passage(fields["value"], key_path(path, "value")),
        quote=quoted.quote(fields["quote"], key_path(path, "quote")),
    )


def _superseded(value: object, key: RevisionKey) -> tuple[RevisionKey, ...]:
    targets: set[RevisionKey] = set()
    for entry, path in as_list(value, "$.supersedes"):
        fields = as_object(entry, path, allowed=("source_id", "revision", "public"), required=("source_id", "revision"))
        source_id = as_name(fields["source_id"], key_path(path, "source_id"))
        revision = as_name(fields["revision"], key_path(path, "revision"))
        target = RevisionKey(_referred(fields, path, key.namespace), source_id, revision)
        if target == key:
            raise InvalidSource(path, "a revision does not supersede itself")
        targets.add(target)
    return tuple(sorted(targets))


def _contradiction(
    value: object, path: str, source: SourceKey, claim_keys: frozenset[str], quoted: _Quoted
) -> Contradiction:
    fields = as_object(value, path, allowed=("source_id", "public", "here", "there"), required=("source_id",))
    relation = Contradiction(
        namespace=_referred(fields, path, source.namespace),
        source_id=as_name(fields["source_id"], key_path(path, "source_id")),
        here=_side(fields.get("here"), key_path(path, "here")),
        there=_side(fields.get("there"), key_path(path, "there")),
    )
    here = relation.here
    if here is not None and here.claim is not None and here.claim not in claim_keys:
        raise InvalidSource(f"{path}.here.claim", "the record declares no claim of this key")
    if here is not None and here.quote is not None:
        quoted.quote(here.quote, f"{path}.here.quote")
    if (relation.namespace, relation.source_id) == source and (here is None or relation.there is None):
        raise InvalidSource(path, "a source that contradicts itself must say where, in `here` and in `there`")
    return relation


def _side(value: object, path: str) -> ConflictSide | None:
    if value is None:
        return None
    fields = as_object(value, path, allowed=("claim", "quote"), required=())
    if len(fields) != 1:
        raise InvalidSource(path, "exactly one of claim and quote is needed")
    if "claim" in fields:
        return ConflictSide(claim=as_name(fields["claim"], key_path(path, "claim")))
    return ConflictSide(quote=as_passage(fields["quote"], key_path(path, "quote")))


def _referred(fields: Mapping[str, object], path: str, own: Namespace) -> Namespace:
    return PUBLIC if as_boolean(fields.get("public", False), key_path(path, "public")) else own


def _each_once(statements: tuple[_Statement, ...], path: str) -> tuple[_Statement, ...]:
    seen: set[_Statement] = set()
    for index, statement in enumerate(statements):
        if statement in seen:
            raise InvalidSource(f"{path}[{index}]", "repeats an earlier entry")
        seen.add(statement)
    return statements


def _contradiction_record(relation: Contradiction) -> dict[str, Json]:
    sides = {"here": relation.here, "there": relation.there}
    return {
        "source_id": relation.source_id,
        "public": relation.namespace == PUBLIC,
        **{name: side.record() for name, side in sides.items() if side is not None},
    }
