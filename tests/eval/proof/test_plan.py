"""Tests of the views that a proof takes, of the questions it draws, and of what it names."""

from pathlib import Path
from typing import Any

import pytest

from eval.proof.plan import Part, plan
from eval.proof.report import Holding
from eval.proof.requests import Question
from eval.proof.visible_part import View
from evidence.access import Principal
from evidence.identity import Namespace, RevisionKey
from index.catalog import Catalog
from tests.eval.proof.proof_world import ANN, BLUE, LATER, PUBLISHED, WAITING, make


@pytest.fixture(scope="module", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To read."""
    return make(tmp_path_factory.mktemp("plan") / "catalog")


def planned(directory: Path, who: Principal = ANN, **more: Any) -> list[Part]:
    with Catalog.open(directory) as catalog, catalog.read() as reading:
        return plan(reading, who, **{"questions": None, "limit": None, **more})


def test_each_view_that_shows_something_else_is_taken_and_counted(made: Path) -> None:
    """By hand. To Ann: P-1, B-1, B-2, B-6, B-7, B-20, B-30 and B-40; the purpose repair adds B-4, drafts add B-5. The
    purpose audit was revoked, so that it shows what no purpose does, and so was the role that B-9 asks for."""
    found = [part.viewed for part in planned(made, limit=12)]

    assert [(one.view, one.visible, one.queries) for one in found] == [
        (View(purpose=None, drafts=False), Holding(sources=8, units=9), 3),
        (View(purpose="repair", drafts=False), Holding(sources=9, units=10), 3),
        (View(purpose=None, drafts=True), Holding(sources=9, units=10), 3),
        (View(purpose="repair", drafts=True), Holding(sources=10, units=11), 3),
    ]
    assert [part.viewed.view.purpose for part in planned(made, limit=2)] == [None, "repair"]
    assert sum(part.viewed.queries for part in planned(made, limit=10)) == 10


def test_questions_of_one_view_are_asked_of_one_catalog_and_a_limit_keeps_the_first(made: Path) -> None:
    asked = [
        Question(body={"query": "latch", "purpose": "repair"}),
        Question(body={"query": "pump"}),
        Question(body={"query": "drum", "purpose": "repair"}),
    ]

    assert [(part.viewed.view.purpose, part.questions) for part in planned(made, questions=asked)] == [
        ("repair", [asked[0], asked[2]]),
        (None, [asked[1]]),
    ]
    assert [part.questions for part in planned(made, questions=asked, limit=1)] == [asked[:1]]


def test_nothing_is_drawn_from_what_is_hidden(made: Path) -> None:
    """Not a word of it: every query is part of a text, or a title, that Ann sees."""
    seen = [
        one
        for one in (*PUBLISHED, *LATER, *WAITING)
        if one["access"].get("tenant") != "red" and one["source_id"] not in ("P-2", "B-3", "B-8", "B-9", "B-21")
    ]

    queries = {question.query for part in planned(made, limit=60) for question in part.questions}
    assert len(queries) > 5
    for query in queries:
        assert any(query in one["text"] or query == one.get("title") for one in seen), query


def test_sources_are_named_that_are_hidden_near_and_far(made: Path) -> None:
    """R7."""
    (part, *_) = planned(made, questions=[Question(body={"query": "latch"})])

    assert part.hidden == [RevisionKey(BLUE, "B-21", "1"), RevisionKey(Namespace("red"), "B-1", "1")]
