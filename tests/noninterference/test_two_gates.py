"""Does each barrier hold when the others are broken? (R2, R5)

Two gates and the look at the finished answer. For each of them there are tests here that go red when it breaks,
whatever the others do; and those at the end show that without any of them everything leaks that is looked for. A search
passes no gate at assembly. Whose handles stand in a conversation is for the two gates alone: such an answer names
nothing.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from evidence.access import Label
from evidence.grants import Dimension, Grant
from evidence.identity import Namespace, RevisionKey, SourceKey
from index.catalog import Catalog
from server.ranking import Stage
from tests.noninterference import building
from tests.noninterference.application import Application, running
from tests.noninterference.barriers import Barrier, alone, broken, shared_rules_broken
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.generated_requests import handle_of
from tests.noninterference.relations import Relation
from tests.noninterference.suite import SUITE
from tests.noninterference.world import Asked, Viewpoint, World
from tests.worlds import principal, record

CANARY = "zanzibar"  # in the title, the owner and the text of all that is hidden
TURN = "as was said before"
BLUE = Namespace("blue")
ANN = Viewpoint(who=principal("blue", roles=("technician",), purposes=("repair",)), purpose="repair")
LIMIT = {"key": "limit", "value": "10", "quote": "upload limit"}


def hidden(source_id: str, text: str, *, tenant: str = "blue", **more: Any) -> dict[str, Any]:
    said = {"title": f"{CANARY} {source_id}", "owner": CANARY, **more}
    return record(source_id, f"{text} {CANARY}", tenant=tenant, **said)


FOREIGN = hidden("H-1", "upload limit upload limit", tenant="red")
HIDDEN = [
    FOREIGN,
    hidden("H-2", "the upload limit", access={"roles": ["surgeon"]}, claims=[{**LIMIT, "value": "99"}]),
    hidden("H-3", "the upload limit", access={"purposes": ["audit"]}, contradicts=[{"source_id": "S-3"}]),
    hidden("H-4", "upload", access={"regions": ["US"]}, claims=[{"key": "secret", "value": "1", "quote": "upload"}]),
    hidden("S-1", "upload limit", revision="2", status="draft"),
]
SEEN = [
    record("S-1", "upload limit of the pump", tenant="blue", claims=[LIMIT]),
    record("S-2", "upload limit", owner="ops"),
    record("S-3", "a latch", tenant="blue"),
    record("S-4", "a drum", tenant="blue"),
]
WORLD = World(records=(*HIDDEN, *SEEN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A request whose answer would show `needle` if something hidden came into it."""

    asked: Asked
    needle: str = CANARY


def roles(*matches: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": f"r{place}", "match": match, "mandatory": place == 0} for place, match in enumerate(matches)]


def talk(source: dict[str, Any]) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": f"{TURN}, {handle_of(source)}"}]


SEARCHES = {channel: Probe(asked=ANN.search("upload limit", k=20, channel=channel)) for channel in ("lexical", "dense")}
SEARCHES["fused by ranks"] = Probe(asked=ANN.search("upload limit", k=20, fusion={"method": "rrf"}))
EVIDENCE = {
    "narrow": Probe(asked=ANN.packet("upload limit", k=20)),
    "narrow, with roles": Probe(
        asked=ANN.packet("upload limit", k=3, requirements=roles({"claim": "limit"}, {"unit_id": "red/H-1@1#0"}))
    ),
    "narrow, in a small budget": Probe(
        asked=ANN.packet("upload limit", k=20, budget={"max_bytes": 2500}, on_overflow="omit-optional")
    ),
    "narrow, a conflict by a claim": Probe(asked=ANN.packet("pump", k=1, channel="lexical")),
    "narrow, a conflict by a relation": Probe(asked=ANN.packet("latch", k=1, channel="lexical")),
    "auto, a role to widen for": Probe(
        asked=ANN.packet("latch", k=1, channel="lexical", strategy="auto", requirements=roles({"claim": "secret"}))
    ),
    "broad": Probe(asked=ANN.packet("upload limit", strategy="broad")),
    "document, with a draft": Probe(asked=ANN.packet("upload limit", strategy="document", source_id="S-1")),
    "document, hidden": Probe(asked=ANN.packet("upload limit", strategy="document", source_id="H-2")),
}
HANDLES = {
    adapter: Probe(
        asked=ANN.packet("drum", k=1, channel="lexical", adapter=adapter, conversation=talk(FOREIGN)), needle=TURN
    )
    for adapter in ("openai", "anthropic")
}
ALL = {**SEARCHES, **EVIDENCE, **HANDLES}
GUARDED: dict[Barrier, dict[str, Probe]] = {
    Barrier.RANKING: ALL,
    Barrier.ASSEMBLY: {**EVIDENCE, **HANDLES},
    Barrier.CONTAINMENT: {**SEARCHES, **EVIDENCE},
}


@pytest.fixture(scope="module", name="built")
def fixture_built(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Path:
    """The catalog of WORLD, read by many; whoever changes it takes a copy."""
    with building.unhurried():
        return building.build(tmp_path_factory.mktemp("gates") / "catalog", WORLD, template=template)


@pytest.fixture(name="opened")
def fixture_opened(built: Path, portal: BlockingPortal) -> Iterator[Application]:
    with running(built, portal=portal) as opened:
        yield opened


def answer(opened: Application, asked: Asked) -> dict[str, Any]:
    response = opened.ask(asked)
    assert response.status == 200
    body: dict[str, Any] = json.loads(response.body)
    return body


def shown(body: dict[str, Any]) -> str:
    """All of an answer but the caller's own request, which it repeats."""
    manifest = body.get("manifest", {})
    return json.dumps({**body, "manifest": {**manifest, "request": None}})


def guarded() -> Iterator[Any]:
    for barrier, probes in GUARDED.items():
        for name in probes:
            yield pytest.param(barrier, ALL[name], id=f"{barrier.name.lower()}: {name}")


@pytest.mark.parametrize(("barrier", "probe"), list(guarded()))
def test_one_barrier_alone_keeps_what_is_hidden_out_of_every_answer(
    opened: Application, barrier: Barrier, probe: Probe
) -> None:
    with broken(*alone(barrier)):
        body = answer(opened, probe.asked)

    assert probe.needle not in shown(body)
    assert (body["disposition"] == "accepted") is (barrier is Barrier.RANKING or probe in HANDLES.values())


@pytest.mark.parametrize("probe", ALL.values(), ids=ALL)
def test_with_no_barrier_left_it_leaks(opened: Application, probe: Probe) -> None:
    """So that the tests above can fail: each of them looks for what is there to be found."""
    with broken(*Barrier):
        body = answer(opened, probe.asked)

    assert probe.needle in shown(body)
    assert body["disposition"] == "accepted"


@pytest.mark.parametrize("probe", (SEARCHES | EVIDENCE).values(), ids=SEARCHES | EVIDENCE)
def test_where_the_rules_that_both_gates_share_admit_everybody_the_look_at_the_answer_holds(
    opened: Application, probe: Probe
) -> None:
    """It decides by a second set of rules what exists for a caller."""
    with shared_rules_broken():
        body = answer(opened, probe.asked)

    assert probe.needle not in shown(body)
    assert body["disposition"] == "failed-closed"


def test_what_the_catalog_counts_is_held_back_where_the_shared_rules_admit_everybody(opened: Application) -> None:
    with shared_rules_broken():
        response = opened.ask(ANN.catalog())

    assert response.status == 500


def test_without_the_second_set_of_rules_a_fault_in_the_first_leaks(opened: Application) -> None:
    """So that the two tests above can fail."""
    with shared_rules_broken(), broken(Barrier.CONTAINMENT):
        leaking = [name for name, probe in ALL.items() if probe.needle in shown(answer(opened, probe.asked))]

    assert leaking == list(ALL)


@pytest.mark.parametrize("barrier", Barrier)
def test_with_one_barrier_broken_nothing_leaks(opened: Application, barrier: Barrier) -> None:
    with broken(barrier):
        leaking = [name for name, probe in ALL.items() if probe.needle in shown(answer(opened, probe.asked))]

    assert leaking == []


def test_the_gate_before_ranking_alone_keeps_every_byte(bench: Bench) -> None:
    """R6: over the worlds by hand, and some drawn ones."""
    with broken(*alone(Barrier.RANKING)):
        SUITE[Relation.M1](bench, 16)


def test_without_the_gate_before_ranking_bytes_differ(bench: Bench) -> None:
    """Whatever is held back behind it, what it lets through has shaped the answer."""
    with broken(Barrier.RANKING), pytest.raises(Difference):
        SUITE[Relation.M1](bench, 1)


PROTECTED = record("P-1", f"upload limit {CANARY}", tenant="blue", access={"roles": ["technician"]})
SOURCE, REVISION = SourceKey(BLUE, "P-1"), RevisionKey(BLUE, "P-1", "1")
Move = Callable[[Catalog], object]
MOVES: dict[str, Move] = {
    "relabelled": lambda catalog: catalog.relabel(SOURCE, Label(namespace=BLUE, roles=("surgeon",))),
    "role revoked": lambda catalog: catalog.revoke(Grant(BLUE, "ann", Dimension.ROLE, "technician")),
    "revision revoked": lambda catalog: catalog.revoke(REVISION),
    "deleted": lambda catalog: catalog.delete(SOURCE),
}
STRATEGIES = {
    "narrow": ANN.packet("upload limit"),
    "auto": ANN.packet("upload limit", strategy="auto"),
    "broad": ANN.packet("upload limit", strategy="broad"),
    "document": ANN.packet("upload limit", strategy="document", source_id="P-1"),
}
BEFORE_THE_SECOND_READ = (Stage.PINNED, Stage.ENCODED, Stage.RANKED, Stage.SELECTED)
AFTER_IT = (Stage.GATED, Stage.ASSEMBLED, Stage.WRITTEN)


@pytest.fixture(scope="module", name="protected")
def fixture_protected(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Path:
    """A catalog with one source that is taken away while an answer is made."""
    world = World(records=(PROTECTED, *SEEN[1:]))
    with building.unhurried():
        return building.build(tmp_path_factory.mktemp("moves") / "catalog", world, template=template)


class Moving:
    """The application over a copy of a catalog that is written to once, when a stage is reached."""

    def __init__(self, directory: Path, portal: BlockingPortal) -> None:
        self._directory, self._portal = directory, portal

    def shown(self, asked: Asked, *, at: Stage, move: Move) -> str:
        waiting = [move]

        def reached(stage: Stage) -> None:
            if stage is at and waiting:
                waiting.pop()(elsewhere)

        with (
            Catalog.open(self._directory, quick_check=False) as elsewhere,  # as another process has one
            running(self._directory, portal=self._portal, reached=reached) as opened,
        ):
            found = shown(answer(opened, asked))
        assert not waiting, "the stage was reached"
        return found


@pytest.fixture(name="moving")
def fixture_moving(protected: Path, tmp_path: Path, portal: BlockingPortal) -> Moving:
    return Moving(shutil.copytree(protected, tmp_path / "catalog"), portal)


def moves(*stages: Stage) -> list[Any]:
    """Every move, each at its own stage; one move at every stage; every strategy, late."""
    at_each = [(stage, "relabelled", "narrow") for stage in stages]
    each = [(stages[-1], name, "narrow") for name in MOVES if name != "relabelled"]
    strategies = [(stages[-1], "role revoked", strategy) for strategy in STRATEGIES if strategy != "narrow"]
    return [
        pytest.param(stage, MOVES[name], STRATEGIES[strategy], id=f"{strategy}, {stage.value}: {name}")
        for stage, name, strategy in (*at_each, *each, *strategies)
    ]


@pytest.mark.parametrize(("stage", "move", "asked"), moves(*AFTER_IT, *BEFORE_THE_SECOND_READ))
def test_the_gate_at_assembly_alone_sees_what_is_taken_away_meanwhile(
    moving: Moving, stage: Stage, move: Move, asked: Asked
) -> None:
    """R5: also after it has let everything pass, by the last look."""
    with broken(*alone(Barrier.ASSEMBLY)):
        assert CANARY not in moving.shown(asked, at=stage, move=move)


@pytest.mark.parametrize(("stage", "move", "asked"), moves(*BEFORE_THE_SECOND_READ))
def test_the_look_at_the_answer_alone_sees_what_is_taken_away_before_the_second_read(
    moving: Moving, stage: Stage, move: Move, asked: Asked
) -> None:
    """It judges by the second read, whatever the first one said."""
    with broken(*alone(Barrier.CONTAINMENT)):
        assert CANARY not in moving.shown(asked, at=stage, move=move)


@pytest.mark.parametrize("asked", [*STRATEGIES.values(), ANN.search("upload limit")], ids=[*STRATEGIES, "search"])
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_the_gate_before_ranking_alone_sees_what_was_taken_away_before(
    protected: Path, tmp_path: Path, portal: BlockingPortal, move: Move, asked: Asked
) -> None:
    """R5: with every cache warm."""
    directory = shutil.copytree(protected, tmp_path / "catalog")

    with broken(*alone(Barrier.RANKING)), running(directory, portal=portal) as opened:
        assert CANARY in shown(answer(opened, asked))
        move(opened.catalog)
        assert CANARY not in shown(answer(opened, asked))


@pytest.mark.parametrize("stage", [*BEFORE_THE_SECOND_READ, *AFTER_IT])
def test_with_no_barrier_left_what_is_taken_away_meanwhile_leaks(moving: Moving, stage: Stage) -> None:
    with broken(*Barrier):
        assert CANARY in moving.shown(STRATEGIES["narrow"], at=stage, move=MOVES["relabelled"])
