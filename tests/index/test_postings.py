"""Tests of index/postings.py: where terms occur, and which of those places are visible."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import postings as module
from index.postings import Postings, build_postings
from index.ranges import RowRanges

TEXTS = [["b", "a", "b"], [], ["é", "a"], ["a"], ["𝛼", "ﬁ", "b"]]

documents = st.lists(st.lists(st.sampled_from("abcdé𝛼"), max_size=8), max_size=25)


def listed(postings: Postings) -> dict[str, list[tuple[int, int]]]:
    """term -> its (row, frequency) pairs, in stored order."""
    return {
        term: [
            (int(postings.posting_rows[at]), int(postings.frequencies[at]))
            for at in range(postings.offsets[number], postings.offsets[number + 1])
        ]
        for term, number in postings.terms.items()
    }


def counted(texts: Sequence[Sequence[str]]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for row, terms in enumerate(texts):
        for term, frequency in Counter(terms).items():
            found.setdefault(term, []).append((row, frequency))
    return found


def test_postings_hold_each_terms_rows_and_frequencies_in_row_order() -> None:
    postings, lengths = build_postings(TEXTS)

    assert listed(postings) == {
        "a": [(0, 1), (2, 1), (3, 1)],
        "b": [(0, 2), (4, 1)],
        "é": [(2, 1)],
        "ﬁ": [(4, 1)],
        "𝛼": [(4, 1)],
    }
    assert lengths.tolist() == [3, 0, 2, 1, 3]
    assert lengths.dtype == postings.posting_rows.dtype == postings.frequencies.dtype == np.int32


def test_terms_are_numbered_by_code_point() -> None:
    """U+FB01 sorts before U+1D6FC by code point, and after it in UTF-16."""
    postings, _ = build_postings(TEXTS)

    assert postings.terms == {"a": 0, "b": 1, "é": 2, "ﬁ": 3, "𝛼": 4}


@given(documents, st.integers(1, 9))
def test_postings_are_the_same_whatever_the_size_of_a_chunk(texts: list[list[str]], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TERMS_PER_CHUNK", chunk)
        postings, lengths = build_postings(texts)

    assert listed(postings) == counted(texts)
    assert lengths.tolist() == [len(terms) for terms in texts]


def test_documents_are_read_once_and_may_come_from_a_generator() -> None:
    def stream() -> Iterator[list[str]]:
        yield from TEXTS

    postings, _ = build_postings(stream())

    assert listed(postings) == counted(TEXTS)


@settings(deadline=None)  # the first call compiles
@given(documents, st.sets(st.integers(0, 24)))
def test_document_frequency_counts_the_visible_rows_that_hold_the_term(
    texts: list[list[str]], visible: set[int]
) -> None:
    """R9: over the usable units alone."""
    rows = sorted(row for row in visible if row < len(texts))
    postings, _ = build_postings(texts)
    terms = list(postings.terms)

    found = postings.document_frequencies(
        postings.numbers(terms), ranges=RowRanges.from_rows(np.array(rows, dtype=np.int64))
    )

    assert found.tolist() == [sum(term in texts[row] for row in rows) for term in terms]


def test_terms_that_occur_nowhere_have_no_number() -> None:
    postings, _ = build_postings(TEXTS)

    assert postings.numbers(["zebra", "b", "a", "b"]).tolist() == [1, 0, 1]


def as_python(loop: object) -> Any:
    """A compiled loop as the function it was written as."""
    return loop.py_func  # type: ignore[attr-defined]  # numba's dispatcher, which has no types


def test_a_search_for_visible_postings_reads_few_of_the_invisible_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: of 100,000 postings, 3 of them visible, a search reads single probes. Run as Python, to count."""

    class Watched:
        """Postings of rows 0, 1, ... that count how often they are read."""

        read = 0

        def __getitem__(self, place: int) -> int:
            self.read += 1
            return place

    monkeypatch.setattr(module, "first_at_least", as_python(module.first_at_least))
    watched = Watched()

    first, last, _ = as_python(module.next_visible)(
        watched, 0, 100_000, RowRanges.from_pairs([(90_000, 90_003)]).edges, 0
    )

    assert (first, last) == (90_000, 90_003)
    assert watched.read < 50


@pytest.mark.parametrize("offsets", [[0, 1], [0, 1, 3], [1, 1, 2]])
def test_arrays_that_do_not_belong_together_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offset"):
        Postings(
            terms={"a": 0, "b": 1},
            offsets=np.array(offsets, dtype=np.int64),
            posting_rows=np.zeros(2, dtype=np.int32),
            frequencies=np.ones(2, dtype=np.int32),
        )


def test_the_rows_that_hold_a_term_are_told_from_those_that_do_not() -> None:
    postings, _ = build_postings([["a", "b"], ["b"], ["c"], ["b", "a"]])
    rows = np.array([3, 2, 1, 0], dtype=np.int64)

    assert postings.holds("a", rows).tolist() == [True, False, False, True]
    assert postings.holds("b", rows).tolist() == [True, False, True, True]
    assert postings.holds("absent", rows).tolist() == [False] * 4
