"""Does it show what strangers do while a caller works? (R6, R29, R35)

The same session twice, over two copies of one catalog: in one nothing happens but what the caller asks, in the other
strangers act before each request and at each stage of it. What was answered first is asked about later: its version is
demanded, its manifest read, its packet made again, also by a server that was started anew.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from json import loads
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any
from unittest import mock

import index.catalog_read
import index.delta
import index.snapshot
import server.queries
import server.recording
import server.searchable
import server.views
from index.catalog import Catalog
from server.in_process import HttpResponse
from server.ranking import Stage
from tests.noninterference.application import Application, running
from tests.noninterference.bench import Bench, Difference, require_equal
from tests.noninterference.building import take_in
from tests.noninterference.following import next_asked
from tests.noninterference.reranker import reranker
from tests.noninterference.strangers import Stranger
from tests.noninterference.world import Asked, Record, World

ACTS_BETWEEN = 2  # at most, before each request
CHANCE_AT_A_STAGE = 0.4
FEW_RUNS = {"records_max_runs": 1}


class Turn(StrEnum):
    """What comes next in a session."""

    ASK = "the next request"
    LATER = "something about an earlier answer"
    GROW = "something visible comes in"
    RESTART = "the server is started anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a caller does. grows: records that it sees from a GROW on, in order.

    few_runs: whether few answers stay on record, which are let go often.
    """

    requests: tuple[Asked, ...]
    turns: tuple[Turn, ...]
    grows: tuple[Record, ...]
    few_runs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A turn that was taken, with its question and answer where it had one."""

    turn: Turn
    asked: Asked | None = None
    answer: HttpResponse | None = None


def undisturbed(
    bench: Bench,
    world: World,
    session: Session,
    stranger: Callable[[Catalog], Stranger],
    *,
    random: Random,
    small_caches: bool,
) -> None:
    """M6. The session without strangers, and with one who is made for a second handle of the catalog.

    small_caches: whether what is kept of scopes, queries and states is soon let go where strangers are.
    """
    settings = FEW_RUNS if session.few_runs else {}
    with bench.catalog(world) as still, bench.folder() as lively, _pruning_often():
        shutil.copytree(still, lively)
        with Server(still, bench, settings) as server:
            told = list(_quietly(server, session))
        with _small_caches() if small_caches else ExitStack(), Catalog.open(lively, quick_check=False) as elsewhere:
            present = stranger(elsewhere)
            disturbance = _Disturbance(present, random)
            with Server(lively, bench, settings, reached=disturbance.at) as server:
                _again(server, session, told, disturbance)


class Server:
    """An application that can be started anew."""

    def __init__(
        self,
        directory: Path,
        bench: Bench,
        settings: dict[str, Any],
        *,
        reached: Callable[[Stage], None] = lambda _: None,
    ) -> None:
        self.application: Application
        self._directory = directory
        self._bench = bench
        self._settings = settings
        self._reached = reached
        self._running = ExitStack()

    def __enter__(self) -> "Server":
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def restart(self) -> None:
        self._running.close()
        self._start()

    def _start(self) -> None:
        opened = running(
            self._directory, portal=self._bench.portal, reranker=reranker(), reached=self._reached, **self._settings
        )
        self.application = self._running.enter_context(opened)


class _Disturbance:
    """When the stranger acts: between requests, and at the stages of the caller's own."""

    def __init__(self, stranger: Stranger, random: Random) -> None:
        self.stranger = stranger
        self._random = random
        self._application: Application | None = None
        self._acting = False

    def before(self, application: Application) -> None:
        self._application = application
        for _ in range(self._random.randint(0, ACTS_BETWEEN)):
            self._act()

    def at(self, _: Stage) -> None:
        if self._application is not None and not self._acting and self._random.random() < CHANCE_AT_A_STAGE:
            self._act()

    def _act(self) -> None:
        assert self._application is not None
        self._acting = True
        try:
            self.stranger.act(self._application)
        finally:
            self._acting = False


def _quietly(server: Server, session: Session) -> Iterator[Told]:
    requests, grows = list(session.requests), list(session.grows)
    later: list[Asked] = []
    for turn in session.turns:
        if turn is Turn.RESTART:
            server.restart()
        elif turn is Turn.GROW and grows:
            take_in(server.application.catalog, [grows.pop(0)])
        elif turn in (Turn.ASK, Turn.LATER) and (waiting := requests if turn is Turn.ASK else later):
            asked = waiting.pop(0)
            answer = server.application.ask(asked)
            later += _about(asked, answer)
            yield Told(turn=turn, asked=asked, answer=answer)
            continue
        yield Told(turn=turn)


def _again(server: Server, session: Session, told: Sequence[Told], disturbance: _Disturbance) -> None:
    grows = list(session.grows)
    for one in told:
        if one.turn is Turn.RESTART:
            server.restart()
        elif one.turn is Turn.GROW and grows:
            take_in(server.application.catalog, [grows.pop(0)])
        disturbance.before(server.application)
        if one.asked is not None:
            assert one.answer is not None
            _require_equal(one.asked, one.answer, server.application.ask(one.asked), disturbance)


def _require_equal(asked: Asked, one: HttpResponse, other: HttpResponse, disturbance: _Disturbance) -> None:
    try:
        require_equal(asked, one, other)
    except Difference as difference:
        raise Difference(f"{difference}\nstrangers did: {', '.join(disturbance.stranger.done)}") from None


def _about(asked: Asked, answer: HttpResponse) -> Iterator[Asked]:
    """What is asked later: about a packet that was given, and the same once more of the version that was seen."""
    yield from next_asked(asked, answer)
    if answer.status == 200 and isinstance(asked.body, dict) and "query" in asked.body:
        body = loads(answer.body)
        version = body["manifest"]["catalog_version"] if "manifest" in body else body["catalog_version"]
        yield replace(asked, body={**asked.body, "catalog_version": version})


@contextmanager
def _small_caches() -> Iterator[None]:
    with ExitStack() as patched:
        for module, name, size in (
            (index.snapshot, "REVISIONS_KEPT", 150),
            (index.catalog_read, "STATES_KEPT", 1),
            (index.delta, "STATES_KEPT", 1),
            (index.delta, "TEXTS_REMEMBERED", 1),
            (server.searchable, "SCOPES_KEPT", 1),
            (server.views, "VIEWS_KEPT", 1),
            (server.queries, "CODES_KEPT", 1),
        ):
            patched.enter_context(mock.patch.object(module, name, size))
        yield


def _pruning_often() -> Any:
    return mock.patch.object(server.recording, "RUNS_BETWEEN_PRUNING", 3)
