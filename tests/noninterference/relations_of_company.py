"""Does it show who else is being answered? (R6, R10)

A request gets alone, on an application that heard nobody before, what it gets among others on another one: among many
that were begun at once, in any place of their row, and with others answered whole while it stands still at a stage.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import anyio
import anyio.from_thread

from index import records_connection
from server.in_process import HttpResponse
from server.ranking import Stage
from tests.noninterference import clients
from tests.noninterference.application import Application, running
from tests.noninterference.bench import Bench, Difference, require_equal
from tests.noninterference.clients import Client, Leaving
from tests.noninterference.reranker import reranker
from tests.noninterference.world import Asked, World

FEW_PLACES: dict[str, Any] = {"max_running": 3, "max_running_per_tenant": 2}
"""Settings under which most of a crowd waits, and one request can still be answered beside another."""
PATIENCE_S = 120.0  # nobody waits that long, unless a place was lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A request beside the one that is looked at. leaving None: its client waits for the answer."""

    asked: Asked
    leaving: Leaving | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """Who else is there. places: where in the row of `guests` the request is put, and put again by an impatient client.

    between: guests that are answered while it stands still, each at a stage that it may come to.
    """

    guests: tuple[Guest, ...]
    places: tuple[int, ...]
    between: tuple[tuple[Stage, Guest], ...]


def alone_and_in_company(bench: Bench, world: World, requests: Sequence[Asked], companies: Sequence[Company]) -> None:
    """M3. Each request alone, in its company, while others are answered between its stages, and once all have left.

    The catalog is the same one; what guests write must be invisible to who asks.
    """
    with bench.catalog(world) as directory, patient():
        with running(directory, portal=bench.portal, reranker=reranker()) as quiet:
            alone = [quiet.ask(asked) for asked in requests]
        with running(
            directory, portal=bench.portal, reranker=reranker(), reached=clients.reached, **FEW_PLACES
        ) as crowded:
            for asked, expected, company in zip(requests, alone, companies, strict=True):
                for answer in together(crowded, asked, company):
                    require_equal(asked, expected, answer)
                require_equal(asked, expected, interrupted(crowded, asked, company))
                require_equal(asked, expected, crowded.ask(asked))
            require_nothing_kept(crowded)


@contextmanager
def patient() -> Iterator[None]:
    """A crowd may wait for its records for as long as it takes: that a server is full is a declared exception (R6)."""
    with mock.patch.object(records_connection, "PATIENCE_MS", 1000 * PATIENCE_S):
        yield


def together(application: Application, asked: Asked, company: Company) -> list[HttpResponse]:
    """The answers to a request in each of its places, while all of its company is under way."""
    row = [(guest.asked, guest.leaving) for guest in company.guests]
    for place in company.places:
        row.insert(place, (asked, None))
    observed = [place for place, (one, leaving) in enumerate(row) if one is asked and leaving is None]
    answers: dict[int, HttpResponse | None] = {}

    async def serve(place: int, one: Asked, leaving: Leaving | None) -> None:
        answers[place] = await Client(leaving=leaving).ask(application.app, application.request(one))

    async def serve_all() -> None:
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                for place, (one, leaving) in enumerate(row):
                    group.start_soon(serve, place, one, leaving)

    application.portal.call(serve_all)
    return [_whole(answers[place]) for place in observed]


def interrupted(application: Application, asked: Asked, company: Company) -> HttpResponse:
    """The answer to a request at whose stages others are answered whole, or leave, before it goes on."""

    async def serve(guest: Guest) -> None:
        await Client(leaving=guest.leaving).ask(application.app, application.request(guest.asked))

    def meanwhile(reached: Stage) -> None:
        for stage, guest in company.between:
            if stage is reached:
                anyio.from_thread.run(serve, guest)

    async def observe() -> HttpResponse | None:
        with anyio.fail_after(PATIENCE_S):
            return await Client(meanwhile=meanwhile).ask(application.app, application.request(asked))

    return _whole(application.portal.call(observe))


def require_nothing_kept(application: Application) -> None:
    """Raise Difference unless every place that a request held was given back, by those too who left."""
    state = application.app.state
    for admission, places in ((state.admission, FEW_PLACES["max_running"]), (state.intake_admission, 1)):
        if admission.inside or admission.free != places:
            raise Difference(f"{admission.inside} requests are inside, {admission.free} of {places} places are free")


def _whole(answer: HttpResponse | None) -> HttpResponse:
    assert answer is not None, "who stays is answered"
    return answer
