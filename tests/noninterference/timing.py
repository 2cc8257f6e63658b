"""How long do answers take in worlds that differ in foreign documents only, or in what a foreigner just did?

Two applications at a time, over two worlds, asked the same in turn, now one first and now the other. Both are built
anew in every round: where a world lies in memory is then no property of it. A pair of equal worlds says what this
machine makes of no difference, and one with a fault switched on, that a difference would be seen.
"""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from random import Random
from typing import Any
from unittest import mock

import numpy as np

from eval.distinguishing import AUC_LIMIT, T_LIMIT, Times, attack, auc_error, in_groups, strongest
from server.in_process import ask
from tests.noninterference.application import Application
from tests.noninterference.bench import Bench
from tests.noninterference.building import take_in
from tests.noninterference.mutants.caches import SHARED_CODES
from tests.noninterference.world import Asked, Viewpoint, World
from tests.worlds import WordEncoder, principal, record

ANN, REX = Viewpoint(who=principal("blue")), Viewpoint(who=principal("red", sub="rex"))
PROBE = "upload limit of zebra videos in the case"
OWN, FOREIGN, MORE = 60, 300, 1000  # documents
ROUNDS = 6
REPEATED = 20  # requests of an attacker who asks often
WARM_UP = 8
_WORDS = ("upload", "limit", "case", "video", "latch", "pump", "drum", "heat", "valve", "seal")

Before = Callable[[Application, int], Any]
"""What is done on an application before its n-th request: a coroutine function."""


async def nothing(_: Application, __: int) -> None:
    """Nothing is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A pair of worlds, and what is asked in both. before: for each of the two.

    share: how many of the measurements it gets. is_claimed: whether the project says that time should not tell here.
    """

    name: str
    what: str
    worlds: tuple[World, World]
    asked: Callable[[int], Asked]
    before: tuple[Before, Before] = (nothing, nothing)
    share: float = 1.0
    is_claimed: bool = True
    switched_on: Callable[[], AbstractContextManager[None]] = nullcontext


class Kind(StrEnum):
    """What was timed."""

    PROCESSOR = "processor time of the search, in its thread"  # others on the machine hardly show
    SEARCH = "the search, in its thread"
    WHOLE = "the request, in process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one kind of time tells, in microseconds. medians: of both. difference: of the means that t is of.

    auc_error: its standard error if the worlds did not differ. repeated: the AUC of an attacker who takes the mean of
    REPEATED requests; None for too few.
    """

    t: float
    crop: float
    difference: float
    auc: float
    auc_error: float
    repeated: float | None
    medians: tuple[float, float]

    @property
    def verdict(self) -> "Verdict":
        if abs(self.t) >= T_LIMIT or self.auc >= 0.5 + T_LIMIT * self.auc_error:
            return Verdict.APART
        return Verdict.WITHIN if self.auc <= AUC_LIMIT else Verdict.OPEN


class Verdict(StrEnum):
    """What can be said of two worlds."""

    WITHIN = "within the limits"
    OPEN = "too few to say"  # the AUC is above its limit, and no further than chance takes it
    APART = "told apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What `n` measurements of each world tell, by kind of time."""

    scenario: Scenario
    n: int
    told: Mapping[Kind, Told]


def scenarios() -> list[Scenario]:
    """Those that are reported: the two controls first."""
    plain = world_with(_foreign(FOREIGN))
    steady = partial(_search, PROBE)
    return [
        Scenario(name="control A/A", what="equal worlds", worlds=(plain, plain), asked=steady),
        Scenario(
            name="control: fault 17 on",
            what="a foreigner asked the same before, and codes of queries are shared",
            worlds=(plain, plain),
            asked=_new_search,
            before=(_foreigner_asks_another, _foreigner_asks_the_same),
            is_claimed=False,
            switched_on=SHARED_CODES.switched_on,
        ),
        Scenario(
            name="probe term",
            what="a word of the query is in no foreign document, or in all",
            worlds=(plain, world_with(f"{text} zebra" for text in _foreign(FOREIGN))),
            asked=partial(_search, PROBE, channel="lexical"),
        ),
        Scenario(
            name="near duplicate",
            what="no foreign vector is near the query's, or many are the query's",
            worlds=(plain, world_with([*_foreign(FOREIGN - 50), *[PROBE] * 50])),
            asked=partial(_search, PROBE, channel="dense"),
        ),
        Scenario(
            name="more documents",
            what=f"{FOREIGN} or {FOREIGN + MORE} foreign documents",
            worlds=(plain, world_with(_foreign(FOREIGN + MORE))),
            asked=steady,
        ),
        Scenario(
            name="query asked before",
            what="a foreigner asked another query before, or the same",
            worlds=(plain, plain),
            asked=_new_search,
            before=(_foreigner_asks_another, _foreigner_asks_the_same),
        ),
        Scenario(
            name="foreign write",
            what="nothing was written before, or a foreigner published a document",
            worlds=(plain, plain),
            asked=steady,
            before=(nothing, _foreigner_publishes),
            share=0.1,
            is_claimed=False,
        ),
    ]


def world_with(foreign: Any) -> World:
    """Ann's documents, and Rex's with these texts."""
    own = [record(f"own-{number}", text, tenant="blue") for number, text in enumerate(_texts(1, OWN))]
    others = [record(f"foreign-{number}", text, tenant="red") for number, text in enumerate(foreign)]
    return World(records=(*own, *others))


def examine(bench: Bench, scenario: Scenario, *, n: int, rounds: int = ROUNDS, seed: int = 17) -> Finding:
    """Measure both worlds `n` times, or the scenario's share of that."""
    count = max(8, int(n * scenario.share) // rounds)
    random = Random(seed)
    parts: list[Any] = []
    with scenario.switched_on():
        for turn in range(rounds):
            with _opened(bench, scenario.worlds, backwards=turn % 2 == 1) as pair:
                parts.append(bench.portal.call(_measure, scenario, pair, count, random))
    times = np.concatenate(parts, axis=2)  # (worlds, kinds of time, requests)
    told = {kind: _told(times[0, place], times[1, place]) for place, kind in enumerate(Kind)}
    return Finding(scenario=scenario, n=times.shape[2], told=told)


@contextmanager
def _opened(bench: Bench, worlds: Sequence[World], *, backwards: bool) -> Iterator[list[Application]]:
    """Both worlds, open. backwards: the second one is built first."""
    with ExitStack() as held:
        order = [1, 0] if backwards else [0, 1]
        found = {place: held.enter_context(bench.application(worlds[place], encoder=WordEncoder())) for place in order}
        yield [found[0], found[1]]


async def _measure(scenario: Scenario, pair: Sequence[Application], count: int, random: Random) -> Any:
    """(worlds, kinds of time, count) float64: microseconds."""
    times = np.empty((2, len(Kind), count))
    with ExitStack() as timed:
        spent = [timed.enter_context(_timed(application)) for application in pair]
        for number in range(-WARM_UP, count):
            if number % 100 == 0:
                gc.collect()
            order = random.choice(((0, 1), (1, 0)))
            for place in order:
                application, asked = pair[place], scenario.asked(number)
                await scenario.before[place](application, number)
                request = application.request(asked)
                gc.disable()
                begun = time.perf_counter_ns()
                response = await ask(application.app, request)
                whole = time.perf_counter_ns() - begun
                gc.enable()
                assert response.status == 200
                if number >= 0:
                    times[place, :, number] = [one / 1000 for one in (*spent[place][-1], whole)]
                spent[place].clear()
    return times


@contextmanager
def _timed(application: Application) -> Iterator[list[tuple[int, int]]]:
    """Nanoseconds of its processor, and of the clock, that each search took in its thread."""
    spent: list[tuple[int, int]] = []
    real = application.pipeline.search

    def search(*asked: Any, **more: Any) -> Any:
        begun, worked = time.perf_counter_ns(), time.thread_time_ns()
        found = real(*asked, **more)
        spent.append((time.thread_time_ns() - worked, time.perf_counter_ns() - begun))
        return found

    with mock.patch.object(application.pipeline, "search", search):
        yield spent


def _told(first: Times, second: Times) -> Told:
    found = strongest(first, second)
    enough = min(len(first), len(second)) >= 50 * REPEATED
    return Told(
        t=found.t,
        crop=found.crop,
        difference=found.difference,
        auc=attack(first, second),
        auc_error=auc_error(len(first) // 2, len(second) // 2),
        repeated=attack(in_groups(first, REPEATED), in_groups(second, REPEATED)) if enough else None,
        medians=(float(np.median(first)), float(np.median(second))),
    )


def _search(query: str, _: int, **more: Any) -> Asked:
    return ANN.search(query, **more)


def _new_search(number: int) -> Asked:
    return ANN.search(_new_query(number))


def _new_query(number: int) -> str:
    """A query that nobody asked before, always as long."""
    return f"{PROBE} {number + 1_000_000:07}"


async def _foreigner_asks_the_same(application: Application, number: int) -> None:
    await ask(application.app, application.request(REX.search(_new_query(number))))


async def _foreigner_asks_another(application: Application, number: int) -> None:
    await ask(application.app, application.request(REX.search(_new_query(number + 5_000_000))))


async def _foreigner_publishes(application: Application, number: int) -> None:
    take_in(application.catalog, [record(f"new-{number}", "upload limit", tenant="red")])


def _foreign(count: int) -> list[str]:
    return _texts(2, count)


def _texts(seed: int, count: int) -> list[str]:
    """So many texts of a dozen words."""
    random = Random(seed)
    return [" ".join(random.choices(_WORDS, k=12)) for _ in range(count)]
