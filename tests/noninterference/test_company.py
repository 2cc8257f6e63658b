"""Does a request get alone, byte for byte, what it gets in company? (M3)"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from evidence.identity import Namespace
from server.admission import Admission, Place
from server.queries import QueryReader
from server.ranking import Ranker, Stage
from server.retrieval import Query
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.clients import Leaving, Moment
from tests.noninterference.company_suite import COMPANY, offered
from tests.noninterference.relations import Relation
from tests.noninterference.relations_of_company import Company, Guest, alone_and_in_company
from tests.noninterference.suite import IN_EVERY_RUN, SUITE
from tests.noninterference.world import Asked, Viewpoint, World
from tests.worlds import principal, record

ANN = Viewpoint(who=principal("blue"))
TENANTS = tuple(f"red-{number}" for number in range(127))
WORLD = World(
    records=(
        record("A", "The upload limit is 25 MB for each file.", tenant="blue"),
        record("B", "Whoever uploads a video has a limit.", tenant="blue"),
        *(record("A", f"The upload limit of {tenant} is another one.", tenant=tenant) for tenant in TENANTS),
    )
)
PACKET = ANN.packet("upload limit")
EVERYWHERE = [Leaving(at=place, cancelled=cancelled) for place in (*Moment, *Stage) for cancelled in (False, True)]


def of_tenant(number: int, **more: Any) -> Asked:
    return Viewpoint(who=principal(TENANTS[number])).packet("upload limit", **more)


def test_a_request_gets_in_company_what_it_gets_alone(bench: Bench) -> None:
    """R6, R10: neighbours of every kind, in every place, some of whom leave or write meanwhile."""
    SUITE[Relation.M3](bench, IN_EVERY_RUN[Relation.M3])


@pytest.mark.soak
def test_a_request_gets_in_company_what_it_gets_alone_in_many_worlds(bench: Bench) -> None:
    COMPANY(bench, 2000)


def test_among_127_others_it_is_the_same_and_in_every_place_of_a_row(bench: Bench) -> None:
    crowd = tuple(Guest(asked=of_tenant(number)) for number in range(127))
    row = tuple(Guest(asked=of_tenant(number, rerank=True)) for number in range(7))
    companies = [
        Company(guests=crowd, places=(64,), between=()),
        *(Company(guests=row, places=(place,), between=()) for place in range(8)),
    ]

    alone_and_in_company(bench, WORLD, [PACKET] * len(companies), companies)


def test_whoever_leaves_wherever_takes_nothing_from_those_who_stay(bench: Bench) -> None:
    """Of each place that a request comes to, gone and cancelled; one of them was adding a source."""
    leaving = [Guest(asked=of_tenant(place, rerank=True), leaving=one) for place, one in enumerate(EVERYWHERE)]
    added = offered(record("C", "Another upload limit.", tenant="red-1"))
    adding = [Guest(asked=added, leaving=one) for one in EVERYWHERE[:6]]
    between = tuple((stage, guest) for stage in Stage for guest in leaving[::5])
    company = Company(guests=(*leaving, *adding), places=(0, 9, 20), between=between)

    alone_and_in_company(bench, WORLD, [PACKET], [company])


def test_a_code_that_is_kept_in_one_place_for_all_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The relation can fail: between reading and ranking, others read."""
    shared: dict[str, Any] = {}
    read, rank = QueryReader.read, Ranker.rank

    def read_and_keep(self: QueryReader, *asked: Any, **more: Any) -> Query:
        query = shared["query"] = read(self, *asked, **more)
        return query

    def rank_what_is_kept(self: Ranker, request: Any, query: Query, pinned: Any) -> Any:
        return rank(self, request, replace(query, code=shared["query"].code), pinned)

    monkeypatch.setattr(QueryReader, "read", read_and_keep)
    monkeypatch.setattr(Ranker, "rank", rank_what_is_kept)
    other = Guest(asked=Viewpoint(who=principal("red-1")).search("a video"))
    company = Company(guests=(), places=(0,), between=((Stage.ENCODED, other),))
    with pytest.raises(Difference):
        alone_and_in_company(bench, WORLD, [PACKET], [company])


def test_a_place_that_is_not_given_back_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The relation can fail: who is refused takes its place away."""

    @asynccontextmanager
    async def admit(self: Admission, tenant: Namespace) -> AsyncIterator[Place]:
        await self._places.acquire()
        yield Place()
        self._places.release()

    monkeypatch.setattr(Admission, "admit", admit)
    refused = Guest(asked=Viewpoint(who=principal("red-1")).search("limit " * 2000))
    with pytest.raises(Difference, match="2 of 3 places"):
        alone_and_in_company(bench, WORLD, [PACKET], [Company(guests=(refused,), places=(0,), between=())])
