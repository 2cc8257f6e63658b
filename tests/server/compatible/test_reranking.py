"""Tests of `server/compatible/reranking.py` and its routes: Jina's and Cohere's shapes, over the request alone."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from models.errors import ModelError
from models.reranker import Reading, RerankResult
from server.compatible.reranking import DOCUMENTS_A_STEP
from server.compatible.reranking_shapes import CohereRerankAnswer, JinaRerankAnswer
from server.reranking import Mixed, RerankerSlot
from server.responses import ProblemShape
from tests.server.compatible.serving import Served, serving

JINA, COHERE = "/v1/rerank", "/v2/rerank"
BOTH = pytest.mark.parametrize("path", [JINA, COHERE])


class Lengths:
    """Scores a text by its length, a quarter each; reads nine words of a text and three of a query."""

    name, digest, device = "lengths", "sha256:lengths", "cpu"

    def read(self, query: str, texts: Sequence[str]) -> Reading:
        words = len(query.split())
        return Reading(
            tokens_seen=tuple((min(len(text.split()), 9), len(text.split())) for text in texts),
            query_tokens_seen=(min(words, 3), words),
        )

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        reading = self.read(query, texts)
        return RerankResult(
            scores=tuple(len(text) * 2**18 for text in texts),
            tokens_seen=reading.tokens_seen,
            query_tokens_seen=reading.query_tokens_seen,
        )


class Broken(Lengths):
    """Cannot score."""

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        raise ModelError("broken")


def slot(reranker: Any) -> RerankerSlot:
    return RerankerSlot(lambda: Mixed(reranker=reranker, weight=Fraction(1)))


@pytest.fixture(scope="module", name="served")
def fixture_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("reranking") / "catalog", reranker=slot(Lengths())) as opened:
        yield opened


def ask(served: Served, path: str, documents: Sequence[object], **more: object) -> Any:
    return served.post(path, {"model": "lengths", "query": "which", "documents": documents, **more})


def order(answer: Any) -> list[tuple[int, float]]:
    return [(one["index"], one["relevance_score"]) for one in answer.json()["results"]]


@BOTH
def test_documents_come_best_first_and_equal_ones_in_the_order_given(served: Served, path: str) -> None:
    assert order(ask(served, path, ["bb", "a", "cc", "dddd"])) == [(3, 1.0), (0, 0.5), (2, 0.5), (1, 0.25)]


@BOTH
def test_the_best_few_may_be_asked_for(served: Served, path: str) -> None:
    assert order(ask(served, path, ["a", "bb", "ccc"], top_n=2)) == [(2, 0.75), (1, 0.5)]
    assert len(order(ask(served, path, ["a", "bb", "ccc"], top_n=9))) == 3


def test_the_answer_of_v1_is_jinas(served: Served) -> None:
    answer = ask(served, JINA, ["a", {"text": "two words"}])

    JinaRerankAnswer.model_validate(answer.json())
    assert answer.json() == {
        "model": "lengths",
        "usage": {"total_tokens": 4},
        "results": [
            {"index": 1, "relevance_score": 2.25, "document": {"text": "two words"}},
            {"index": 0, "relevance_score": 0.25, "document": {"text": "a"}},
        ],
    }


def test_documents_may_be_left_out_of_jinas_answer(served: Served) -> None:
    answer = ask(served, JINA, ["a"], return_documents=False)

    assert answer.json()["results"] == [{"index": 0, "relevance_score": 0.25}]


def test_the_answer_of_v2_is_coheres(served: Served) -> None:
    answer = ask(served, COHERE, ["a", "two words"])

    CohereRerankAnswer.model_validate(answer.json())
    assert answer.json() == {
        "results": [{"index": 1, "relevance_score": 2.25}, {"index": 0, "relevance_score": 0.25}],
        "meta": {"api_version": {"version": "2"}, "tokens": {"input_tokens": 4}},
    }


@BOTH
def test_many_documents_are_one_ranking_and_the_query_is_counted_once(served: Served, path: str) -> None:
    documents = ["x" * (number + 1) for number in range(DOCUMENTS_A_STEP + 1)]

    answer = ask(served, path, documents, top_n=1)
    assert order(answer) == [(DOCUMENTS_A_STEP, (DOCUMENTS_A_STEP + 1) / 4)]
    tokens = answer.json()["usage"]["total_tokens"] if path == JINA else answer.json()["meta"]["tokens"]["input_tokens"]
    assert tokens == 1 + len(documents)


@BOTH
def test_what_the_reranker_cannot_read_whole_is_refused_and_named(served: Served, path: str) -> None:
    """R14: never a silent cut; in a later step too."""
    many = ["a"] * DOCUMENTS_A_STEP
    long = ask(served, path, [*many, "b", " ".join("w" * 10)])
    query = ask(served, path, ["a"], query="one two three four")

    assert (long.status_code, long.json()["path"]) == (422, f"$.documents[{DOCUMENTS_A_STEP + 1}]")
    assert long.json()["detail"] == "has 10 tokens, the reranker reads 9 of them"
    assert (query.status_code, query.json()["path"]) == (422, "$.query")


@BOTH
@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"model": "rerank-v3.5"}, "$.model"),
        ({"documents": []}, "$.documents"),
        ({"documents": ["x"] * 1001}, "$.documents"),
        ({"documents": ["x", ""]}, "$.documents[1]"),
        ({"documents": ["x", 7]}, "$.documents[1]"),
        ({"query": ""}, "$.query"),
        ({"query": "x" * 8193}, "$.query"),
        ({"top_n": 0}, "$.top_n"),
        ({"max_tokens_per_doc": 100}, "$.max_tokens_per_doc"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_had_is_a_422_that_names_the_place(
    served: Served, path: str, more: dict[str, object], place: str
) -> None:
    refused = served.post(path, {"model": "lengths", "query": "which", "documents": ["a"], **more})

    problem = ProblemShape.model_validate(refused.json())
    assert refused.status_code == 422
    assert problem.path is not None
    assert problem.path.startswith(place)


@BOTH
def test_another_model_is_answered_with_the_one_there_is(served: Served, path: str) -> None:
    assert ask(served, path, ["a"], model="other").json()["detail"] == "no such reranker; allowed: lengths"


@BOTH
@pytest.mark.parametrize("reranker", [None, Broken()], ids=["none", "broken"])
def test_without_a_working_reranker_it_is_a_503(tmp_path: Path, path: str, reranker: Any) -> None:
    how = {} if reranker is None else {"reranker": slot(reranker)}
    with serving(tmp_path / "catalog", **how) as opened:
        refused = ask(opened, path, ["a"])

    assert refused.status_code == 503
    assert "broken" not in refused.text


@BOTH
def test_without_a_token_nothing_is_reranked(served: Served, path: str) -> None:
    body = {"model": "lengths", "query": "which", "documents": ["a"]}

    assert served.client.post(path, json=body).status_code == 401


@BOTH
def test_nothing_is_scored_before_everything_is_known_to_be_read_whole(
    served: Served, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(Lengths, "score", lambda *_: pytest.fail("scored"))

    assert ask(served, path, ["a", " ".join("w" * 10)]).status_code == 422


@pytest.mark.parametrize(
    ("document", "place"),
    [("", "$.documents[1]"), ("\x00", "$.documents[1]"), (7, "$.documents[1]"), ({}, "$.documents[1].text")],
)
def test_a_document_is_refused_at_its_own_place(served: Served, document: object, place: str) -> None:
    refused = ask(served, JINA, ["a", document])

    assert (refused.status_code, refused.json()["path"]) == (422, place)


def test_the_schema_of_a_document_allows_a_text(served: Served) -> None:
    schemas = served.client.get("/openapi.json").json()["components"]["schemas"]

    kinds = schemas["JinaRerankRequest"]["properties"]["documents"]["items"]["oneOf"]
    assert {"type": "string", "minLength": 1} in kinds
