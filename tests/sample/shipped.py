"""What do the files of the shipped sample say?"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evidence.access import Principal
from evidence.identity import PUBLIC, Namespace, RevisionKey
from evidence.source_record import SourceRevision, parse_source
from evidence.strict_json import loads

SAMPLE = Path(__file__).resolve().parents[2] / "muniment" / "sample"
PRINCIPALS = ("blue-auditor", "blue-editor", "blue-supervisor", "blue-technician", "public-visitor", "red-technician")

_QUERY_KEYS = {"id", "query", "principal", "request", "expect", "trap", "note"}
_OPTIONAL_QUERY_KEYS = {"outranked_by", "demo"}
_EXPECTED_KEYS = {"must_include", "must_not_include", "state"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedQuery:
    """A question of queries.jsonl with what its packet must and must not hold."""

    id: str
    query: str
    principal: str
    request: Mapping[str, object]
    must_include: tuple[RevisionKey, ...]
    must_not_include: tuple[RevisionKey, ...]
    state: str | None
    trap: bool
    outranked_by: RevisionKey | None
    demo: bool
    note: str


def lines(name: str) -> list[bytes]:
    """The lines of a JSON-lines file of the sample, in order, without their ends."""
    return (SAMPLE / name).read_bytes().splitlines()


def revisions() -> list[SourceRevision]:
    """Every revision of sources.jsonl, in the file's order."""
    return [parse_source(loads(line), default_label=None) for line in lines("sources.jsonl")]


def queries() -> list[ListedQuery]:
    """Every query of queries.jsonl, in the file's order."""
    return [_query(json.loads(line)) for line in lines("queries.jsonl")]


def traps() -> list[ListedQuery]:
    """The queries whose right source is outranked by one that the caller may not use."""
    return [query for query in queries() if query.trap]


def principal(name: str) -> Principal:
    """The principal of `principals/<name>.json`."""
    record = json.loads((SAMPLE / "principals" / f"{name}.json").read_text(encoding="utf-8"))
    tenant = record.pop("tenant")
    held = {dimension: tuple(sorted(record.pop(dimension))) for dimension in ("roles", "purposes", "regions", "cases")}
    scope, sub = tuple(sorted(record.pop("scope"))), record.pop("sub")
    assert record == {}
    return Principal(
        sub=sub,
        tenant=None if tenant is None else Namespace(tenant),
        roles=held["roles"],
        purposes=held["purposes"],
        regions=held["regions"],
        cases=held["cases"],
        scope=scope,
    )


def _query(record: Mapping[str, object]) -> ListedQuery:
    assert _QUERY_KEYS <= record.keys() <= _QUERY_KEYS | _OPTIONAL_QUERY_KEYS
    expected, request = record["expect"], record["request"]
    assert isinstance(expected, dict)
    assert isinstance(request, dict)
    assert expected.keys() <= _EXPECTED_KEYS
    by = record.get("outranked_by")
    return ListedQuery(
        id=str(record["id"]),
        query=str(record["query"]),
        principal=str(record["principal"]),
        request=request,
        must_include=tuple(_key(entry) for entry in expected["must_include"]),
        must_not_include=tuple(_key(entry) for entry in expected["must_not_include"]),
        state=expected.get("state"),
        trap=record["trap"] is True,
        outranked_by=None if by is None else _key(by),
        demo=record.get("demo", False) is True,
        note=str(record["note"]),
    )


def _key(entry: object) -> RevisionKey:
    assert isinstance(entry, Sequence)
    namespace, source_id, revision = entry
    return RevisionKey(PUBLIC if namespace == "public" else Namespace(namespace), source_id, revision)
