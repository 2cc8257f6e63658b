"""Are the measures those of the papers, averaged over every judged query?"""

import math
import random
from collections.abc import Mapping, Sequence

import pytest

from eval.errors import InvalidMeasure
from eval.measures import deepest_cutoff, mean_values, parse_measures


def value(measure: str, judged: Mapping[str, int], ranking: Sequence[str]) -> float:
    return mean_values(parse_measures(measure), {"q": judged}, {"q": ranking})[measure]


def ndcg(judged: Mapping[str, int], ranking: Sequence[str], cutoff: int) -> float:
    """Järvelin & Kekäläinen, TOIS 2002, with linear gain and log2(rank + 1), written down independently."""

    def gain(grades: Sequence[int]) -> float:
        return sum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades[:cutoff], start=1))

    ideal = gain(sorted(judged.values(), reverse=True))
    return gain([judged.get(source_id, 0) for source_id in ranking]) / ideal if ideal else 0.0


def test_values_worked_out_by_hand() -> None:
    judged = {"a": 1, "b": 1, "c": 0}

    assert value("RR", judged, ["x", "a"]) == 1 / 2
    assert value("P@5", judged, ["a", "x", "b"]) == 2 / 5
    assert value("R@1", judged, ["a", "b"]) == 1 / 2
    assert value("AP", judged, ["a", "x", "b"]) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert value("Success@1", judged, ["c", "a"]) == 0
    assert value("nDCG@10", {"a": 2, "b": 1}, ["b", "a"]) == pytest.approx(
        (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    )


def test_ndcg_agrees_with_its_definition_on_random_rankings() -> None:
    chance = random.Random(2)
    for _ in range(200):
        sources = [f"s{number}" for number in range(20)]
        judged = {source_id: chance.choice([0, 0, 1, 2]) for source_id in chance.sample(sources, 8)}
        ranking = chance.sample(sources, chance.randint(0, 20))

        assert value("nDCG@10", judged, ranking) == pytest.approx(ndcg(judged, ranking, 10))


def test_a_judged_query_without_hits_counts_as_zero() -> None:
    judgements = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}

    for rankings in ({"q1": ["a"]}, {"q1": ["a"], "q2": [], "q3": []}, {"q1": ["a"], "unjudged": ["a"]}):
        assert mean_values(parse_measures("nDCG@10 R@100 RR@10"), judgements, rankings) == {
            "nDCG@10": pytest.approx(1 / 3),
            "R@100": pytest.approx(1 / 3),
            "RR@10": pytest.approx(1 / 3),
        }


def test_the_order_given_is_the_order_judged_in_long_rankings_too() -> None:
    """trec_eval would break ties by its own rule, and holds scores in single precision."""
    ranking = [f"s{number:05}" for number in range(10_000)]

    assert value("RR", {"s09999": 1}, ranking) == 1 / 10_000
    assert value("RR", {"s00000": 1}, ranking) == 1


def test_measures_are_named_once_in_order() -> None:
    assert [str(measure) for measure in parse_measures(" R@100  nDCG@10 R@100 AP ")] == ["R@100", "nDCG@10", "AP"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nDCG@0",
        "nDCG@-1",
        "nDCG@1.5",
        "nDCG@99999",
        "nDCG@",
        "R",
        "P",
        "Success",
        "ERR@10",
        "ndcg@10",
        "nDCG(x=1)@5",
    ],
)
def test_other_measures_are_refused(text: str) -> None:
    """A cutoff of 0 would end the process, and ERR would call another program."""
    with pytest.raises(InvalidMeasure):
        parse_measures(text)


def test_an_unknown_measure_is_shown_on_one_short_line() -> None:
    with pytest.raises(InvalidMeasure, match=r"^unknown measure ") as caught:
        parse_measures("x\x1b" * 1000)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_the_deepest_cutoff_says_how_many_sources_are_looked_at() -> None:
    assert deepest_cutoff(parse_measures("nDCG@10 R@100")) == 100
    assert deepest_cutoff(parse_measures("nDCG@10 AP")) is None
