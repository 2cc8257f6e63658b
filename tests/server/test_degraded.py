"""Is a channel that is off, missing, broken or of another recipe stated in the answer and in its hash? (R10, R15)"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from index.catalog import Catalog
from index.errors import RecipeMismatch
from index.reindex import reindex
from models.errors import ModelError
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import PacketRequest, SearchRequest
from tests.worlds import ANALYZER, RECIPE, WordEncoder, build, extend, pipeline_over, principal, record

ANYONE = principal(None)
RECORDS = [record("A", "The upload limit is 25 MB."), record("B", "Latches are inspected each year.")]


class BrokenEncoder(WordEncoder):
    """Cannot encode a query."""

    def encode_query(self, text: str) -> npt.NDArray[np.int8]:
        raise ModelError("broken")


class OtherRuntime(WordEncoder):
    """Runs on another runtime than the recipe's."""

    runtime = "words-2"

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        raise AssertionError("rows of another runtime must never be made")


@pytest.fixture(scope="module", name="catalog")
def fixture_catalog(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("degraded") / "catalog"
    build(directory, RECORDS)
    with Catalog.open(directory) as catalog:
        yield catalog


def search(pipeline: Pipeline, **more: Any) -> dict[str, Any]:
    return dict(pipeline.search(parse({"query": "upload limit", **more}, SearchRequest), ANYONE))


def packet(pipeline: Pipeline, **more: Any) -> dict[str, Any]:
    return dict(pipeline.packet(parse({"query": "upload limit", **more}, PacketRequest), ANYONE))


def test_a_whole_pipeline_says_nothing(catalog: Catalog) -> None:
    assert search(pipeline_over(catalog))["degraded"] == []


@pytest.mark.parametrize(
    ("settings", "encoder", "channel", "note"),
    [
        ({"lexical": False}, None, "dense", "lexical: switched off"),
        ({}, BrokenEncoder(), "lexical", "dense: the query could not be encoded"),
    ],
)
def test_hybrid_goes_on_with_the_channel_that_is_left(
    catalog: Catalog, settings: dict[str, Any], encoder: Any, channel: str, note: str
) -> None:
    answer = search(pipeline_over(catalog, encoder=encoder, **settings))

    assert answer["degraded"] == [note]
    assert answer["hits"][0]["source"]["source_id"] == "A"
    assert set(answer["hits"][0]["ranks"]) == {channel}


def test_a_channel_asked_for_alone_and_not_there_brings_nothing_and_says_so(catalog: Catalog) -> None:
    answer = search(pipeline_over(catalog, lexical=False), channel="lexical")

    assert (answer["hits"], answer["degraded"]) == ([], ["lexical: switched off"])


def test_a_query_encoded_on_another_runtime_is_degraded_and_names_both(catalog: Catalog) -> None:
    """R10."""
    answer = search(pipeline_over(catalog, encoder=OtherRuntime()))

    assert answer["degraded"] == ["dense: query encoded on words-2, units on words-1"]
    assert answer["hits"][0]["source"]["source_id"] == "A"


def test_writing_rows_on_another_runtime_is_refused_and_names_both(tmp_path: Path) -> None:
    """R10: rows of two recipes are never mixed."""
    with Catalog.create(tmp_path / "catalog", RECIPE) as catalog:
        extend(catalog, RECORDS)
        with pytest.raises(RecipeMismatch) as refused:
            reindex(catalog, encoder=OtherRuntime(), analyzer=ANALYZER, progress=lambda _: None)
    assert "words-1" in str(refused.value)
    assert "words-2" in str(refused.value)


def test_a_query_analyzed_in_another_version_is_degraded(tmp_path: Path) -> None:
    """R9, R10: the analyzer's name holds its Unicode version."""
    older = replace(RECIPE, analyzer=RECIPE.analyzer.replace("NFKC", "an older NFKC"))
    with Catalog.create(tmp_path / "catalog", RECIPE) as catalog:
        extend(catalog, RECORDS)
        reindex(catalog, encoder=WordEncoder(), analyzer=ANALYZER, progress=lambda _: None)
        catalog.recipe = older
        with pytest.raises(RecipeMismatch):
            reindex(catalog, encoder=WordEncoder(), analyzer=ANALYZER, progress=lambda _: None)


def test_a_degraded_channel_changes_the_manifest_and_its_id(catalog: Catalog) -> None:
    """R15: stated and hashed."""
    whole, degraded = packet(pipeline_over(catalog)), packet(pipeline_over(catalog, encoder=OtherRuntime()))

    assert whole["manifest"]["degraded"] == []
    assert degraded["manifest"]["degraded"] == ["dense: query encoded on words-2, units on words-1"]
    assert whole["packet_id"] != degraded["packet_id"]


def test_a_reranker_that_cannot_be_had_is_degraded(catalog: Catalog) -> None:
    answer = packet(pipeline_over(catalog), rerank=True)

    assert answer["manifest"]["degraded"] == ["rerank: unavailable"]
    assert answer["disposition"] == "accepted"


def test_revisions_that_wait_for_a_reindex_are_missing_and_counted(tmp_path: Path) -> None:
    build(tmp_path / "catalog", RECORDS)
    with Catalog.open(tmp_path / "catalog") as catalog:
        extend(catalog, [record("C", "A new text."), record("D", "A foreign one.", tenant="red")])
        answer = search(pipeline_over(catalog))
    assert answer["degraded"] == ["index: usable revisions that wait for a reindex: 1"]


def test_the_dense_product_may_be_chosen_and_changes_no_answer(catalog: Catalog) -> None:
    """R10, R15: which product serves is a matter of `run`."""
    answers = [search(pipeline_over(catalog, dense_product=product)) for product in ("torch", "faiss", "compiled")]

    for answer in answers:
        assert answer.pop("run")["device"] == "cpu"
    assert answers[0] == answers[1] == answers[2]


def test_a_broad_packet_takes_what_waits_for_a_reindex_since_nothing_is_scored(tmp_path: Path) -> None:
    build(tmp_path / "catalog", RECORDS)
    with Catalog.open(tmp_path / "catalog") as catalog:
        extend(catalog, [record("C", "A new text."), record("D", "A foreign one.", tenant="red")])
        answer = packet(pipeline_over(catalog), strategy="broad")
    assert [one["source_id"] for one in answer["packet"]["evidence"]] == ["A", "B", "C"]
    assert answer["manifest"]["degraded"] == []


def test_a_query_that_the_encoder_cut_is_stated_with_what_it_read(catalog: Catalog) -> None:
    """R14: nothing is cut in silence."""

    class ShortWindow(WordEncoder):
        def truncated(self, query: str) -> tuple[int, int]:
            return 5, 200

    answer = search(pipeline_over(catalog, encoder=ShortWindow()))
    assert answer["degraded"] == ["dense: the encoder read 5 of the query's 200 tokens"]


def test_an_older_revision_of_a_source_that_was_ranked_and_not_selected_is_named_stale(tmp_path: Path) -> None:
    """R16: a reason and a name, no content; a foreign revision of the same source id has neither."""
    older = {"effective_from": "2024-01-01T00:00:00Z"}
    newer = {"effective_from": "2025-01-01T00:00:00Z"}
    records = [
        record("A", "The upload limit is 25 MB."),
        record("B", "Limits of another kind, long ago: CANARY.", revision="1", **older),
        record("B", "Limits of another kind.", revision="2", **newer),
        record("B", "A foreign one.", tenant="red", revision="0", **older),
    ]
    build(tmp_path / "catalog", records)
    with Catalog.open(tmp_path / "catalog") as catalog:
        answer = packet(pipeline_over(catalog), k=1)
    stale = [item for item in answer["manifest"]["omissions"]["items"] if item["reason"] == "stale"]
    assert [one["source_id"] for one in answer["packet"]["evidence"]] == ["A"]
    assert stale == [{"reason": "stale", "namespace": "public", "source_id": "B", "revision": "1"}]
    assert "CANARY" not in str(answer)
