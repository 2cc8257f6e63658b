"""Does a foreign tenant's document change one byte of an answer? (R6)

Two catalogs: one with what Blue may see, one with everything Red has besides. Red's documents repeat Blue's texts and
source ids, hold every query word, are a hundred times longer, or are the query itself, so that their codes equal it.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from evidence.access import Principal
from index.ranges import RowRanges
from index.statistics import gather
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import PacketRequest, SearchRequest
from tests.worlds import build, opened, principal, record, without_run

WORDS = [
    *("upload", "limit", "case", "video", "photo", "file", "technician", "visit", "latch", "hinge", "pump", "filter"),
    *("warranty", "drum", "water", "heat", "door", "seal", "bulletin", "revision", "inspect", "replace", "measure"),
    *("torque", "bolt", "screw", "panel", "board", "sensor", "cable", "motor", "fan", "belt", "noise", "leak"),
]
BLUE = principal("blue", roles=("technician",), purposes=("repair",))
QUERIES = 100


def sentences(chance: random.Random, count: int) -> str:
    return " ".join(" ".join(chance.choices(WORDS, k=9)).capitalize() + "." for _ in range(count))


def queries() -> list[str]:
    chance = random.Random(7)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 6))) for _ in range(QUERIES)]


def visible_records() -> list[dict[str, Any]]:
    chance = random.Random(1)
    records = []
    for number in range(60):
        tenant = None if number % 3 == 0 else "blue"
        access = {"roles": ["technician"]} if number % 5 == 0 else {}
        records.append(
            record(
                f"S-{number}",
                sentences(chance, chance.randint(1, 9)),
                tenant=tenant,
                access=access,
                title=" ".join(chance.choices(WORDS, k=3)),
                family=chance.choice(WORDS[:5]),
                effective_from="2024-01-01T00:00:00Z",
            )
        )
    return records


def foreign_records() -> list[dict[str, Any]]:
    chance = random.Random(2)
    visible = visible_records()
    copies = [{**one, "access": {"tenant": "red"}} for one in visible]
    louder = [record(f"L-{at}", f"{query}. " * 3, tenant="red") for at, query in enumerate(queries())]
    equal = [record(f"Q-{at}", query, tenant="red") for at, query in enumerate(queries())]
    endless = [record("LONG", sentences(chance, 900), tenant="red")]
    restricted = [
        record("R-1", sentences(chance, 3), tenant="blue", access={"roles": ["supervisor"]}),
        record("R-2", sentences(chance, 3), tenant="blue", access={"purposes": ["audit"]}),
        record("S-1", "Newer, and Blue's own, for supervisors alone.", tenant="red", revision="2"),
        record(
            "SUPERSEDER",
            "This one replaces everything.",
            tenant="blue",
            access={"cases": ["secret"]},
            effective_from="2025-01-01T00:00:00Z",
            effective_to="2027-01-01T00:00:00Z",
            supersedes=[{"source_id": one["source_id"], "revision": "1"} for one in visible[1:9]],
        ),
        record("DRAFT", sentences(chance, 3), tenant="blue", status="draft"),
    ]
    return [*copies, *louder, *equal, *endless, *restricted]


@pytest.fixture(scope="module", name="worlds")
def fixture_worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Pipeline, Pipeline]]:
    folder = tmp_path_factory.mktemp("worlds")
    build(folder / "visible", visible_records())
    everything = [*foreign_records(), *visible_records()]
    random.Random(3).shuffle(everything)
    build(folder / "full", everything)
    with opened(folder / "visible") as visible, opened(folder / "full") as full:
        yield visible, full


def answers(pipeline: Pipeline, query: str) -> str:
    """The search and packet bodies of a query, as text."""
    search = parse({"query": query, "k": 20}, SearchRequest)
    narrow = parse(
        {
            "query": query,
            "k": 5,
            "budget": {"max_bytes": 4000, "max_tokens": 900, "tokenizer": "o200k_base"},
            "on_overflow": "omit-optional",
            "requirements": [
                {"role": "own", "match": {"source_id": "S-1"}, "mandatory": False},
                {"role": "family", "match": {"family": "upload"}},
                {"role": "hidden", "match": {"source_id": "R-1"}, "mandatory": False},
            ],
        },
        PacketRequest,
    )
    bodies = [pipeline.search(search, BLUE), pipeline.packet(narrow, BLUE), pipeline.overview(BLUE, purpose=None)]
    return json.dumps([without_run(body) for body in bodies])


def test_adding_documents_the_caller_may_not_see_changes_not_one_byte(worlds: tuple[Pipeline, Pipeline]) -> None:
    visible, full = worlds

    for query in queries():
        assert answers(visible, query) == answers(full, query)


@pytest.mark.parametrize("strategy", ["narrow", "broad"])
def test_whole_packets_are_the_same_for_each_strategy(worlds: tuple[Pipeline, Pipeline], strategy: str) -> None:
    visible, full = worlds
    request = parse({"query": "upload limit", "strategy": strategy}, PacketRequest)

    assert without_run(visible.packet(request, BLUE)) == without_run(full.packet(request, BLUE))


@pytest.mark.parametrize("method", [{"method": "rrf"}, {"dense_weight": 0.3}, {"depth": 7}])
@pytest.mark.parametrize("channel", ["hybrid", "lexical", "dense"])
def test_every_channel_and_fusion_is_the_same(
    worlds: tuple[Pipeline, Pipeline], channel: str, method: dict[str, object]
) -> None:
    visible, full = worlds

    for query in queries()[:20]:
        request = parse({"query": query, "k": 7, "channel": channel, "fusion": method}, SearchRequest)
        assert without_run(visible.search(request, BLUE)) == without_run(full.search(request, BLUE))


VARIATIONS: list[dict[str, object]] = [
    {"purpose": "repair"},
    {"as_of": "2025-06-01T00:00:00Z"},
    {"as_of": "2023-06-01T00:00:00Z"},
    {"use": "historical"},
    {"use": "draft"},
    {"subject": "k2"},
    {"filter": {"family": ["upload", "case"]}},
    {"filter": {"source_id": ["S-1", "R-1", "L-3"]}},
    {"filter": {"owner": []}},
]


@pytest.mark.parametrize(
    ("who", "variation"),
    [
        (who, variation)
        for who in (BLUE, principal("blue", sub="bob"), principal(None))
        for variation in VARIATIONS
        if variation.get("purpose") in (None, *who.purposes)
    ],
    ids=lambda value: value.sub if isinstance(value, Principal) else str(value),
)
def test_every_use_moment_and_filter_is_the_same_for_each_caller(
    worlds: tuple[Pipeline, Pipeline], who: Principal, variation: dict[str, object]
) -> None:
    visible, full = worlds

    for query in queries()[:8]:
        search = parse({"query": query, **variation}, SearchRequest)
        packet = parse({"query": query, **variation}, PacketRequest)
        assert without_run(visible.search(search, who)) == without_run(full.search(search, who))
        assert without_run(visible.packet(packet, who)) == without_run(full.packet(packet, who))


def test_global_statistics_would_be_noticed(worlds: tuple[Pipeline, Pipeline], monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison has teeth: counted over all rows, as in most systems, statistics differ in nearly every answer."""
    visible, full = worlds

    def over_everything(postings: Any, lengths: Any, *, ranges: RowRanges, formula: Any) -> Any:
        everything = RowRanges.from_pairs([(0, len(lengths))])
        counted = gather(postings, lengths, ranges=everything, formula=formula)
        return replace(counted, ranges=ranges)

    monkeypatch.setattr("index.channels.gather", over_everything)
    with opened(visible.catalog.directory) as few, opened(full.catalog.directory) as many:
        differing = sum(answers(few, query) != answers(many, query) for query in queries()[:20])
    assert differing >= 19
