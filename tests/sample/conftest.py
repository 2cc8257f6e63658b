"""What is read and encoded once for all tests of the sample?"""

from dataclasses import dataclass

import pytest

from evidence.source_record import SourceRevision
from tests.sample.ranking import Passage, Scores, encode, lexical_scores, passages
from tests.sample.shipped import ListedQuery, queries, revisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """Every passage of the sample, and what each channel gives it for a listed query. Nothing is filtered."""

    passages: list[Passage]
    dense: dict[str, Scores]  # query id -> cosine of each passage

    def lexical(self, query: ListedQuery, *, stop_words: bool) -> Scores:
        """BM25 of each passage, with statistics over all of them."""
        return lexical_scores(query.query, [passage.text for passage in self.passages], stop_words=stop_words)


@pytest.fixture(scope="session")
def sample() -> list[SourceRevision]:
    return revisions()


@pytest.fixture(scope="session")
def channels(sample: list[SourceRevision]) -> Channels:
    pieces, listed = passages(sample), queries()
    vectors = encode([piece.text for piece in pieces] + [query.query for query in listed])
    rows, asked = vectors[: len(pieces)], vectors[len(pieces) :]
    cosines = {query.id: (rows @ vector).astype("float64") for query, vector in zip(listed, asked, strict=True)}
    return Channels(passages=pieces, dense=cosines)
