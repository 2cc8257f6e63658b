"""Tests of eval/driving.py: does an evaluation judge what the pipeline answers?"""

from collections.abc import Iterator
from typing import Any

import pytest

from eval.dataset import Dataset, Query
from eval.driving import evaluate_pipeline
from eval.errors import InvalidMeasure
from eval.measures import parse_measures
from server.errors import Invalid
from server.pipeline import Pipeline
from server.schemas import Channel, Fusion
from tests.worlds import build, opened, principal, record

RECORDS = [
    record("LONG", "The latch of the door.\n\n" + "Sentences about the latch. " * 60, title="Latch"),
    record("LIMIT", "Uploads end at forty megabytes.", title="Limit"),
    record("BLUE", "Uploads of blue end at nine megabytes.", tenant="blue", title="Limit"),
]
JUDGED = {"q1": {"LIMIT": 1}, "q2": {"LONG": 1}, "q3": {"LIMIT": 1}}


def dataset(**texts: str) -> Dataset:
    queries = {"q1": "uploads megabytes", "q2": "latch door", "q3": "unheard", **texts}
    return Dataset(
        queries=tuple(Query(query_id=name, text=text, excluded=frozenset()) for name, text in queries.items()),
        judgements=JUDGED,
        unjudged=0,
    )


@pytest.fixture(scope="module", name="pipeline")
def fixture_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    directory = tmp_path_factory.mktemp("driving") / "catalog"
    build(directory, RECORDS)
    with opened(directory) as pipeline:
        yield pipeline


def report(pipeline: Pipeline, judged: Dataset, **changed: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "principal": principal(None),
        "measures": parse_measures("RR R@2"),
        "channels": (Channel.LEXICAL, Channel.HYBRID),
        "rerank": False,
        "fusion": Fusion(),
        "max_k": 200,
        "progress": lambda *_: None,
    }
    return evaluate_pipeline(pipeline, judged, **{**arguments, **changed})


def test_a_source_stands_where_its_best_unit_does_and_a_query_without_hits_counts_as_0(pipeline: Pipeline) -> None:
    """LONG has several units; two of three queries find their source first, the third finds nothing."""
    found = report(pipeline, dataset())

    assert found["channels"]["lexical"] == {"RR": pytest.approx(2 / 3), "R@2": pytest.approx(2 / 3)}
    assert found["queries_without_hits"]["lexical"] == 1


def test_what_the_principal_may_not_use_is_in_no_ranking(pipeline: Pipeline) -> None:
    """Blue's limit would share the query's words with the public one."""
    judged = dataset(q1="uploads of blue")

    assert report(pipeline, judged)["channels"]["lexical"]["RR"] == pytest.approx(2 / 3)
    assert report(pipeline, judged, principal=principal("blue"))["channels"]["lexical"]["RR"] == pytest.approx(1.5 / 3)


def test_the_report_names_everything_that_the_figures_depend_on(pipeline: Pipeline) -> None:
    found = report(pipeline, dataset(), fusion=Fusion(depth=50))

    recipe = pipeline.catalog.recipe
    overview = pipeline.overview(principal(None), purpose=None)
    fusion = {"method": "minmax", "dense_weight": "1/2", "depth": 50}
    assert (found["recipe"], found["catalog_version"]) == (recipe.digest, overview["catalog_version"])
    assert found["formula"] == {"bm25": "lucene", "k1": "1.2", "b": "0.75", "fusion": fusion}
    assert (found["k"], found["queries"], found["rerank"], found["device"]) == (50, 3, False, "cpu")
    assert found["degraded"] == {"lexical": [], "hybrid": []}


def test_what_an_answer_lacked_is_said_once(pipeline: Pipeline) -> None:
    """This world has no reranker."""
    found = report(pipeline, dataset(), rerank=True)

    assert found["degraded"]["hybrid"] == ["rerank: unavailable"]


def test_progress_counts_every_search(pipeline: Pipeline) -> None:
    seen: list[tuple[str, int, int]] = []

    report(pipeline, dataset(), progress=lambda *now: seen.append(now))

    assert seen == [("search queries", done, 6) for done in range(1, 7)]


def test_a_measure_that_looks_deeper_than_a_search_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(InvalidMeasure, match="looks at 201 sources, but a search gives at most 200 units"):
        report(pipeline, dataset(), measures=parse_measures("R@201"))


def test_a_query_that_the_pipeline_does_not_take_ends_the_evaluation(pipeline: Pipeline) -> None:
    with pytest.raises(Invalid, match=r"\$\.query: has 9000 bytes"):
        report(pipeline, dataset(q2="x" * 9000))
