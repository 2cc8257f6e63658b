"""Does an answer ever reach somebody else, when many leave before they are answered? (R6)"""

import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from tests.noninterference import clients
from tests.noninterference.application import running
from tests.noninterference.bench import Bench, require_equal
from tests.noninterference.cancel_storm import Weather, alone, requests_of, still_at_work, storm, tenants, world_of
from tests.noninterference.relations_of_company import patient
from tests.noninterference.reranker import reranker
from tests.noninterference.sockets import Closing, ask_all, ask_and_close, listening

RUNNING = 8  # at once, so that the others wait


def weathered(bench: Bench, *, requests: int, tenants_there: int, at_once: int) -> Weather:
    """A storm over a fresh application, with what must be left of it: nobody at work, every place free, and a next
    answer as if nothing had been."""
    names = tenants(tenants_there)
    with bench.catalog(world_of(names)) as directory, patient():
        with running(directory, portal=bench.portal, reranker=reranker()) as quiet:
            expected = alone(quiet, names)
        with running(
            directory, portal=bench.portal, reranker=reranker(), reached=clients.reached, max_running=RUNNING
        ) as application:
            application.ask(requests_of(names[0])[0])
            before = bench.portal.call(still_at_work)
            weather = storm(application, names, expected, requests=requests, at_once=at_once, seed=requests)

            assert bench.portal.call(still_at_work) == before
            admission = application.app.state.admission
            assert (admission.inside, admission.free) == (0, RUNNING)
            for number, asked in enumerate(requests_of(names[-1])):
                require_equal(asked, expected[names[-1], number], application.ask(asked))
    return weather


def require_calm(weather: Weather, *, requests: int, leaving: float = 0.25) -> None:
    assert (weather.swapped, weather.unlike) == (0, 0)
    assert weather.requests == requests
    assert weather.left.total() >= leaving * requests


def test_no_answer_goes_astray_in_a_storm_of_clients_who_leave(bench: Bench) -> None:
    weather = weathered(bench, requests=600, tenants_there=40, at_once=48)

    require_calm(weather, requests=600)


def closed_midway(bench: Bench, *, rounds: int, tenants_there: int, clients_there: int) -> tuple[int, int]:
    """Real connections: on some, requests of several tenants wait in a row, as behind a proxy; others are closed.

    Returns how many requests were answered, and how many connections closed. Raises AssertionError at an answer that
    is not the one that its tenant gets alone.
    """
    names = tenants(tenants_there)
    closed = answered = 0
    with patient(), bench.application(world_of(names), reranker=reranker(), max_running=RUNNING) as application:
        expected = alone(application, names)
        with listening(application.app, bench.portal) as port, ThreadPoolExecutor(clients_there) as pool:

            def one(number: int) -> int:
                random = Random(number)
                kinds = [(random.choice(names), random.randrange(4)) for _ in range(random.randint(1, 3))]
                sent = [application.request(requests_of(name)[which]) for name, which in kinds]
                if number % 3 == 0:
                    ask_and_close(port, sent[0], random.choice(list(Closing)), wait_s=random.uniform(0.001, 0.1))
                    return 0
                got = ask_all(port, sent)
                assert got == [(expected[kind].status, expected[kind].body) for kind in kinds]
                return len(kinds)

            for count in pool.map(one, range(rounds)):
                answered, closed = answered + count, closed + (not count)
        assert application.app.state.admission.inside == 0
    return answered, closed


def test_no_answer_goes_astray_between_connections_that_are_closed_midway(bench: Bench) -> None:
    answered, closed = closed_midway(bench, rounds=60, tenants_there=8, clients_there=8)

    assert closed == 20
    assert answered >= 40


@pytest.mark.soak
def test_no_answer_goes_astray_between_many_connections_that_are_closed_midway(bench: Bench) -> None:
    _, closed = closed_midway(bench, rounds=3000, tenants_there=50, clients_there=32)

    assert closed == 1000


@pytest.mark.soak
def test_no_answer_goes_astray_in_a_long_storm_of_clients_who_leave(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    weather = weathered(bench, requests=20_000, tenants_there=200, at_once=64)

    with capsys.disabled():
        print(f"\n{weather.requests} requests of 200 tenants in {time.monotonic() - began:.0f} s:")
        print(f"  {weather.answered} answered, {weather.swapped} swapped, {weather.unlike} unlike; left:")
        for place, count in weather.left.most_common():
            print(f"  {count:6} {place}")
    require_calm(weather, requests=20_000, leaving=0.30)
