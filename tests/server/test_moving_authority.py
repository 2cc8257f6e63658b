"""What happens to an answer when labels, grants or revisions change while it is made (R5)."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Label
from evidence.grants import Dimension, Grant, Subject
from evidence.identity import Namespace, RevisionKey, SourceKey
from index.catalog import Catalog
from server.attempts import ATTEMPTS
from server.errors import Unauthenticated
from server.parsing import parse
from server.pipeline import Pipeline
from server.ranking import Stage
from server.schemas import PacketRequest, SearchRequest
from tests.worlds import build, extend, pipeline_over, principal, record, without_run

SECRET = "Technicians reset the seal with tool nine"
BLUE = Namespace("blue")
PROTECTED = SourceKey(BLUE, "SB-A-7")
QUERY = "how do technicians reset the seal"
ASKER = principal("blue", roles=("technician",), purposes=("repair",))
REQUEST = {
    "query": QUERY,
    "purpose": "repair",
    "requirements": [{"role": "reset", "match": {"claim": "seal.tool"}}],
}
RECORDS = [
    record(
        "SB-A-7",
        f"{SECRET} and record the pressure afterwards.",
        tenant="blue",
        access={"roles": ["technician"], "purposes": ["repair"]},
        claims=[{"key": "seal.tool", "value": "nine", "quote": "tool nine"}],
    ),
    record("SB-B-1", "The seal is checked once a year by technicians.", tenant="blue"),
]
Move = Callable[[Catalog], object]
RANKING = (Stage.ENCODED, Stage.RANKED, Stage.RERANKED)  # broad reads no query and ranks nothing


def relabel_to(*purposes: str) -> Move:
    label = Label(namespace=BLUE, roles=("technician",), purposes=purposes)
    return lambda catalog: catalog.relabel(PROTECTED, label)


def revoke_role(catalog: Catalog) -> object:
    return catalog.revoke(Grant(BLUE, "ann", Dimension.ROLE, "technician"))


def revoke_revision(catalog: Catalog) -> object:
    return catalog.revoke(RevisionKey(BLUE, "SB-A-7", "1"))


def delete(catalog: Catalog) -> object:
    return catalog.delete(PROTECTED)


MOVES: dict[str, Move] = {
    "relabelled to another purpose": relabel_to("audit"),
    "role of the caller revoked": revoke_role,
    "revision revoked": revoke_revision,
    "source deleted": delete,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalog, built once; each test moves a copy."""
    directory = tmp_path_factory.mktemp("built") / "catalog"
    build(directory, RECORDS)
    return directory


@pytest.fixture
def directory(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "catalog")


@contextmanager
def world(directory: Path, reached: Callable[[Stage, Catalog], None]) -> Iterator[Pipeline]:
    """A pipeline whose stages tell `reached`, which gets a catalog of its own, as another process has one."""
    with Catalog.open(directory) as catalog, Catalog.open(directory) as elsewhere:
        yield pipeline_over(catalog, reached=lambda stage: reached(stage, elsewhere))


def once(at: Stage, move: Move) -> Callable[[Stage, Catalog], None]:
    """Makes the move at the first time that the armed stage is reached."""
    armed = [True]

    def reached(stage: Stage, catalog: Catalog) -> None:
        if stage is at and armed[0]:
            armed[0] = False
            move(catalog)

    return reached


def packet(pipeline: Pipeline, **more: Any) -> dict[str, Any]:
    answer = pipeline.packet(parse({**REQUEST, **more}, PacketRequest), ASKER)
    return json.loads(json.dumps(answer))  # type: ignore[no-any-return]  # an HTTP body is an object


def sources_in(answer: dict[str, Any]) -> set[str]:
    return {item["source_id"] for item in answer["packet"]["evidence"]}


def test_a_valid_packet_is_supported_by_the_protected_unit(directory: Path) -> None:
    with world(directory, lambda *_: None) as pipeline:
        answer = packet(pipeline)

    assert answer["state"] == "supported"
    assert sources_in(answer) == {"SB-A-7", "SB-B-1"}


def cases() -> Iterator[Any]:
    """Every move at every stage of a narrow packet; one move at every stage that the other strategies have.

    The document is the protected one itself.
    """
    for stage in Stage:
        for name, move in MOVES.items():
            yield pytest.param(stage, move, "narrow", id=f"narrow, {stage.value}: {name}")
        for strategy in ("auto",) if stage in RANKING else ("auto", "broad", "document"):
            yield pytest.param(stage, revoke_role, strategy, id=f"{strategy}, {stage.value}")


@pytest.mark.parametrize(("stage", "move", "strategy"), list(cases()))
def test_what_was_taken_away_at_any_stage_is_not_in_the_answer(
    directory: Path, stage: Stage, move: Move, strategy: str
) -> None:
    """R5, with every cache warm: the same request was answered before."""
    asked = {"strategy": strategy, "rerank": True, **({"source_id": "SB-A-7"} if strategy == "document" else {})}
    ready = [False]
    moving = once(stage, move)

    def reached(at: Stage, catalog: Catalog) -> None:
        if ready[0]:
            moving(at, catalog)

    with world(directory, reached) as pipeline:
        before = packet(pipeline, **asked)
        ready[0] = True
        during = packet(pipeline, **asked)
        after = packet(pipeline, **asked)

    assert before["state"] == "supported"
    assert during["disposition"] == "accepted"
    assert during["state"] != "supported"
    assert sources_in(during) == (set() if strategy == "document" else {"SB-B-1"})
    assert SECRET not in json.dumps(during)
    assert without_run(during) == without_run(after)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("stage", [Stage.PINNED, Stage.ENCODED, Stage.RANKED, Stage.SELECTED])
def test_what_was_taken_away_during_a_search_is_no_hit(directory: Path, stage: Stage, move: Move) -> None:
    """R5."""
    with world(directory, once(stage, move)) as pipeline:
        answer = pipeline.search(parse({"query": QUERY, "purpose": "repair"}, SearchRequest), ASKER)

    assert answer["disposition"] == "accepted"
    assert SECRET not in json.dumps(answer)


@pytest.mark.parametrize("stage", [Stage.SELECTED, Stage.GATED, Stage.ASSEMBLED, Stage.WRITTEN])
def test_an_authority_that_moves_under_every_attempt_fails_closed_with_no_evidence(
    directory: Path, stage: Stage
) -> None:
    """R5: three attempts, then `failed-closed`."""
    moved: list[int] = []

    def reached(at: Stage, catalog: Catalog) -> None:
        if at is stage:
            moved.append(1)
            relabel_to("audit" if len(moved) % 2 else "repair")(catalog)
            relabel_to("repair", f"made-up-{len(moved)}")(catalog)

    with world(directory, reached) as pipeline:
        answer = packet(pipeline)

    assert len(moved) == ATTEMPTS
    assert (answer["disposition"], answer["behaviour"]) == ("failed-closed", "fail-closed")
    assert (answer["packet"], answer["rendered"], answer["refusal"]) == (None, None, None)
    assert answer["manifest"]["inclusions"] == []
    assert SECRET not in json.dumps(answer)


def test_a_search_fails_closed_with_no_hits(directory: Path) -> None:
    moved: list[int] = []

    def reached(at: Stage, catalog: Catalog) -> None:
        if at is Stage.SELECTED:
            moved.append(1)
            relabel_to("repair", f"made-up-{len(moved)}")(catalog)

    with world(directory, reached) as pipeline:
        answer = pipeline.search(parse({"query": QUERY, "purpose": "repair"}, SearchRequest), ASKER)

    assert answer["disposition"] == "failed-closed"
    assert answer["hits"] == []


def test_a_document_that_arrives_meanwhile_makes_nothing_run_again(directory: Path) -> None:
    """Only what was taken away, or lies under another label, moves an epoch."""
    stages: list[Stage] = []

    def reached(at: Stage, catalog: Catalog) -> None:
        stages.append(at)
        if at is Stage.SELECTED:
            extend(catalog, [record("SB-C-1", "Another seal text for technicians.", tenant="blue")])

    with world(directory, reached) as pipeline:
        answer = packet(pipeline)

    assert answer["state"] == "supported"
    assert stages.count(Stage.SELECTED) == 1


def test_a_subject_revoked_while_the_answer_is_made_gets_none(directory: Path) -> None:
    move = once(Stage.ASSEMBLED, lambda catalog: catalog.revoke(Subject(BLUE, "ann")))

    with world(directory, move) as pipeline, pytest.raises(Unauthenticated):
        packet(pipeline)
