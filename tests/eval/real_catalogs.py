"""How does a test get a catalog of a real data set, made by the same commands that an operator runs?"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from muniment.ingest import ingest
from muniment.initialize import initialize
from muniment.reindex import reindex
from tests.converters import write_jsonl

PUBLIC: Mapping[str, object] = {
    "public": True,
    "tenant": None,
    "roles": [],
    "purposes": [],
    "regions": [],
    "cases": [],
}


def catalog_of(source: Path, directory: Path) -> Path:
    """`init`, `ingest --public` and `reindex` of a BEIR folder or a file of JSON lines."""
    initialize(directory, device="cpu")
    ingest(directory, [source], label=PUBLIC)
    reindex(directory, device="cpu")
    return directory


def catalog_of_records(records: Iterable[Mapping[str, Any]], directory: Path) -> Path:
    """The same of records of the public schema."""
    file = directory.with_suffix(".jsonl")
    write_jsonl(records, file)
    return catalog_of(file, directory)


def sample_of_beir(folder: Path, sample: Path, *, queries: int, distractors: int) -> Path:
    """A BEIR folder of the first judged queries, their relevant documents, and as many others as asked for."""
    judged = [line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines()[1:]]
    chosen = list(dict.fromkeys(query for query, _, _ in judged))[:queries]
    kept = [row for row in judged if row[0] in chosen]
    relevant = {document for _, document, _ in kept}
    sample.mkdir()
    with (folder / "corpus.jsonl").open() as corpus, (sample / "corpus.jsonl").open("w") as out:
        for line in corpus:
            if json.loads(line)["_id"] in relevant:
                out.write(line)
            elif distractors:
                distractors -= 1
                out.write(line)
    lines = [line for line in (folder / "queries.jsonl").read_text().splitlines() if json.loads(line)["_id"] in chosen]
    (sample / "queries.jsonl").write_text("\n".join(lines) + "\n")
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(row) for row in kept)]
    (sample / "qrels.tsv").write_text("\n".join(rows) + "\n")
    return sample
