"""Which lines of a file are records, and how long may one be?"""

import io
import json
from pathlib import Path

import pytest

from evidence.source_record import MAX_TEXT_BYTES
from server.source_place import SourceFileError
from server.sources_lines import MAX_LINE_BYTES, json_lines, read_jsonl

RECORD = {"source_id": "a", "revision": "1", "text": "Text.", "access": {"public": True}}


class CountingStream(io.BytesIO):
    """Remembers the longest piece that was asked for."""

    longest = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        data = super().readline(size)
        self.longest = max(self.longest, len(data))
        return data


def line_of_exactly(size: int) -> bytes:
    empty = len(json.dumps({**RECORD, "text": ""}))
    return json.dumps({**RECORD, "text": "x" * (size - empty)}).encode()


def test_lines_end_in_lf_or_crlf_and_blank_ones_are_passed_over() -> None:
    stream = io.BytesIO(b'\n{"a": 1}\r\n \t\r\n{"b": 2}\n{"c": 3}')

    assert [(place.line, value) for place, value in json_lines(stream, file="in")] == [
        (2, {"a": 1}),
        (4, {"b": 2}),
        (5, {"c": 3}),
    ]


def test_other_line_separators_do_not_end_a_line() -> None:
    stream = io.BytesIO('{"a": "\u2028\u0085"}'.encode())

    assert [value for _, value in json_lines(stream, file="in")] == [{"a": "\u2028\u0085"}]


def test_a_line_of_ten_megabytes_is_a_record(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(line_of_exactly(10_000_000))

    [(place, revision)] = read_jsonl(path, default_label=None)
    assert (place.line, len(json.dumps({**RECORD, "text": revision.text}))) == (1, 10_000_000)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_a_line_is_read_at_its_limit_and_refused_one_byte_above(ending: bytes) -> None:
    assert MAX_LINE_BYTES == MAX_TEXT_BYTES
    assert len(list(json_lines(io.BytesIO(line_of_exactly(MAX_LINE_BYTES) + ending), file="in"))) == 1
    with pytest.raises(SourceFileError, match=r"^in:1: \$: a line of more than 16777216 bytes$"):
        list(json_lines(io.BytesIO(line_of_exactly(MAX_LINE_BYTES + 1) + ending), file="in"))


def test_no_more_of_a_long_line_is_read_than_is_allowed() -> None:
    stream = CountingStream(b"x" * (3 * MAX_LINE_BYTES))

    with pytest.raises(SourceFileError):
        list(json_lines(stream, file="in"))
    assert stream.longest <= MAX_LINE_BYTES + 2


def test_an_error_while_reading_names_the_line() -> None:
    class Broken(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(SourceFileError, match=r"^in:1: ") as caught:
        list(json_lines(Broken(), file="in"))
    assert caught.value.problem == "cannot be read: input/output error"
