"""Tests of reading the questions of a proof from a file. Drawing some is tested with the proof."""

from pathlib import Path

import pytest

from eval.proof.questions import read_questions
from eval.proof.requests import Question
from server.settings import Settings
from server.source_place import SourceFileError
from tests.worlds import principal

ANN = principal("blue", purposes=("repair",))
SETTINGS = Settings(max_query_bytes=40, max_k=50, max_body_bytes=500)


def read(folder: Path, content: str | bytes) -> list[Question]:
    path = folder / "queries"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_questions(path, principal=ANN, settings=SETTINGS)


def test_each_line_of_text_that_is_not_blank_is_a_query(tmp_path: Path) -> None:
    found = read(tmp_path, "\n  drum latch\r\n\t\n[1] is text here\nGrüße\n")

    assert [one.body for one in found] == [{"query": "drum latch"}, {"query": "[1] is text here"}, {"query": "Grüße"}]


def test_text_and_json_may_stand_in_one_file_each_read_as_what_it_is(tmp_path: Path) -> None:
    found = read(tmp_path, 'drum latch\n{"query": "latch", "purpose": "repair"}\n')

    assert [one.body for one in found] == [{"query": "drum latch"}, {"query": "latch", "purpose": "repair"}]


def test_lines_of_json_are_bodies_or_queries_of_beir(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        '{"query": "latch", "purpose": "repair", "k": 3, "fusion": {"dense_weight": 0.25}}\n'
        '{"_id": "7", "text": "drum", "metadata": {"exclude_ids": ["1"]}}\n'
        '{"query": "latch", "strategy": "document", "source_id": "S-1"}\n',
    )

    assert [one.body for one in found] == [
        {"query": "latch", "purpose": "repair", "k": 3, "fusion": {"dense_weight": 0.25}},
        {"query": "drum"},
        {"query": "latch", "strategy": "document", "source_id": "S-1"},
    ]


@pytest.mark.parametrize(
    ("line", "path", "problem"),
    [
        ('{"query": ', "$", "not JSON"),
        ('{"query": 1} is no text', "$", "not JSON"),
        ('{"query": "a", "query": "b"}', "$.query", "duplicate key"),
        ("{}", "$.query", "is required"),
        ('{"query": 7}', "$.query", "string"),
        ('{"query": ""}', "$.query", "at least 1 character"),
        ('{"query": "a", "tenant": "red"}', "$.tenant", "unknown field"),
        ('{"query": "a", "k": 60}', "$.k", "at most 50"),
        ('{"query": "a", "k": 300}', "$", "more than fusion.depth"),
        ('{"query": "a", "purpose": "audit"}', "$.purpose", "not granted"),
        (f'{{"query": "{"a" * 41}"}}', "$.query", "at most 40"),
        ('{"_id": "1"}', "$.text", "required"),
        ('{"_id": "1", "text": 4}', "$.text", "string"),
        ('{"_id": "1", "text": "a", "tenant": "red"}', "$.tenant", "unknown key"),
    ],
)
def test_a_bad_line_is_refused_by_line_and_path_and_never_quoted(
    line: str, path: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceFileError) as refused:
        read(tmp_path, f'{{"query": "good"}}\n\n{line}\n')
    error = refused.value
    assert (error.line, error.path) == (3, path)
    assert problem in error.problem
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"", 1, "holds no query"),
        (b"\n \n", 1, "holds no query"),
        (b"good\n\xff\n", 2, "not UTF-8"),
        (b'\xef\xbb\xbf{"query": "good"}\n', 1, "byte order mark"),
        (b"good\n" + b"a" * 41, 2, "at most 40"),
        (b"good\na\x00b", 2, "NUL"),
        (b"good\n" + b"a" * 501, 2, "more than 500 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_as_text_is_refused(content: bytes, line: int, problem: str, tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match=problem) as refused:
        read(tmp_path, content)
    assert refused.value.line == line


def test_a_folder_or_nothing_at_all_is_no_file_of_queries(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(SourceFileError):
            read_questions(path, principal=ANN, settings=SETTINGS)
