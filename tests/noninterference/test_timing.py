"""What does time tell? It is printed; only the instrument itself is tested."""

import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any
from unittest import mock

import pytest

from eval.distinguishing import T_LIMIT
from evidence.grants import Dimension, Grant, Subject
from evidence.identity import Namespace
from server.parsing import parse
from server.queries import QueryReader
from server.schemas import PacketRequest, SearchRequest
from tests.noninterference.bench import Bench
from tests.noninterference.timing import ANN, Kind, Scenario, Verdict, examine, scenarios, world_with
from tests.noninterference.timing_table import table
from tests.noninterference.world import Revocation, World
from tests.worlds import WordEncoder, record

QUERY = "upload limit of a zebra video"
OWN = [
    record(
        f"o{number}",
        f"upload limit of a {word}",
        tenant="blue",
        claims=[{"key": "limit", "value": word, "quote": "limit"}],
    )
    for number, word in enumerate(("video", "latch", "pump", "drum"))
]


def beside(*others: dict[str, Any], revocations: Sequence[Revocation] = ()) -> World:
    return World(records=(*OWN, *others), revocations=tuple(revocations))


def foreign(count: int, text: str = "upload limit quartz", *, name: str = "f", **more: Any) -> list[dict[str, Any]]:
    return [record(f"{name}{number}", text, tenant="red", **more) for number in range(count)]


PLAIN = beside(*foreign(3))
OTHER = {
    "a word of the query": beside(*foreign(3, "upload limit zebra")),
    "the query itself": beside(*foreign(3, QUERY)),
    "many documents": beside(*foreign(150)),
    "the same ids": beside(*foreign(3, name="o")),
    "claims": beside(*foreign(3, claims=[{"key": "limit", "value": "9", "quote": "limit"}])),
    "a superseder": beside(*foreign(3, supersedes=[{"source_id": "o1", "revision": "1"}])),
    "for a role": beside(*[{**one, "access": {"tenant": "blue", "roles": ["x"]}} for one in foreign(3)]),
    "revocations of a namesake": beside(
        *foreign(3), revocations=[Subject(Namespace("red"), "ann"), Grant(Namespace("red"), "ann", Dimension.ROLE, "x")]
    ),
}
"""Worlds that differ from PLAIN in what Ann may not see. All have as many terms."""
ASKED: list[dict[str, Any]] = [
    *({"query": QUERY, "k": 3, "channel": channel} for channel in ("lexical", "dense", "hybrid")),
    {"query": QUERY, "k": 3, "requirements": [{"role": "a", "match": {"claim": "limit"}}]},
    {"query": QUERY, "strategy": "auto", "requirements": [{"role": "b", "match": {"source_id": "f1"}}]},
    {"query": QUERY, "strategy": "broad"},
    {"query": QUERY, "strategy": "document", "source_id": "f1"},
]
N = int(os.environ.get("MUNIMENT_TIMING_N", "3000"))
SMALL = world_with(["upload limit"])
ALIKE = Scenario(name="alike", what="", worlds=(SMALL, SMALL), asked=lambda _: ANN.search("upload limit"))


@pytest.mark.soak
def test_what_time_tells_is_printed_and_a_shared_cache_of_codes_would_be_seen(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = {scenario.name: examine(bench, scenario, n=N) for scenario in scenarios()}

    with capsys.disabled():
        print("\n" + table(list(findings.values())))
    assert findings["control: fault 17 on"].told[Kind.PROCESSOR].t < -T_LIMIT
    assert abs(findings["query asked before"].told[Kind.PROCESSOR].t) < T_LIMIT


def test_a_request_does_as_much_whatever_lies_beside_what_its_caller_sees(bench: Bench) -> None:
    """Counted, since a count does not tremble: what runs compiled is left to the clock."""
    expected = calls_of(bench, PLAIN)

    for name, other in OTHER.items():
        for body, one, another in zip(ASKED, expected, calls_of(bench, other), strict=True):
            assert (one - another, another - one) == (Counter(), Counter()), (name, body)


def calls_of(bench: Bench, world: World) -> list[Counter[str]]:
    """For each request, how often each function is called by it, once it was asked before."""
    with bench.application(world, encoder=WordEncoder()) as application:
        pipeline = application.pipeline
        works = [
            partial(pipeline.search, parse(body, SearchRequest), ANN.who)
            if "channel" in body
            else partial(pipeline.packet, parse(body, PacketRequest), ANN.who)
            for body in ASKED
        ]
        return [_counted(work) for work in (*works, *works)][len(works) :]


def _counted(work: Callable[[], object]) -> Counter[str]:
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1
        elif event == "c_call":
            calls[called.__name__] += 1

    gc.disable()  # what it lets go of is counted where it happens
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


def test_every_measurement_is_kept_and_told(bench: Bench) -> None:
    finding = examine(bench, ALIKE, n=16, rounds=2)

    assert finding.n == 16
    assert finding.told.keys() == set(Kind)
    assert all(min(told.medians) > 0 for told in finding.told.values())
    assert "| alike | whole | 16 |" in table([finding])


def test_a_search_that_takes_longer_after_something_foreign_is_told_apart(bench: Bench) -> None:
    asked_before: set[tuple[QueryReader, str]] = set()
    read = QueryReader.read

    def slow_once(self: QueryReader, text: str, *more: Any, **named: Any) -> Any:
        if (self, text) not in asked_before:
            asked_before.add((self, text))
            done = time.thread_time() + 0.02
            while time.thread_time() < done:
                pass
        return read(self, text, *more, **named)

    asked_by_others = next(scenario for scenario in scenarios() if scenario.name == "query asked before")
    with mock.patch.object(QueryReader, "read", slow_once):
        finding = examine(bench, replace(asked_by_others, worlds=(SMALL, SMALL)), n=24, rounds=1)

    assert finding.told[Kind.PROCESSOR].verdict is Verdict.APART
    assert finding.told[Kind.PROCESSOR].t < -T_LIMIT
