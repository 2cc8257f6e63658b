"""Which source records do the real document sets stand for?

Each converter yields records of the public schema, ready to be written as JSON lines.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]

# A PEP's word on itself -> ours. A Draft, a Deferred or a Rejected PEP is published and may be cited as what it is:
# our `draft` hides a text from everybody but its authors, our `revoked` takes it out of use. Only what another PEP
# has replaced is no longer current.
PEP_STATUS = {
    "Accepted": "current",
    "Active": "current",
    "April Fool!": "current",
    "Deferred": "current",
    "Draft": "current",
    "Final": "current",
    "Rejected": "current",
    "Superseded": "superseded",
    "Withdrawn": "current",
}

# In the histories the interval alone decides: each revision was current in its own time, whatever it said of itself,
# and that word is the file's at that commit, kept as metadata.
PEP_HISTORY_STATUS = "current"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOfQuery:
    """A sentence, the moment for which it is asked (RFC 3339), and the one revision then in force."""

    query_id: str
    text: str
    as_of: str
    source_id: str
    revision: str


def pep_records(folder: Path) -> Iterator[Record]:
    """The 736 PEPs, public, one revision each, with the supersessions of `supersession.tsv`.

    A pair counts whichever side states it: 20 stand in one header only. No interval is stated: the text is the
    latest one, and was not in force since the PEP was created.
    """
    replaced = defaultdict(list)
    with (folder / "supersession.tsv").open(encoding="utf-8", newline="") as lines:
        for pair in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            replaced[pair["new-id"]].append({"source_id": pair["old-id"], "revision": "1", "public": True})
    for row in _rows(folder / "corpus.jsonl"):
        yield {
            "source_id": row["_id"],
            "revision": "1",
            "title": row["title"],
            "text": row["text"],
            "family": row["metadata"]["type"],
            "status": PEP_STATUS[row["metadata"]["status"]],
            "supersedes": replaced[row["_id"]],
            "access": {"public": True},
            "metadata": {"pep_status": row["metadata"]["status"], "topic": row["metadata"]["topic"]},
        }


def pep_history_records(folder: Path) -> Iterator[Record]:
    """The 655 dated revisions of 139 PEPs, public, revisions "r1", "r2", ... of the source `pep-NNNN`.

    No PEP supersedes another here: those relations have no date in the data, and today's would make stale what was
    in force at the moment asked for.
    """
    for row in _rows(folder / "corpus.jsonl"):
        facts = row["metadata"]
        yield {
            "source_id": facts["doc_id"],
            "revision": f"r{facts['revision']}",
            "title": row["title"],
            "text": row["text"],
            "status": PEP_HISTORY_STATUS,
            "effective_from": facts["effective_from"],
            "effective_to": facts["effective_to"],
            "access": {"public": True},
            "metadata": {"pep_status": facts["status"], "commit": facts["commit"]},
        }


def pep_history_queries(folder: Path) -> list[AsOfQuery]:
    """The 402 as-of queries, in the file's order. In force is the revision of the PEP that began at that moment."""
    began = {
        (record["source_id"], record["effective_from"]): record["revision"] for record in pep_history_records(folder)
    }
    return [
        AsOfQuery(
            query_id=row["_id"],
            text=row["text"],
            as_of=row["metadata"]["as_of"],
            source_id=row["metadata"]["doc_id"],
            revision=began[row["metadata"]["doc_id"], row["metadata"]["as_of"]],
        )
        for row in _rows(folder / "queries.jsonl")
    ]


def write_jsonl(records: Iterable[Record], path: Path) -> None:
    """Write records as JSON lines."""
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for record in records:
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield json.loads(line)
