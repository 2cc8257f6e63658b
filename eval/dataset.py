"""Which queries does a BEIR folder ask, and which sources are relevant to them?

`queries.jsonl` (rows of `_id`, `text`, `metadata`) and judgements in `qrels.tsv` or `qrels/SPLIT.tsv` (columns
`query-id`, `corpus-id`, `score`, under a heading). The corpus itself is not read. Faults raise SourceFileError.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evidence.errors import InvalidSource
from evidence.record_fields import as_list, as_name, as_object, as_passage
from server.source_place import Place, SourceFileError, is_present, open_regular, unreadable
from server.sources_lines import json_lines

QUERIES = "queries.jsonl"
QRELS = "qrels.tsv"
HEADING = ("query-id", "corpus-id", "score")
DEFAULT_SPLIT = "test"
MAX_GRADE = 1000  # trec_eval's time grows with the square of the highest grade

_MAX_LINE_BYTES = 4096
_GRADE = re.compile(r"-?[0-9]{1,4}", re.ASCII)
_SPLIT = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question. `excluded` are sources to leave out of its ranking (`metadata.exclude_ids`: the document that the
    question was taken from)."""

    query_id: str
    text: str
    excluded: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The judged queries, in the file's order, and `judgements`: query id -> source id -> grade, relevant from 1.
    `unjudged` counts the queries of the file that no judgement names: other splits, mostly."""

    queries: tuple[Query, ...]
    judgements: Mapping[str, Mapping[str, int]]
    unjudged: int


def read_dataset(folder: Path, *, split: str | None = None) -> Dataset:
    """The queries of a folder and their judgements: of `qrels/SPLIT.tsv` when a split is named, else of `qrels.tsv`,
    else of `qrels/test.tsv`. Raises SourceFileError, also for a judgement of a query that is not there."""
    queries = _read_queries(folder / QUERIES)
    path = _qrels_path(folder, split)
    judgements: dict[str, dict[str, int]] = {}
    for place, query_id, source_id, grade in _read_qrels(path):
        if query_id not in queries:
            raise SourceFileError(place, path=HEADING[0], problem=f"no such query in {QUERIES}")
        if judgements.setdefault(query_id, {}).setdefault(source_id, grade) != grade:
            raise SourceFileError(place, path=HEADING[2], problem="another score than an earlier line gives the pair")
    if not judgements:
        raise SourceFileError(Place(file=str(path), line=1), problem="holds no judgement")
    judged = tuple(query for query in queries.values() if query.query_id in judgements)
    return Dataset(queries=judged, judgements=judgements, unjudged=len(queries) - len(judged))


def _qrels_path(folder: Path, split: str | None) -> Path:
    if split is not None and not _SPLIT.fullmatch(split):
        raise SourceFileError(Place(file=str(folder), line=None), problem="no such split is possible")
    if split is None and is_present(folder / QRELS):
        return folder / QRELS
    return folder / "qrels" / f"{split or DEFAULT_SPLIT}.tsv"


def _read_queries(path: Path) -> dict[str, Query]:
    queries: dict[str, Query] = {}
    with open_regular(path) as stream:
        for place, row in json_lines(stream, file=str(path)):
            try:
                query = _query(row)
            except InvalidSource as error:
                raise SourceFileError(place, path=error.path, problem=error.problem) from None
            if query.query_id in queries:
                raise SourceFileError(place, path="$._id", problem="another query has this _id")
            queries[query.query_id] = query
    return queries


def _query(row: object) -> Query:
    fields = as_object(row, "$", allowed=("_id", "text", "metadata"), required=("_id", "text"))
    metadata = fields.get("metadata")
    exclude = metadata.get("exclude_ids", []) if isinstance(metadata, dict) else []
    return Query(
        query_id=as_name(fields["_id"], "$._id"),
        text=as_passage(fields["text"], "$.text"),
        excluded=frozenset(as_name(entry, path) for entry, path in as_list(exclude, "$.metadata.exclude_ids")),
    )


def _read_qrels(path: Path) -> Iterator[tuple[Place, str, str, int]]:
    """Place, query id, source id and grade of each judgement."""
    for place, columns in _rows(path):
        if len(columns) != len(HEADING):
            raise SourceFileError(place, path="row", problem=f"{len(columns)} columns, not {len(HEADING)}")
        if place.line == 1:
            if columns != HEADING:
                raise SourceFileError(place, path="row", problem=f"the heading is not {' '.join(HEADING)}")
            continue
        query_id, source_id, score = columns
        for name, value in zip(HEADING, (query_id, source_id), strict=False):
            if not value:
                raise SourceFileError(place, path=name, problem="must not be empty")
        if not _GRADE.fullmatch(score) or abs(int(score)) > MAX_GRADE:
            raise SourceFileError(place, path=HEADING[2], problem=f"no integer from -{MAX_GRADE} to {MAX_GRADE}")
        yield place, query_id, source_id, int(score)


def _rows(path: Path) -> Iterator[tuple[Place, tuple[str, ...]]]:
    """The columns of each line that is not blank. Memory is bounded by the longest line allowed."""
    with open_regular(path) as stream:
        line = 0
        while True:
            line += 1
            place = Place(file=str(path), line=line)
            try:
                data = stream.readline(_MAX_LINE_BYTES + 1)
            except OSError as error:
                raise unreadable(place, error) from None
            if not data:
                return
            if len(data) > _MAX_LINE_BYTES:
                raise SourceFileError(place, path="row", problem=f"a line of more than {_MAX_LINE_BYTES} bytes")
            try:
                text = data.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise SourceFileError(place, path="row", problem="not UTF-8") from None
            if text.strip():
                yield place, tuple(text.split("\t"))
