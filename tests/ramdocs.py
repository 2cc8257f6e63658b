"""Which source records do the RAMDocs questions stand for, and which of their documents conflict?

A document that answers its question, rightly or wrongly, claims that answer: the question is the claim's key, the
sentence that holds the answer is its quote. Noise claims nothing. What cannot be had is left out and counted: a claim
whose answer is not verbatim in its text, and a text that holds NUL, which no catalog takes.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

Pair = frozenset[str]  # the source ids of two documents that conflict

_CLAIMING = ("correct", "misinfo")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")  # of scraped text: an abbreviation ends a sentence too, and no harm done


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and the documents written for it, in the file's order."""

    query_id: str
    text: str
    source_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RamDocs:
    """The document set as records of the public schema.

    unquoted: the documents that make no claim because their answer is not verbatim in their text.
    refused: the documents left out because their text holds NUL. Both in the file's order.
    conflicts: question -> the pairs of its documents whose claims differ, read from `conflict_groups.jsonl`, not from
    the claims.
    """

    records: tuple[Mapping[str, Any], ...]
    questions: tuple[Question, ...]
    unquoted: tuple[str, ...]
    refused: tuple[str, ...]
    conflicts: Mapping[str, frozenset[Pair]]


def read_ramdocs(folder: Path) -> RamDocs:
    """The set that lies in `folder`."""
    rows = list(_rows(folder / "corpus.jsonl"))
    refused = tuple(row["_id"] for row in rows if "\x00" in row["text"])
    unquoted = tuple(row["_id"] for row in rows if _claims_something(row) and not _is_verbatim(row))
    records = tuple(_record(row) for row in rows if row["_id"] not in refused)
    claiming = {record["source_id"] for record in records if record["claims"]}
    return RamDocs(
        records=records,
        questions=tuple(
            Question(
                query_id=row["_id"],
                text=row["text"],
                source_ids=tuple(
                    record["source_id"] for record in records if record["metadata"]["question"] == row["_id"]
                ),
            )
            for row in _rows(folder / "queries.jsonl")
        ),
        unquoted=unquoted,
        refused=refused,
        conflicts={row["query_id"]: _pairs(row["groups"], claiming) for row in _rows(folder / "conflict_groups.jsonl")},
    )


def sentence_with(text: str, answer: str) -> str:
    """The sentence that holds the first occurrence of `answer`, without the space around it.

    >>> sentence_with("It is old. Built in 1902, it stands. Go!", "1902")
    'Built in 1902, it stands.'
    """
    first = text.index(answer)
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, first)), default=0)
    following = _SENTENCE_END.search(text, first + len(answer))
    return text[start : following.end() if following else len(text)].strip()


def _record(row: Mapping[str, Any]) -> Mapping[str, Any]:
    facts = row["metadata"]
    claims = (
        [
            {
                "key": facts["question_id"],
                "value": facts["answer"],
                "quote": sentence_with(row["text"], facts["answer"]),
            }
        ]
        if _claims_something(row) and _is_verbatim(row)
        else []
    )
    return {
        "source_id": row["_id"],
        "revision": "1",
        "text": row["text"],
        "claims": claims,
        "access": {"public": True},
        "metadata": {"question": facts["question_id"], "type": facts["type"]},
    }


def _claims_something(row: Mapping[str, Any]) -> bool:
    return row["metadata"]["type"] in _CLAIMING


def _is_verbatim(row: Mapping[str, Any]) -> bool:
    return row["metadata"]["answer"] in row["text"]


def _pairs(groups: list[Mapping[str, Any]], claiming: set[str]) -> frozenset[Pair]:
    """The documents of every two groups with different answers, of those documents that claim one."""
    answering = [group for group in groups if group["type"] in _CLAIMING]
    return frozenset(
        frozenset(pair)
        for one, other in combinations(answering, 2)
        if one["answer"] != other["answer"]
        for pair in product(one["doc_ids"], other["doc_ids"])
        if claiming.issuperset(pair)
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield json.loads(line)
