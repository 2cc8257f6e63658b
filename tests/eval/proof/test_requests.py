"""Tests of what a proof asks for one question."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from eval.proof.requests import Asked, Question, of_hidden, of_question, of_view
from eval.proof.visible_part import View
from evidence.identity import PUBLIC, Namespace, RevisionKey
from server.parsing import parse
from server.schemas import PacketRequest, SearchRequest

HIDDEN = RevisionKey(Namespace("blue"), "S-9", "2")


def bodies(asked: Iterable[Asked]) -> list[tuple[str, dict[str, Any]]]:
    return [(one.target, json.loads(one.body)) for one in asked]


def test_a_query_is_asked_over_each_channel_and_as_narrow_and_auto_packets() -> None:
    found = bodies(of_question(Question(body={"query": "latch"})))

    assert found == [
        ("/v1/search", {"k": 10, "query": "latch", "channel": "hybrid"}),
        ("/v1/search", {"k": 10, "query": "latch", "channel": "lexical"}),
        ("/v1/search", {"k": 10, "query": "latch", "channel": "dense"}),
        ("/v1/packets", {"query": "latch", "strategy": "narrow"}),
        ("/v1/packets", {"query": "latch", "strategy": "auto"}),
    ]


def test_searches_take_the_fields_that_they_share_and_packets_take_all() -> None:
    body = {"query": "latch", "subject": "k2", "k": None, "budget": {"max_bytes": 10}, "fusion": {"depth": 3}}

    searches, packets = bodies(of_question(Question(body=body)))[:3], bodies(of_question(Question(body=body)))[3:]
    assert {json.dumps({**asked, "channel": ""}) for _, asked in searches} == {
        json.dumps({"k": 3, "query": "latch", "subject": "k2", "fusion": {"depth": 3}, "channel": ""})
    }
    assert [asked for _, asked in packets] == [{**body, "strategy": name} for name in ("narrow", "auto")]


def test_a_strategy_that_the_question_names_is_the_only_one() -> None:
    body = {"query": "latch", "strategy": "document", "source_id": "S-1"}

    assert [asked for target, asked in bodies(of_question(Question(body=body))) if target == "/v1/packets"] == [body]


@pytest.mark.parametrize(
    ("body", "view"),
    [
        ({"query": "q"}, View(purpose=None, drafts=False)),
        ({"query": "q", "purpose": "repair"}, View(purpose="repair", drafts=False)),
        ({"query": "q", "use": "draft", "purpose": None}, View(purpose=None, drafts=True)),
        ({"query": "q", "use": "historical"}, View(purpose=None, drafts=False)),
    ],
)
def test_purpose_and_use_say_from_which_view_is_asked(body: dict[str, object], view: View) -> None:
    assert Question(body=body).view == view


def test_once_for_a_view_comes_what_costs_more_with_the_view_and_nothing_else_of_the_question() -> None:
    body = {"query": "latch", "purpose": "a b&c", "use": "draft", "budget": {"max_bytes": 1}}
    kept = {"query": "latch", "purpose": "a b&c", "use": "draft"}

    overview, *others = of_view(Question(body=body))
    assert (overview.method, overview.target, overview.body) == ("GET", "/v1/catalog?purpose=a%20b%26c", b"")
    assert bodies(others) == [
        ("/v1/search", {"k": 10, **kept, "rerank": True}),
        ("/v1/packets", {**kept, "strategy": "broad"}),
    ]


@pytest.mark.parametrize(("hidden", "public"), [(HIDDEN, False), (HIDDEN._replace(namespace=PUBLIC), True)])
def test_a_hidden_source_is_named_wherever_a_request_can_name_one(hidden: RevisionKey, *, public: bool) -> None:
    """R7."""
    named = {"source_id": "S-9", "public": public}
    unit = f"{hidden.namespace}/S-9@2#0"

    document, by_source, by_unit, filtered = (
        asked for _, asked in bodies(of_hidden(Question(body={"query": "q"}), hidden))
    )
    assert document == {"query": "q", "strategy": "document", **named}
    assert [one["requirements"][0]["match"] for one in (by_source, by_unit)] == [named, {"unit_id": unit}]
    assert filtered["filter"] == {"source_id": ["S-9"]}


def test_every_request_is_one_that_the_server_reads() -> None:
    question = Question(body={"query": "q"})

    for one in (*of_question(question), *of_view(question), *of_hidden(question, HIDDEN)):
        if one.method == "POST":
            schema = SearchRequest if one.target == "/v1/search" else PacketRequest
            parse(json.loads(one.body), schema)


def test_a_report_shows_a_query_in_one_line_and_a_long_one_by_its_beginning() -> None:
    assert Question(body={"query": "latch"}).shown == '"latch"'
    assert Question(body={"query": "x" * 500}).shown == '"' + "x" * 57 + '…"'
    assert Question(body={"query": "Größe\u202e\n"}).shown == '"Größe\\u202e\\n"'
