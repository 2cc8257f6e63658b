"""Tests of `server/containment.py`: an answer that names what its caller may not use is never sent (R2, R5, R7)."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

import index.compartments
from evidence.access import Label
from evidence.grants import Dimension, Grant, Subject
from evidence.identity import RevisionKey, SourceKey
from index.catalog import Catalog
from server.containment import AnswerKind, Checked, NotContained, named_by_hits, named_by_packet, require_contained
from server.parsing import parse
from server.pipeline import Pipeline
from server.ranking import Stage
from server.schemas import PacketRequest, SearchRequest
from tests.server.kinds_held_back import (
    ANN,
    ASKED,
    BLUE,
    CANARY,
    HELD_BACK,
    KINDS,
    OWN,
    RED,
    admitted,
    build_kinds,
    kept,
    key_of,
)
from tests.worlds import build, opened

SURFACES: dict[str, tuple[AnswerKind, dict[str, Any]]] = {
    "search": (AnswerKind.SEARCH, {"k": 50}),
    "narrow": (AnswerKind.PACKET, {"strategy": "narrow", "k": 50}),
    "auto": (AnswerKind.PACKET, {"strategy": "auto", "k": 50}),
    "broad": (AnswerKind.PACKET, {"strategy": "broad"}),
}


@pytest.fixture(scope="module", name="directory")
def fixture_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read by each test through a pipeline of its own."""
    return build_kinds(tmp_path_factory.mktemp("kinds") / "catalog")


def ask(pipeline: Pipeline, surface: str, told: list[Checked], **more: Any) -> dict[str, Any]:
    """The body of an answer, as JSON has it."""
    answer, fields = SURFACES[surface]
    body = {**ASKED, **fields, **more}
    if answer is AnswerKind.SEARCH:
        found = pipeline.search(parse(body, SearchRequest), ANN, told=told.append)
    else:
        found = pipeline.packet(parse(body, PacketRequest), ANN, told=told.append)
    read: dict[str, Any] = json.loads(json.dumps(found))
    return read


@pytest.mark.parametrize("surface", SURFACES)
def test_an_ordinary_answer_leaves_and_is_told_of(directory: Path, surface: str) -> None:
    told: list[Checked] = []

    with opened(directory) as pipeline:
        answer = ask(pipeline, surface, told)

    assert answer["disposition"] == "accepted"
    assert [(checked.answer, checked.outside) for checked in told] == [(SURFACES[surface][0], 0)]
    assert told[0].named >= 1


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("key", HELD_BACK.values(), ids=HELD_BACK)
def test_an_answer_that_both_gates_let_something_into_is_held_back(
    directory: Path, key: RevisionKey, surface: str
) -> None:
    """R2, R5: whatever makes a revision unusable."""
    told: list[Checked] = []

    with admitted(key), opened(directory) as pipeline, structlog.testing.capture_logs() as lines:
        answer = ask(pipeline, surface, told)

    assert answer["disposition"] == "failed-closed"
    assert CANARY not in json.dumps(answer)
    assert [checked.outside for checked in told if checked.outside] == [1]
    (line,) = [line for line in lines if "held back" in line["event"]]
    assert (line["log_level"], line["answer"]) == ("error", SURFACES[surface][0].value)
    assert (line["named"], line["outside"]) == (told[0].named, 1)
    assert CANARY not in json.dumps(lines)
    assert "blue" not in json.dumps(lines)


def test_nothing_is_left_in_the_answer_that_takes_its_place(directory: Path, tmp_path: Path) -> None:
    """R6: not even a digest of what was seen. It is the answer over a catalog that holds nothing."""
    build(tmp_path / "empty", [])

    with opened(directory) as pipeline, opened(tmp_path / "empty") as empty:
        with admitted(HELD_BACK["another tenant's"]):
            search, packet = ask(pipeline, "search", []), ask(pipeline, "narrow", [])
        nothing = ask(empty, "search", []), ask(empty, "narrow", [])

    assert search["hits"] == []
    assert search["catalog_version"] == nothing[0]["catalog_version"]
    assert (packet["packet"], packet["rendered"], packet["refusal"]) == (None, None, None)
    for name in ("catalog_version", "epoch", "valid", "coverage", "inclusions", "omissions", "conflict_groups"):
        assert packet["manifest"][name] == nothing[1]["manifest"][name]


def test_it_is_given_up_at_once(directory: Path) -> None:
    """What a fault of the server let in, another attempt would let in again."""
    stages: list[Stage] = []

    with admitted(HELD_BACK["another tenant's"]), opened(directory, reached=stages.append) as pipeline:
        ask(pipeline, "narrow", [])

    assert stages.count(Stage.SELECTED) == 1


def test_an_answer_that_was_given_up_otherwise_is_looked_through_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate before ranking alone is broken, and the other one ends each attempt. The answer that says so would name
    a revision that is over, for the role that it filled once, and it is not for this caller."""
    over = {"effective_to": "2025-01-01T00:00:00Z", "claims": [{"key": "tool", "value": "x", "quote": "is reset"}]}
    hidden = kept("hidden", access={"roles": ["surgeon"]}, **over)
    build(tmp_path / "catalog", [OWN, hidden, *KINDS["for another role"]])
    monkeypatch.setattr(index.compartments, "admits", lambda *_: True)
    monkeypatch.setattr(index.compartments, "is_visible", lambda *_, **__: True)
    told: list[Checked] = []

    with opened(tmp_path / "catalog") as pipeline:
        answer = ask(pipeline, "narrow", told, requirements=[{"role": "reset", "match": {"claim": "tool"}}])

    assert answer["disposition"] == "failed-closed"
    assert [checked.outside for checked in told] == [1, 0]
    assert CANARY not in json.dumps(answer)


class Looked:
    """An ordinary answer, and what it was made from."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.catalog = pipeline.catalog
        self.body = ask(pipeline, "narrow", [])
        with pipeline.pinned(parse(ASKED, PacketRequest), ANN) as pinned:
            self._eligible = pinned.eligible

    def outside(self) -> int:
        """How much of what the body names lies outside, in the catalog as it is now."""
        found: list[Checked] = []
        with self.catalog.read() as reading:
            try:
                require_contained(
                    AnswerKind.PACKET,
                    named_by_packet(self.body),
                    begun_with=self._eligible.usable,
                    eligibility=self._eligible.eligibility,
                    reading=reading,
                    told=found.append,
                )
            except NotContained:
                assert found[0].outside
            else:
                assert not found[0].outside
        return found[0].outside


@pytest.fixture(name="looked")
def fixture_looked(directory: Path) -> Iterator[Looked]:
    with opened(directory) as pipeline:
        yield Looked(pipeline)


OVER, ROLE = HELD_BACK["over"], HELD_BACK["for another role"]
Edit = Callable[[dict[str, Any]], object]


def record_of(key: RevisionKey) -> dict[str, str]:
    return {"namespace": key.namespace, "source_id": key.source_id, "revision": key.revision}


def unit_of(key: RevisionKey) -> str:
    return f"{key.namespace}/{key.source_id}@{key.revision}#0"


def omit(reason: str, **named: str) -> Edit:
    return lambda body: body["manifest"]["omissions"]["items"].append({"reason": reason, **named})


def relate(name: str, related: dict[str, str]) -> Edit:
    return lambda body: body["manifest"]["inclusions"][0]["facts"][name].append(related)


EDITS: dict[str, tuple[Edit, int]] = {
    "nothing": (lambda body: None, 0),
    "evidence of another revision": (lambda body: body["packet"]["evidence"][0].update(record_of(ROLE)), 1),
    "evidence that is over": (lambda body: body["packet"]["evidence"][0].update(record_of(OVER)), 1),
    "another unit included": (lambda body: body["manifest"]["inclusions"][0].update(unit_id=unit_of(ROLE)), 1),
    "what is no unit included": (lambda body: body["manifest"]["inclusions"][0].update(unit_id="a word"), 1),
    "a handle of another unit": (lambda body: body["manifest"]["handles"][0].update(unit_id=unit_of(ROLE)), 1),
    "a conflict with another unit": (
        lambda body: body["manifest"]["conflict_groups"].append({"members": [unit_of(ROLE)]}),
        1,
    ),
    "a conflict with what is over": (
        lambda body: body["manifest"]["conflict_groups"].append({"members": [unit_of(OVER)]}),
        1,
    ),
    "a unit that ranked lower": (omit("not-selected", unit_id=unit_of(key_of(OWN))), 0),
    "a unit that ranked lower, over": (omit("not-selected", unit_id=unit_of(OVER)), 1),
    "a duplicate of another unit": (
        omit("omitted-duplicate", unit_id=unit_of(key_of(OWN)), duplicate_of=unit_of(ROLE)),
        1,
    ),
    "stale, and visible": (omit("stale", **record_of(OVER)), 0),
    "stale, and not visible": (omit("stale", **record_of(ROLE)), 1),
    "stale, and never there": (omit("stale", **record_of(RevisionKey(BLUE, "NEVER", "1"))), 1),
    "a relation to a visible source": (relate("contradicts", {"namespace": "blue", "source_id": OVER.source_id}), 0),
    "a relation to another source": (relate("contradicts", {"namespace": "blue", "source_id": ROLE.source_id}), 1),
    "a relation to no source": (relate("contradicts", {"namespace": "blue", "source_id": "NEVER"}), 1),
    "superseded by another revision": (relate("superseded_by", record_of(ROLE)), 1),
    "the request names another": (lambda body: body["manifest"]["request"].update(source=record_of(ROLE)), 0),
}


@pytest.mark.parametrize(("edit", "outside"), EDITS.values(), ids=EDITS)
def test_every_place_of_a_packets_answer_is_looked_at(looked: Looked, edit: Edit, outside: int) -> None:
    """What is handed over must be usable; what is only named, visible (R16); what is asked for, neither (R7)."""
    edit(looked.body)

    assert looked.outside() == outside


@pytest.mark.parametrize(
    "edit",
    [
        lambda hit: hit.update(unit_id=unit_of(ROLE)),
        lambda hit: hit["source"].update(source_id=ROLE.source_id),
        lambda hit: hit["source"].update(revision="9"),
        lambda hit: hit.update(namespace=RED),
    ],
)
def test_a_hit_is_looked_at_by_its_unit_and_by_its_source(directory: Path, edit: Edit) -> None:
    with opened(directory) as pipeline:
        hits = ask(pipeline, "search", [])["hits"]
    before = named_by_hits(hits)
    edit(hits[-1])

    added = named_by_hits(hits).shown - before.shown
    assert len(added) == 1
    assert named_by_hits(hits).handed_over == named_by_hits(hits).ranked == before.shown | added


TAKEN: dict[str, Callable[[Catalog], object]] = {
    "role revoked": lambda catalog: catalog.revoke(Grant(BLUE, "ann", Dimension.ROLE, "technician")),
    "purpose revoked": lambda catalog: catalog.revoke(Grant(BLUE, "ann", Dimension.PURPOSE, "repair")),
    "subject revoked": lambda catalog: catalog.revoke(Subject(BLUE, "ann")),
    "relabelled": lambda catalog: catalog.relabel(SourceKey(BLUE, "OWN"), Label(namespace=BLUE, roles=("surgeon",))),
    "revision revoked": lambda catalog: catalog.revoke(RevisionKey(BLUE, "OWN", "1")),
    "deleted": lambda catalog: catalog.delete(SourceKey(BLUE, "OWN")),
}


@pytest.mark.parametrize("take", TAKEN.values(), ids=TAKEN)
def test_an_answer_is_judged_by_what_is_live_and_not_by_what_it_was_begun_with(
    tmp_path: Path, take: Callable[[Catalog], object]
) -> None:
    """R5."""
    build(tmp_path / "catalog", [OWN])

    with opened(tmp_path / "catalog") as pipeline:
        looked = Looked(pipeline)
        assert looked.outside() == 0
        take(looked.catalog)
        assert looked.outside() == 1


@pytest.mark.parametrize(
    ("named", "outside"),
    [
        ({"conflict_groups": [{"members": [unit_of(key_of(OWN))]}]}, 1),
        ({"omissions": {"items": [{"reason": "not-selected", "unit_id": unit_of(key_of(OWN))}]}}, 0),
    ],
    ids=["in a conflict", "ranked lower"],
)
def test_what_is_revoked_meanwhile_may_have_ranked_lower_and_stand_in_no_conflict(
    tmp_path: Path, named: dict[str, Any], outside: int
) -> None:
    """R5: an answer is of the state in which it was begun; what it hands over must be usable when it leaves."""
    build(tmp_path / "catalog", [OWN])
    nothing = {"inclusions": [], "handles": [], "conflict_groups": [], "omissions": {"items": []}}

    with opened(tmp_path / "catalog") as pipeline:
        looked = Looked(pipeline)
        looked.body = {"packet": None, "manifest": {**looked.body["manifest"], **nothing, **named}}
        looked.catalog.revoke(key_of(OWN))
        assert looked.outside() == outside
