"""What becomes of many requests of many tenants, of which a third leaves at any point of its way?

Every tenant has one answer of its own to the same question, with a word in it that no other tenant's answer has: an
answer that went astray is seen by its bytes, and by that word.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import anyio
import anyio.to_thread

from server.in_process import HttpResponse
from server.ranking import Stage
from tests.noninterference.application import Application, compared
from tests.noninterference.clients import Client, Leaving, Moment, Place
from tests.noninterference.world import Asked, Record, Viewpoint, World
from tests.worlds import principal, record

QUESTION = "which seal fits the pump of this plant"
LEAVE = 0.36  # some of these are answered first; 30% leave
LONGEST_S = 0.4  # by when a client that leaves at any moment has left: as long as an answer takes in a crowd
_OF_A_SEARCH = (Stage.PINNED, Stage.ENCODED, Stage.RANKED, Stage.RERANKED, Stage.SELECTED)
_PLANTED = re.compile(rb"planted[0-9a-f]{8}")
Kind = tuple[str, int]  # of a request: the tenant, and which of its requests


@dataclass(slots=True)
class Weather:
    """What happened. left: by the last place that was reached. swapped: answers with another tenant's word.

    unlike: answers that are not, byte for byte, what that tenant gets alone.
    """

    answered: int = 0
    swapped: int = 0
    unlike: int = 0
    left: Counter[Place] = field(default_factory=Counter)

    @property
    def requests(self) -> int:
        return self.answered + self.left.total()


def planted(tenant: str) -> bytes:
    """The word that only this tenant's sources hold."""
    return b"planted" + tenant.removeprefix("t").encode()


def tenants(count: int) -> list[str]:
    """Names of tenants."""
    return [f"t{number:08x}" for number in range(count)]


def world_of(names: Sequence[str]) -> World:
    """A source of each tenant that answers the question with its own word, one that nearly does, and one for all."""
    records: list[Record] = [record("COMMON", "Any seal of a pump is checked once a year at this plant.")]
    for name in names:
        word = planted(name).decode()
        records.append(record("S-1", f"The seal that fits the pump of this plant is number {word}.", tenant=name))
        records.append(record("S-2", f"The pump of {word} is painted.", tenant=name))
    return World(records=tuple(records))


def requests_of(tenant: str) -> list[Asked]:
    """What each tenant asks: the same questions as all others. Every answer holds the tenant's own word."""
    view = Viewpoint(who=principal(tenant))
    return [
        view.search(QUESTION, k=2),
        view.search(QUESTION, k=3, rerank=True),
        view.search("seal", channel="lexical"),
        view.packet(QUESTION, k=2),
    ]


def alone(application: Application, names: Sequence[str]) -> dict[Kind, HttpResponse]:
    """What each tenant gets while nobody else is there. Raises AssertionError unless it is the tenant's own."""
    answers = {
        (name, number): application.ask(asked) for name in names for number, asked in enumerate(requests_of(name))
    }
    for (name, _), answer in answers.items():
        assert set(_PLANTED.findall(answer.body)) == {planted(name)}, "every answer tells whose it is"
    return answers


def storm(
    application: Application,
    names: Sequence[str],
    expected: Mapping[Kind, HttpResponse],
    *,
    requests: int,
    at_once: int,
    seed: int,
) -> Weather:
    """So many requests, `at_once` of them under way at any time. Nothing is raised: the figures tell."""
    weather = Weather()
    row = _row(Random(seed), names, requests)

    async def work() -> None:
        for kind, leaving in row:
            name, number = kind
            client = Client(leaving=leaving)
            answer = await client.ask(application.app, application.request(requests_of(name)[number]))
            if answer is None:
                weather.left[client.place] += 1
            else:
                weather.answered += 1
                weather.swapped += bool(set(_PLANTED.findall(answer.body)) - {planted(name)})
                weather.unlike += compared(answer) != compared(expected[kind])

    async def work_all() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(work)

    application.portal.call(work_all)
    return weather


async def still_at_work() -> tuple[int, int]:
    """How many tasks and how many worker threads are busy on this loop, but for who asks."""
    await anyio.wait_all_tasks_blocked()
    limiter = anyio.to_thread.current_default_thread_limiter()
    return len(asyncio.all_tasks()) - 1, limiter.borrowed_tokens


def _row(random: Random, names: Sequence[str], requests: int) -> Iterator[tuple[Kind, Leaving | None]]:
    numbers = range(len(requests_of(names[0])))
    for _ in range(requests):
        name, number = random.choice(names), random.choice(numbers)
        leaves = random.random() < LEAVE
        yield (name, number), _leaving(random, requests_of(name)[number]) if leaves else None


def _leaving(random: Random, asked: Asked) -> Leaving:
    """At a place that this request comes to, or at any moment: then some are answered before."""
    stages = set(Stage) if asked.target == "/v1/packets" else set(_OF_A_SEARCH)
    if not asked.body.get("rerank"):
        stages.discard(Stage.RERANKED)
    places: tuple[Place, ...] = (Moment.CONNECTED, Moment.BODY_BEGUN, Moment.BODY_READ, *sorted(stages))
    at = random.choice(places) if random.random() < 0.5 else random.uniform(0, LONGEST_S)
    return Leaving(at=at, cancelled=random.random() < 0.5)
