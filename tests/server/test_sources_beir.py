"""Which revisions does a BEIR folder offer?"""

import json
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Label
from evidence.identity import PUBLIC, RevisionKey
from evidence.source_record import SourceRevision
from server.source_place import SourceFileError
from server.sources_beir import read_beir
from tests.real_data import data_folder

ANYONE = Label(namespace=PUBLIC)


def read(folder: Path, *rows: dict[str, Any]) -> list[SourceRevision]:
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [revision for _, revision in read_beir(folder, default_label=ANYONE)]


def test_a_row_is_the_first_revision_of_a_source(tmp_path: Path) -> None:
    [revision] = read(tmp_path, {"_id": "4983", "title": "A title", "text": "Text.", "metadata": {}})

    assert revision.facts.key == RevisionKey(PUBLIC, "4983", "1")
    assert (revision.facts.title, revision.text, revision.facts.label) == ("A title", "Text.", ANYONE)


def test_title_and_metadata_may_be_missing(tmp_path: Path) -> None:
    [revision] = read(tmp_path, {"_id": "1", "text": "Text."})

    assert (revision.facts.title, revision.facts.metadata) == ("", "{}")


def test_a_row_without_text_is_found_by_its_title(tmp_path: Path) -> None:
    [revision] = read(tmp_path, {"_id": "rfc0001", "title": "RFC 1 – Host Software", "text": ""})

    assert revision.text == "RFC 1 – Host Software"


def test_metadata_that_the_schema_does_not_hold_is_written_down(tmp_path: Path) -> None:
    [revision] = read(
        tmp_path,
        {
            "_id": "1",
            "text": "Text.",
            "metadata": {
                "kept": [1, "a", True],
                "float": 0.1,
                "null": None,
                "object": {"b": 1.5, "a": "é"},
                "mixed": [1, [2]],
            },
        },
    )

    assert json.loads(revision.facts.metadata) == {
        "kept": [1, "a", True],
        "float": "0.1",
        "object": '{"a":"é","b":1.5}',
        "mixed": "[1,[2]]",
    }


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"text": "Text."}, "$._id"),
        ({"_id": 7, "text": "Text."}, "$._id"),
        ({"_id": "", "text": "Text."}, "$._id"),
        ({"_id": "7"}, "$.text"),
        ({"_id": "7", "text": "", "title": " "}, "$.text"),
        ({"_id": "7", "text": "a\x00"}, "$.text"),
        ({"_id": "7", "text": "Text.", "access": {"public": True}}, "$.access"),
        ({"_id": "7", "text": "Text.", "metadata": None}, "$.metadata"),
        ({"_id": "7", "text": "Text.", "metadata": {"a\n": 1}}, '$.metadata["a\\n"]'),
    ],
)
def test_a_bad_row_is_refused_with_the_path_of_the_row(tmp_path: Path, row: dict[str, Any], path: str) -> None:
    with pytest.raises(SourceFileError) as caught:
        read(tmp_path, {"_id": "1", "text": "Text."}, row)
    assert (caught.value.line, caught.value.path) == (2, path)


def test_a_corpus_without_a_given_label_is_refused(tmp_path: Path) -> None:
    """R3: nothing is public by default."""
    read(tmp_path, {"_id": "1", "text": "Text."})

    with pytest.raises(SourceFileError, match="no label is refused"):
        list(read_beir(tmp_path, default_label=None))


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match="holds no record"):
        read(tmp_path)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "documents"), [("scifact", 5183), ("nfcorpus", 3633), ("rfc_index", 9319)])
def test_real_corpora_are_read_whole_with_their_texts_exact(name: str, documents: int) -> None:
    folder = data_folder() / name
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        expected = {row["_id"]: row["text"] or row["title"] for row in map(json.loads, lines)}

    read = {revision.facts.key.source_id: revision.text for _, revision in read_beir(folder, default_label=ANYONE)}
    assert len(read) == documents
    assert read == expected
