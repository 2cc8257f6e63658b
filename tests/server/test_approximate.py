"""Is an approximate search switched on by the operator alone, and does its answer say so? (R10, R13, R15, R32)"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evidence.layers import Layer
from evidence.replay import Verdict
from index.approximate import Narrowing, Signs
from index.catalog import Catalog
from index.ranges import RowRanges
from server.explaining import explain
from server.parsing import parse
from server.pipeline import Pipeline
from server.replaying import replay
from server.retrieval import APPROXIMATE
from server.schemas import PacketRequest, SearchRequest
from tests.noninterference.reranker import reranker as shared_words
from tests.worlds import arrive, build, pipeline_over, principal, record

ANYONE = principal(None)
BLUE = principal("blue", roles=("technician",))
ON: dict[str, Any] = {"approximate_above": 2, "approximate_oversampling": 1}
WORDS = ("pump", "valve", "latch", "limit", "upload", "year")


@pytest.fixture(scope="module", name="catalog")
def fixture_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """Six public sources, the last in a delta, and one that is not public."""
    directory = tmp_path_factory.mktemp("approximate") / "catalog"
    public = [
        record(word, f"The {word} is inspected with the {other}.")
        for word, other in zip(WORDS, WORDS[1:] + WORDS[:1], strict=True)
    ]
    build(directory, [*public[:-1], record("hidden", "The pump is blue.", tenant="blue")])
    with Catalog.open(directory) as catalog:
        arrive(catalog, public[-1:])
        yield catalog


def asked(**more: Any) -> dict[str, Any]:
    return {"query": "pump inspected", "k": 1, "fusion": {"depth": 1}, **more}


def search(pipeline: Pipeline, **more: Any) -> dict[str, Any]:
    answer = dict(pipeline.search(parse(asked(**more), SearchRequest), ANYONE))
    del answer["run"]
    return answer


def packet(pipeline: Pipeline, **more: Any) -> dict[str, Any]:
    return dict(pipeline.packet(parse(asked(**more), PacketRequest), ANYONE))


def verdict(pipeline: Pipeline, manifest: Any) -> Verdict:
    return replay(pipeline, manifest, ANYONE, code_of=lambda _: None)


def test_nothing_is_approximate_unless_the_operator_says_so(catalog: Catalog) -> None:
    manifest = packet(pipeline_over(catalog))["manifest"]

    assert manifest["degraded"] == []
    assert "dense" not in manifest["strategy"]["parameters"]


def test_an_approximate_answer_says_so_and_names_its_rule(catalog: Catalog) -> None:
    """R13, R15: in what is hashed."""
    pipeline = pipeline_over(catalog, **ON)
    exact, answer = packet(pipeline_over(catalog)), packet(pipeline)

    assert search(pipeline)["degraded"] == [APPROXIMATE]
    assert answer["manifest"]["degraded"] == [APPROXIMATE]
    assert answer["manifest"]["strategy"]["parameters"]["dense"] == {
        "approximate": True,
        "version": "signs-1",
        "above": 2,
        "oversampling": 1,
    }
    assert answer["packet_id"] != exact["packet_id"]


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({**ON, "approximate_above": 6}, {}),
        (ON, {"filter": {"source_id": ["pump", "valve"]}}),
        (ON, {"channel": "lexical"}),
        (ON, {"fusion": {"depth": 6}}),
    ],
    ids=["no more usable than the threshold", "few left by a filter", "no dense channel", "all are wanted"],
)
def test_where_every_usable_unit_is_scored_the_answer_is_the_exact_one(
    settings: dict[str, Any], more: dict[str, Any], catalog: Catalog
) -> None:
    assert search(pipeline_over(catalog, **settings), **more) == search(pipeline_over(catalog), **more)


def test_a_reranked_answer_still_says_so(catalog: Catalog) -> None:
    served, absent = pipeline_over(catalog, reranker=shared_words(), **ON), pipeline_over(catalog, **ON)

    assert search(served, rerank=True)["degraded"] == [APPROXIMATE]
    assert search(absent, rerank=True)["degraded"] == [APPROXIMATE, "rerank: unavailable"]


def test_a_manifest_replays_under_the_same_rule_and_under_no_other(catalog: Catalog) -> None:
    """R32."""
    manifest = packet(pipeline_over(catalog, **ON))["manifest"]

    assert verdict(pipeline_over(catalog, **ON), manifest).layer is None
    for other in ({}, {**ON, "approximate_oversampling": 2}):
        assert verdict(pipeline_over(catalog, **other), manifest).layer is Layer.CANDIDATES


def test_units_that_the_caller_may_not_see_change_nothing(catalog: Catalog, tmp_path: Path) -> None:
    """R6: as many of them as one likes, before or after the last reindex."""
    before = search(pipeline_over(catalog, **ON), fusion={"depth": 2}, k=2)
    arrive(catalog, [record(f"red-{number}", f"The pump is inspected, {number}.", tenant="red") for number in range(9)])

    assert search(pipeline_over(catalog, **ON), fusion={"depth": 2}, k=2) == before


def test_an_explanation_offers_what_the_approximate_search_offers(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13. Its rank is that of the exact order all the same."""

    def only_the_first_row(_: Narrowing, query: Any, parts: Sequence[tuple[Signs, RowRanges]], *, k: int) -> Any:
        return [RowRanges.from_rows(ranges.rows()[: 1 if at == 0 else 0]) for at, (_, ranges) in enumerate(parts)]

    pipeline, request = pipeline_over(catalog, **ON), parse(asked(channel="dense"), PacketRequest)
    monkeypatch.setattr(Narrowing, "narrow", only_the_first_row)
    (offered,) = (hit["source"]["source_id"] for hit in search(pipeline, channel="dense")["hits"])
    told: dict[str, Any] = {
        word: _channels(explain(pipeline, request, ANYONE, named=f"public/{word}@1#0"))["dense"] for word in WORDS
    }

    assert {word for word, place in told.items() if place["offered"]} == {offered}
    assert {place["rank"] for place in told.values()} == {1, 2, 3, 4, 5, 6}
    assert told[offered]["rank"] != 1


def _channels(explained: Any) -> Any:
    return explained["channels"]
