"""Does every malformed source file end in one error that names file, line and path?"""

from pathlib import Path

import pytest

from server.source_place import SourceFileError
from server.sources import SourceFormat, check_paths
from tests.malformed.cases import CASES, GOOD_LINE, Case


def refusal(path: Path) -> SourceFileError:
    with pytest.raises(SourceFileError) as caught:
        check_paths([path], source_format=SourceFormat.AUTO, default_label=None)
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_malformed_file_is_refused_in_one_line_that_names_file_line_and_path(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.file
    path.write_bytes(case.data)

    error = refusal(path)
    assert (error.file, error.line) == (str(path), case.line)
    assert case.path in error.path
    assert str(error) == f"{path}:{case.line}: {error.path}: {error.problem}"
    assert len(str(error)) < 1000
    assert str(error).isprintable()


def test_there_are_at_least_twenty_five_cases_each_with_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 25


def test_the_good_line_beside_each_bad_one_is_good(tmp_path: Path) -> None:
    path = tmp_path / "good.jsonl"
    path.write_bytes(GOOD_LINE)

    assert check_paths([path], source_format=SourceFormat.AUTO, default_label=None).revisions == 1
