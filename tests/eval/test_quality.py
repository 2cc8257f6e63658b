"""Is a channel judged by its best unit of each source, over every judged query?"""

from collections.abc import Sequence

import pytest

from eval.dataset import Dataset, Query
from eval.measures import parse_measures
from eval.quality import evaluate, rank_sources
from server.schemas import Channel

MEASURES = parse_measures("RR R@1")


def dataset(*queries: Query) -> Dataset:
    """Each query's relevant source is called after it."""
    return Dataset(
        queries=queries, judgements={query.query_id: {f"{query.query_id}-doc": 1} for query in queries}, unjudged=2
    )


def asked(query_id: str, *excluded: str) -> Query:
    return Query(query_id=query_id, text=f"text of {query_id}", excluded=frozenset(excluded))


def test_a_source_ranks_by_its_best_unit() -> None:
    units = [("many", 5), ("many", 5), ("many", 5), ("best", 1), ("best", 9)]

    assert rank_sources(units) == ["best", "many"]


def test_ties_go_by_source_id_whatever_the_order_of_the_units() -> None:
    assert rank_sources([("b", 1), ("a", 1)]) == rank_sources([("a", 1), ("b", 1)]) == ["a", "b"]


def test_zero_and_negative_scores_are_scores() -> None:
    assert rank_sources([("a", -2), ("b", 0), ("a", -1)]) == ["b", "a"]
    assert rank_sources([]) == []


def test_each_channel_is_asked_for_each_query_and_reported_by_its_name() -> None:
    calls: list[tuple[str, Channel]] = []

    def search(text: str, channel: Channel) -> Sequence[tuple[str, int]]:
        calls.append((text, channel))
        return [("other", 3), ("q1-doc", 2 if channel is Channel.LEXICAL else 4), ("q2-doc", 1)]

    report = evaluate(
        search, dataset(asked("q1"), asked("q2")), measures=MEASURES, channels=[Channel.LEXICAL, Channel.DENSE]
    )
    assert calls == [(f"text of {q}", channel) for channel in (Channel.LEXICAL, Channel.DENSE) for q in ("q1", "q2")]
    assert report.record() == {
        "channels": {
            "lexical": {"RR": pytest.approx((1 / 2 + 1 / 3) / 2), "R@1": 0.0},
            "dense": {"RR": pytest.approx((1 + 1 / 3) / 2), "R@1": 0.5},
        },
        "queries": 2,
        "queries_unjudged": 2,
        "queries_without_hits": {"lexical": 0, "dense": 0},
    }


def test_a_query_without_hits_is_a_row_of_zeros_and_counted() -> None:
    def search(text: str, channel: Channel) -> Sequence[tuple[str, int]]:
        return [("q1-doc", 1)] if text == "text of q1" else []

    report = evaluate(search, dataset(asked("q1"), asked("q2")), measures=MEASURES, channels=[Channel.HYBRID])
    assert report.channels == {"hybrid": {"RR": 0.5, "R@1": 0.5}}
    assert report.without_hits == {"hybrid": 1}


def test_excluded_sources_take_no_rank() -> None:
    report = evaluate(
        lambda text, channel: [("source", 9), ("q1-doc", 1)],
        dataset(asked("q1", "source")),
        measures=MEASURES,
        channels=[Channel.HYBRID],
    )

    assert report.channels == {"hybrid": {"RR": 1.0, "R@1": 1.0}}
