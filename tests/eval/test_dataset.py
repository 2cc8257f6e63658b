"""Is a BEIR folder read as it says, and a broken one refused with the line?"""

import json
from pathlib import Path

import pytest

from eval.dataset import Query, read_dataset
from server.source_place import SourceFileError
from tests.real_data import data_folder

HEAD = "query-id\tcorpus-id\tscore\n"


def folder_with(folder: Path, *, queries: str, qrels: str, name: str = "qrels.tsv") -> Path:
    (folder / "queries.jsonl").write_text(queries)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(qrels)
    return folder


def query(query_id: str, text: str = "What?", **metadata: object) -> str:
    return json.dumps({"_id": query_id, "text": text, "metadata": metadata}) + "\n"


def test_judged_queries_are_read_in_order_and_others_counted(tmp_path: Path) -> None:
    folder_with(
        tmp_path,
        queries=query("q2") + query("q3") + query("q1", "Who?", exclude_ids=["d9"]),
        qrels=HEAD + "q1\td1\t2\r\n\nq2\td1\t0\nq1\td2\t-1\nq1\td2\t-1\n",
    )

    dataset = read_dataset(tmp_path)
    assert dataset.queries == (
        Query(query_id="q2", text="What?", excluded=frozenset()),
        Query(query_id="q1", text="Who?", excluded=frozenset({"d9"})),
    )
    assert dataset.judgements == {"q1": {"d1": 2, "d2": -1}, "q2": {"d1": 0}}
    assert dataset.unjudged == 1


def test_a_split_is_read_from_its_own_file_and_test_is_the_usual_one(tmp_path: Path) -> None:
    folder_with(tmp_path, queries=query("q1") + query("q2"), qrels=HEAD + "q1\td\t1\n", name="qrels/test.tsv")
    folder_with(tmp_path, queries=query("q1") + query("q2"), qrels=HEAD + "q2\td\t1\n", name="qrels/dev.tsv")

    assert list(read_dataset(tmp_path).judgements) == ["q1"]
    assert list(read_dataset(tmp_path, split="dev").judgements) == ["q2"]
    with pytest.raises(SourceFileError, match="cannot be read"):
        read_dataset(tmp_path, split="train")
    with pytest.raises(SourceFileError, match="no such split"):
        read_dataset(tmp_path, split="../x")


@pytest.mark.parametrize(
    ("queries", "qrels", "error"),
    [
        (query("q1") + '{"_id": "q2"}', HEAD, "queries.jsonl:2: $.text: required, and missing"),
        (query("q1") * 2, HEAD, "queries.jsonl:2: $._id: another query has this _id"),
        (query("q1", " "), HEAD, "queries.jsonl:1: $.text: must not be empty"),
        (query("q1", exclude_ids="d"), HEAD, "queries.jsonl:1: $.metadata.exclude_ids: must be an array, got a string"),
        (query("q1"), "", "qrels.tsv:1: $: holds no judgement"),
        (query("q1"), HEAD, "qrels.tsv:1: $: holds no judgement"),
        (query("q1"), "q1\td1\t1\n", "qrels.tsv:1: row: the heading is not query-id corpus-id score"),
        (query("q1"), HEAD + "q1 d1 1\n", "qrels.tsv:2: row: 1 columns, not 3"),
        (query("q1"), HEAD + "q1\t0\td1\t1\n", "qrels.tsv:2: row: 4 columns, not 3"),
        (query("q1"), HEAD + "q9\td1\t1\n", "qrels.tsv:2: query-id: no such query in queries.jsonl"),
        (query("q1"), HEAD + "q1\t\t1\n", "qrels.tsv:2: corpus-id: must not be empty"),
        (query("q1"), HEAD + "q1\td1\t0.5\n", "qrels.tsv:2: score: no integer from -1000 to 1000"),
        (query("q1"), HEAD + "q1\td1\t1001\n", "qrels.tsv:2: score: no integer from -1000 to 1000"),
        (query("q1"), HEAD + "q1\td1\t" + "9" * 5000, "qrels.tsv:2: row: a line of more than 4096 bytes"),
        (
            query("q1"),
            HEAD + "q1\td1\t1\nq1\td1\t2\n",
            "qrels.tsv:3: score: another score than an earlier line gives the pair",
        ),
    ],
)
def test_a_fault_is_one_line_that_names_file_and_line(tmp_path: Path, queries: str, qrels: str, error: str) -> None:
    folder_with(tmp_path, queries=queries, qrels=qrels)

    with pytest.raises(SourceFileError) as caught:
        read_dataset(tmp_path)
    assert str(caught.value) == f"{tmp_path}/{error}"


def test_bad_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    folder_with(tmp_path, queries=query("q1"), qrels=HEAD)
    (tmp_path / "qrels.tsv").write_bytes(HEAD.encode() + b"q1\t\xff\t1\n")

    with pytest.raises(SourceFileError, match=r"qrels\.tsv:2: row: not UTF-8"):
        read_dataset(tmp_path)


def test_a_folder_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match="cannot be read: no such file or directory"):
        read_dataset(tmp_path / "absent")


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "split", "queries", "judgements"),
    [("scifact", None, 300, 339), ("scifact", "train", 809, 919), ("nfcorpus", None, 323, 12_334)],
)
def test_real_splits_have_their_published_counts(name: str, split: str | None, queries: int, judgements: int) -> None:
    """BEIR (Thakur et al., NeurIPS 2021), table 1."""
    dataset = read_dataset(data_folder() / name, split=split)

    assert len(dataset.queries) == queries
    assert sum(map(len, dataset.judgements.values())) == judgements


@pytest.mark.real_data
def test_citation_queries_leave_out_the_document_they_stand_in() -> None:
    dataset = read_dataset(data_folder() / "peps")

    assert len(dataset.queries) == 600
    assert all(len(query.excluded) == 1 for query in dataset.queries)
