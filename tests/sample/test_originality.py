"""Is every sentence of the sample our own?"""

import itertools
import re
from collections.abc import Iterator

import pytest

from tests.real_data import data_folder
from tests.sample.shipped import SAMPLE

SHINGLE_WORDS = 8


@pytest.mark.real_data
def test_no_eight_words_in_a_row_are_shared_with_the_papers_the_project_came_from() -> None:
    papers = sorted((data_folder().parent / "seeds").glob("*.txt"))
    theirs = {shingle for paper in papers for shingle in _shingles(paper.read_text("utf-8"))}
    ours = {
        shingle
        for path in (SAMPLE / "sources.jsonl", SAMPLE / "queries.jsonl", SAMPLE / "README.md")
        for shingle in _shingles(path.read_text("utf-8").replace("\\n", " "))
    }

    assert len(papers) == 4
    assert len(theirs) > 5000
    assert ours & theirs == set()


def _shingles(text: str) -> Iterator[tuple[str, ...]]:
    """Every run of SHINGLE_WORDS words, case and punctuation aside."""
    words = re.findall(r"\w+", text.casefold())
    return zip(*(itertools.islice(words, start, None) for start in range(SHINGLE_WORDS)), strict=False)
