"""Tests of `server/routes.py`: what becomes of the work for a client that leaves, and of what it held."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import msgspec
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from server.admission import Admission
from server.in_process import HttpResponse
from server.ranking import Stage
from tests.noninterference import clients
from tests.noninterference.application import Application, running
from tests.noninterference.clients import Client, Leaving, Moment
from tests.noninterference.world import Asked, Viewpoint
from tests.worlds import build, principal, record

ANN = Viewpoint(who=principal("blue"))
SEARCH, PACKET = ANN.search("upload limit"), ANN.packet("upload limit")
WAYS = [pytest.param(False, id="gone"), pytest.param(True, id="cancelled")]


@pytest.fixture(scope="module", name="portal")
def fixture_portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as opened:
        yield opened


@pytest.fixture(scope="module", name="application")
def fixture_application(tmp_path_factory: pytest.TempPathFactory, portal: BlockingPortal) -> Iterator[Application]:
    """One place to work in, for everybody."""
    directory: Path = tmp_path_factory.mktemp("leaving") / "catalog"
    build(directory, [record("A", "The upload limit is 25 MB.", tenant="blue")])
    with running(directory, portal=portal, reached=clients.reached, max_running=1) as opened:
        yield opened


def ask(application: Application, asked: Asked, leaving: Leaving | None) -> HttpResponse | None:
    async def serve() -> HttpResponse | None:
        return await Client(leaving=leaving).ask(application.app, application.request(asked))

    return application.portal.call(serve)


def admission(application: Application) -> Admission:
    found: Admission = application.app.state.admission
    return found


@pytest.mark.parametrize("cancelled", WAYS)
@pytest.mark.parametrize("place", [*Moment, *Stage])
def test_who_leaves_anywhere_gives_back_what_it_held(application: Application, place: Any, cancelled: bool) -> None:
    ask(application, PACKET, Leaving(at=place, cancelled=cancelled))

    assert (admission(application).inside, admission(application).free) == (0, 1)
    answer = ask(application, PACKET, None)
    assert answer is not None
    assert answer.status == 200


@pytest.mark.parametrize("cancelled", WAYS)
def test_who_leaves_keeps_the_place_until_the_thread_is_done_with_the_work(
    application: Application, cancelled: bool
) -> None:
    held: list[int] = []

    def look(stage: Stage) -> None:
        if stage is Stage.SELECTED:  # the client left at an earlier one
            held.append(anyio.from_thread.run_sync(lambda: admission(application).inside))

    async def serve() -> None:
        client = Client(leaving=Leaving(at=Stage.PINNED, cancelled=cancelled), meanwhile=look)
        assert await client.ask(application.app, application.request(SEARCH)) is None

    application.portal.call(serve)
    assert held == [1]


@pytest.mark.parametrize("cancelled", WAYS)
def test_nothing_is_worked_on_for_who_leaves_while_it_waits(application: Application, cancelled: bool) -> None:
    stages: list[Stage] = []
    working, left = threading.Event(), threading.Event()

    def hold(stage: Stage) -> None:
        if stage is Stage.PINNED:
            working.set()
            assert left.wait(10)

    async def serve() -> None:
        first = Client(meanwhile=hold)
        second = Client(leaving=Leaving(at=0.01, cancelled=cancelled), meanwhile=stages.append)
        async with anyio.create_task_group() as group:
            group.start_soon(first.ask, application.app, application.request(SEARCH))
            await anyio.to_thread.run_sync(working.wait, 10)
            group.start_soon(second.ask, application.app, application.request(SEARCH))
            await anyio.sleep(0.05)
            assert second.has_left
            left.set()

    application.portal.call(serve)
    assert stages == []
    assert admission(application).inside == 0


@pytest.mark.parametrize("cancelled", WAYS)
def test_a_packet_for_nobody_stays_on_record_as_prepared(application: Application, cancelled: bool) -> None:
    """R5: that an answer was handed over is said only of one that was."""
    answer = ask(application, PACKET, None)
    assert answer is not None
    packet_id = msgspec.json.decode(answer.body)["packet_id"]
    ask(application, PACKET, Leaving(at=Stage.WRITTEN, cancelled=cancelled))

    auditor = principal("blue", sub="eve", scope=("audit",))
    read = ask(application, Asked(who=auditor, method="GET", target=f"/v1/audit/{packet_id}"), None)
    assert read is not None
    assert [run["delivery"] for run in msgspec.json.decode(read.body)["runs"]][-2:] == ["handed-over", "prepared"]
