"""Is every conflicting pair that is retrieved packed whole, or the packet refused, at any budget? (R18, R19, R22)

Real questions with documents that answer them differently. Which documents conflict is read from the set's own groups;
which of them a packet holds, from the spans of its passages. Ten budgets a question: tenths of what the complete packet
measures, so that the tenth is its exact size.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from server.pipeline import Pipeline
from tests.evidence_contract.answers import Answer, ask, needs
from tests.ramdocs import Pair, Question, read_ramdocs
from tests.real_data import data_folder
from tests.worlds import build, opened, principal

pytestmark = pytest.mark.real_data

ANYBODY = principal(None)
A_FEW = 32  # every so-manieth of the questions with a conflict is asked in the ordinary suite: 13 of 394


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A pipeline over documents that conflict.

    quotes: source id -> (its text, the quote of its claim). conflicts: question -> its conflicting pairs.
    complete: question -> the answer with nothing limited.
    """

    pipeline: Pipeline
    questions: tuple[Question, ...]
    quotes: Mapping[str, tuple[str, str]]
    conflicts: Mapping[str, frozenset[Pair]]
    complete: Mapping[str, Answer]

    def ask(self, question: Question, **more: Any) -> Answer:
        return ask(self.pipeline, ANYBODY, question.text, **more)

    def claiming(self, answer: Answer) -> set[str]:
        """The documents whose claim the packet holds: by the passage where its quote first occurs."""
        held = set()
        for item in answer["packet"]["evidence"]:
            text, quote = self.quotes.get(item["source_id"], ("", ""))
            start, end = item["span"]
            if quote and start <= text.find(quote) and text.find(quote) + len(quote) <= end:
                held.add(item["source_id"])
        return held

    def halved(self, answer: Answer) -> set[Pair]:
        """The conflicting pairs of which the packet holds one side."""
        held = self.claiming(answer)
        return {pair for pairs in self.conflicts.values() for pair in pairs if len(pair & held) == 1}

    def whole(self, answer: Answer) -> set[Pair]:
        """The conflicting pairs of which the packet holds both sides."""
        held = self.claiming(answer)
        return {pair for pairs in self.conflicts.values() for pair in pairs if pair <= held}


@pytest.fixture(scope="module", name="world", params=["a few", pytest.param("all", marks=pytest.mark.soak)])
def fixture_world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A few of the questions over their own documents, or all of them over the whole set."""
    ramdocs = read_ramdocs(data_folder() / "ramdocs")
    questions = ramdocs.questions
    records = list(ramdocs.records)
    if request.param == "a few":
        questions = tuple(one for one in questions if ramdocs.conflicts[one.query_id])[::A_FEW]
        taken = {source_id for question in questions for source_id in question.source_ids}
        records = [one for one in records if one["source_id"] in taken]
    directory = tmp_path_factory.mktemp("ramdocs") / "catalog"
    build(directory, [dict(one) for one in records])
    with opened(directory) as pipeline:
        yield World(
            pipeline=pipeline,
            questions=questions,
            quotes={one["source_id"]: (one["text"], one["claims"][0]["quote"]) for one in records if one["claims"]},
            conflicts=ramdocs.conflicts,
            complete={question.query_id: ask(pipeline, ANYBODY, question.text) for question in questions},
        )


def tenths(answer: Answer) -> list[int]:
    """Ten budgets in bytes; the last is what the packet measures."""
    return [answer["rendered"]["bytes"] * tenth // 10 for tenth in range(1, 11)]


def test_every_side_of_a_retrieved_conflict_is_brought_in_whatever_its_rank(world: World) -> None:
    """R18: groups are transitive, so that one document of a question brings in all that answer it, once two differ."""
    for question in world.questions:
        complete = world.complete[question.query_id]
        sides = frozenset[str]().union(*world.conflicts[question.query_id])
        assert world.halved(complete) == set()
        assert sides <= world.claiming(complete) or not sides & world.claiming(complete)


def test_a_packet_with_a_conflict_says_so_and_groups_its_sides(world: World) -> None:
    """R18, R28."""
    for question in world.questions:
        complete = world.complete[question.query_id]
        sides = frozenset[str]().union(*world.whole(complete))
        listed = {group["id"]: group["handles"] for group in complete["packet"]["conflict_groups"]}
        grouped: dict[str, list[str]] = {}
        for item in complete["packet"]["evidence"]:
            if item["conflict_group"] is not None:
                assert item["source_id"] in sides
                grouped.setdefault(item["conflict_group"], []).append(item["handle"])
        assert grouped == listed
        assert sum(map(len, listed.values())) == len(sides)
        assert complete["state"] == ("conflicting" if sides else "unassessed")


def test_refusing_hands_over_the_whole_selection_or_nothing_at_ten_budgets(world: World) -> None:
    """R22."""
    for question in world.questions:
        complete = world.complete[question.query_id]
        size = complete["rendered"]["bytes"]
        for limit in tenths(complete):
            answer = world.ask(question, budget={"max_bytes": limit})
            if limit == size:
                assert answer["packet"] == complete["packet"]
            else:
                assert (answer["disposition"], answer["packet"]) == ("refused-budget", None)
                assert (answer["refusal"]["needed"], answer["refusal"]["over"]) == (size, size - limit)


def test_leaving_out_halves_no_conflict_at_ten_budgets(world: World) -> None:
    """R19: all of a group or none of it, and one left out whole still makes the state `conflicting`."""
    left_out = 0
    for question in world.questions:
        complete = world.complete[question.query_id]
        for limit in tenths(complete):
            answer = world.ask(question, budget={"max_bytes": limit}, on_overflow="omit-optional")
            if answer["disposition"] == "refused-budget":
                assert limit < answer["refusal"]["mandatory_floor"]
                continue
            assert len(answer["rendered"]["body"].encode()) <= limit
            assert world.halved(answer) == set()
            assert answer["state"] == "conflicting" or not world.whole(complete)
            missing = world.whole(complete) - world.whole(answer)
            left_out += bool(missing)
            groups = [group for group in answer["packet"]["conflict_groups"] if group.get("left_out")]
            assert bool(groups) == bool(missing)
            assert all(group["handles"] == [] for group in groups)
            assert answer["packet"]["cut"] == (answer["packet"]["evidence"] != complete["packet"]["evidence"])
    conflicting = sum(1 for complete in world.complete.values() if world.whole(complete))
    assert left_out >= conflicting > 0  # of ten budgets the smallest leave a group out


def test_a_conflict_that_touches_a_mandatory_role_is_whole_or_the_packet_is_refused_at_ten_budgets(
    world: World,
) -> None:
    """R19: touching a mandatory role makes the group mandatory."""
    ends = {"whole": 0, "cut": 0, "refused": 0}
    for question in world.questions:
        request = {"requirements": [needs("answer", question.query_id)], "on_overflow": "omit-optional"}
        complete = world.ask(question, **request)
        own = world.conflicts[question.query_id]
        retrieved = world.whole(complete) & own
        if not retrieved:
            continue
        for limit in tenths(complete):
            answer = world.ask(question, **request, budget={"max_bytes": limit})
            if answer["disposition"] == "refused-budget":
                ends["refused"] += 1
                assert limit < answer["refusal"]["mandatory_floor"]
                continue
            ends["cut" if answer["packet"]["cut"] else "whole"] += 1
            assert world.whole(answer) & own == retrieved
            assert world.halved(answer) == set()
            assert answer["state"] == "conflicting"
    assert min(ends.values()) > 0, ends


def test_a_halved_conflict_would_be_noticed(world: World) -> None:
    """The check has teeth: without any one passage that a conflict rests on, the packet is found halved."""
    noticed = 0
    for question in world.questions:
        complete = world.complete[question.query_id]
        evidence = complete["packet"]["evidence"]
        for item in evidence:
            if any(item["source_id"] in pair for pair in world.whole(complete)) and item["conflict_group"]:
                rest = [other for other in evidence if other is not item]
                noticed += 1
                assert world.halved({"packet": {"evidence": rest}}) != set()
    assert noticed > len(world.questions)
