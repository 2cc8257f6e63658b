"""Tests of `eval/bench/http.py`: both sides answer alike, over a socket too, before anything is timed.

Of speed nothing is asserted: a benchmark is never a timed test.
"""

from typing import Any

import pytest

from eval.bench import http
from eval.bench.errors import AnswersDiffer
from eval.bench.rounds import Effort


def test_each_way_of_asking_is_compared_with_the_peer() -> None:
    in_process, over_a_socket = http.run(Effort.QUICK)

    assert [one.work for one in (in_process, over_a_socket)] == [
        "answer a search in process",
        "answer a search over a socket",
    ]
    assert in_process.goal is not None
    assert (in_process.goal.name, over_a_socket.goal) == ("C6", None)
    for one in (in_process, over_a_socket):
        assert 900 < one.sizes["request_bytes"] < 1100
        assert one.sizes["hits"] == 10
        assert len(one.ours) == len(one.theirs) >= 5


def test_the_peer_describes_the_same_schemas() -> None:
    schemas = http.peer().openapi()["components"]["schemas"]

    assert set(schemas["SearchRequest"]["properties"]) >= {"query", "k", "channel", "filter", "fusion"}
    assert set(schemas["SearchAnswer"]["properties"]) == set(http.ANSWER)


def test_answers_that_differ_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def another(self: http.StubEngine, *_: Any, told: Any = None) -> Any:
        return {**http.ANSWER, "recipe": "sha256:another"}

    monkeypatch.setattr(http.StubEngine, "search", another)

    with pytest.raises(AnswersDiffer, match="in process"):
        http.run(Effort.QUICK)
