"""Which company does a request have, and which strangers, in the worlds of the suite?

Chosen from the case itself, so that a case has the same ones in every run, and a smaller case can be looked for.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from index.catalog import Catalog
from server.ranking import Stage
from tests.noninterference.bench import Bench
from tests.noninterference.callers_suite import OTHERS
from tests.noninterference.chance import random_of
from tests.noninterference.clients import Leaving, Moment
from tests.noninterference.generated_records import WORDS
from tests.noninterference.generators import Case, hidden_part
from tests.noninterference.relations_of_callers import as_asked_by, others_than
from tests.noninterference.relations_of_company import Company, Guest, alone_and_in_company
from tests.noninterference.relations_of_sessions import Session, Turn, undisturbed
from tests.noninterference.strangers import Stranger
from tests.noninterference.trying import over_cases
from tests.noninterference.world import Asked, Record, World, is_visible, key_of
from tests.worlds import principal

REQUESTS = 2  # of a case, at most
SIZES = (1, 1, 2, 2, 3, 5, 8, 15)
CROWDS = (31, 63, 127)
ONE_IN = 24  # cases that have a crowd
LEAVE = 0.3  # of all guests
LONGEST_S = 0.05  # by when a client that leaves at any moment has left
SOURCES = "/v1/sources"


def in_company(bench: Bench, worlds: int) -> None:
    """M3 over so many worlds."""

    def hold(case: Case) -> None:
        random = random_of(case)
        withheld = [record for record in hidden_part(case) if random.random() < 0.3]
        requests = [reranked(one) if random.random() < 0.3 else one for one in _some(random, case)]
        companies = [_company(random, case, asked, withheld) for asked in requests]
        alone_and_in_company(bench, less(case.world, withheld), requests, companies)

    over_cases(hold, worlds, shrink=bench.shrink)


def in_sessions(bench: Bench, worlds: int) -> None:
    """M6 over so many worlds."""

    def hold(case: Case) -> None:
        random, view = random_of(case), case.view
        hidden, seen = hidden_part(case), [record for record in case.world.records if is_visible(record, view)]
        withheld = [record for record in hidden if random.random() < 0.5]
        grows = random.sample(seen, 1) if len(seen) > 1 and random.random() < 0.5 else []
        few_runs = random.random() < 0.3
        others = [other for other in others_than(case.asker) if not few_runs or other.who.tenant != view.who.tenant]
        asks = [as_asked_by(other, asked) for other in others for asked in case.requests]
        world = less(case.world, [*withheld, *grows])

        def stranger(elsewhere: Catalog) -> Stranger:
            return Stranger(
                view,
                present=world.records,
                withheld=withheld,
                spared={key_of(record).source for record in grows},
                asks=asks,
                elsewhere=elsewhere,
                random=random,
            )

        session = _session(random, case, grows, few_runs=few_runs)
        undisturbed(bench, world, session, stranger, random=random, small_caches=random.random() < 0.5)

    over_cases(hold, worlds, shrink=bench.shrink)


def session(bench: Bench, worlds: int) -> None:
    """M6 over so many worlds: a third of them with what others asked before, the rest with what strangers do."""
    before = worlds // 3
    in_sessions(bench, worlds - before)
    OTHERS(bench, before)


COMPANY = in_company
SESSION = session


def less(world: World, withheld: Sequence[Record]) -> World:
    """The world before these records come."""
    keys = {key_of(record) for record in withheld}
    return replace(world, records=tuple(record for record in world.records if key_of(record) not in keys))


def reranked(asked: Asked) -> Asked:
    """The same search or packet with `rerank`; anything else as it is."""
    is_ranked = isinstance(asked.body, dict) and "query" in asked.body
    return replace(asked, body={**asked.body, "rerank": True}) if is_ranked else asked


def offered(record: Record) -> Asked:
    """A record as who may write in its namespace posts it."""
    public = record["access"].get("public", False)
    scope = ("ingest", "ingest-public", "search")
    who = principal(None if public else record["access"]["tenant"], sub="writer", scope=scope)
    target = SOURCES + ("?public=true" if public else "")
    return Asked(who=who, method="POST", target=target, body=json.dumps(dict(record)).encode())


def _company(random: Random, case: Case, asked: Asked, withheld: Sequence[Record]) -> Company:
    count = random.choice(CROWDS) if random.randrange(ONE_IN) == 0 else random.choice(SIZES)
    neighbours = [_neighbour(random, case, asked) for _ in range(count)]
    row = [*neighbours, *(offered(record) for record in withheld)]
    random.shuffle(row)
    return Company(
        guests=tuple(_guest(random, one) for one in row),
        places=tuple(random.randint(0, len(row)) for _ in range(random.choice((1, 1, 2, 3)))),
        between=tuple(
            (stage, _guest(random, _with_other_words(random, _neighbour(random, case, asked))))
            for stage in (*random.sample(list(Stage), 2), Stage.ENCODED)
        ),
    )


def _session(random: Random, case: Case, grows: Sequence[Record], *, few_runs: bool) -> Session:
    requests = [case.asker.catalog()]
    requests += [reranked(one) if random.random() < 0.2 else one for one in _some(random, case)]
    turns = [Turn.ASK] * (len(requests) - 1) + [Turn.LATER] * (2 * len(requests))
    turns += [Turn.RESTART] * random.randint(0, 1) + [Turn.GROW] * len(grows)
    random.shuffle(turns)
    return Session(requests=tuple(requests), turns=(Turn.ASK, *turns), grows=tuple(grows), few_runs=few_runs)


def _some(random: Random, case: Case) -> list[Asked]:
    return random.sample(case.requests, min(len(case.requests), REQUESTS))


def _neighbour(random: Random, case: Case, asked: Asked) -> Asked:
    """The same request or another one, by somebody else or by the same caller."""
    request = asked if random.random() < 0.5 else random.choice(case.requests)
    if random.random() < 0.3:
        request = reranked(request)
    by = random.choice((None, *others_than(case.asker)))
    return replace(request) if by is None else as_asked_by(by, request)


def _with_other_words(random: Random, asked: Asked) -> Asked:
    is_ranked = isinstance(asked.body, dict) and "query" in asked.body
    return replace(asked, body={**asked.body, "query": " ".join(random.sample(WORDS, 3))}) if is_ranked else asked


def _guest(random: Random, asked: Asked) -> Guest:
    if random.random() >= LEAVE:
        return Guest(asked=asked)
    places = (*Moment, *Stage)
    at = random.choice(places) if random.random() < 0.5 else random.uniform(0, LONGEST_S)
    return Guest(asked=asked, leaving=Leaving(at=at, cancelled=random.random() < 0.5))
