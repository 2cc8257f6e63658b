"""Tests of `server/reranking.py` and of what reranking leaves on a hit."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Principal
from index.catalog import Catalog
from models.errors import ModelError
from models.reranker import RerankResult
from server.parsing import parse
from server.pipeline import Pipeline
from server.reranking import Mixed, RerankerSlot
from server.schemas import PacketRequest, SearchRequest
from tests.worlds import build, pipeline_over, record

ANYONE = Principal(sub="ann", tenant=None)
RECORDS = [record(name, f"The pump of model {name} is inspected.") for name in ("A", "B", "C", "D")]


class LastFirst:
    """Scores texts in reverse order, and reads two of three tokens of the query."""

    name, digest, device = "last-first", "sha256:last", "cpu"

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        return RerankResult(
            scores=tuple(range(len(texts))), tokens_seen=((5, 9),) * len(texts), query_tokens_seen=(2, 3)
        )


class Failing(LastFirst):
    """Cannot score."""

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        raise ModelError("broken")


def with_reranker(catalog: Catalog, reranker: Any, weight: Fraction = Fraction(1), **settings: Any) -> Pipeline:
    slot = RerankerSlot(lambda: Mixed(reranker=reranker, weight=weight))
    return pipeline_over(catalog, reranker=slot, **settings)


@pytest.fixture(scope="module", name="catalog")
def fixture_catalog(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory: Path = tmp_path_factory.mktemp("reranking") / "catalog"
    build(directory, RECORDS)
    with Catalog.open(directory) as catalog:
        yield catalog


def sources(pipeline: Pipeline, *, rerank: bool) -> list[str]:
    answer = pipeline.search(parse({"query": "pump inspected", "rerank": rerank}, SearchRequest), ANYONE)
    hits = answer["hits"]
    assert isinstance(hits, list)
    return [hit["source"]["source_id"] for hit in hits]


def test_the_best_few_are_ordered_again_and_the_rest_stays(catalog: Catalog) -> None:
    pipeline = with_reranker(catalog, LastFirst(), rerank_depth=3)
    before = sources(pipeline, rerank=False)

    assert sources(pipeline, rerank=True) == [before[2], before[1], before[0], before[3]]


def test_a_reranker_without_weight_changes_no_order(catalog: Catalog) -> None:
    pipeline = with_reranker(catalog, LastFirst(), Fraction(0))

    assert sources(pipeline, rerank=True) == sources(pipeline, rerank=False)


def test_the_position_stays_on_the_hit_beside_the_channels(catalog: Catalog) -> None:
    """R13."""
    pipeline = with_reranker(catalog, LastFirst(), rerank_depth=3)
    answer = pipeline.search(parse({"query": "pump inspected", "rerank": True}, SearchRequest), ANYONE)

    hits = answer["hits"]
    assert isinstance(hits, list)
    assert [hit["ranks"].get("rerank") for hit in hits] == [1, 2, 3, None]
    assert [hit["score"] for hit in hits[:3]] == [2**32, 2**31, 0]
    assert all({"lexical", "dense"} <= set(hit["ranks"]) for hit in hits)


def test_what_the_reranker_did_not_read_is_in_the_trace_and_stated(catalog: Catalog) -> None:
    """R14."""
    pipeline = with_reranker(catalog, LastFirst())
    answer = pipeline.packet(parse({"query": "pump inspected", "rerank": True}, PacketRequest), ANYONE)

    manifest: Any = answer["manifest"]
    assert manifest["degraded"] == ["rerank: the reranker read 2 of the query's 3 tokens"]
    assert {tuple(one["trace"]["reranker_tokens"].items()) for one in manifest["inclusions"]} == {
        (("seen", 5), ("total", 9))
    }


def test_a_reranker_that_fails_leaves_the_fused_order_and_says_so(catalog: Catalog) -> None:
    """R15."""
    pipeline = with_reranker(catalog, Failing())
    answer = pipeline.search(parse({"query": "pump inspected", "rerank": True}, SearchRequest), ANYONE)

    assert answer["degraded"] == ["rerank: unavailable"]
    assert sources(pipeline, rerank=True) == sources(pipeline, rerank=False)
