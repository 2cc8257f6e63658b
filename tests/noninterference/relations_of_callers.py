"""Does it show who else asked, on the same application? (R6, R35)

An application keeps much between requests: what a scope sees and may use, statistics, codes of queries, the state of
the catalog, records. A caller gets from one that has answered others what they get from one that heard nobody else.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from evidence.access import Principal
from evidence.identity import Namespace
from index.catalog import Catalog
from server.in_process import HttpResponse
from tests.noninterference.application import Application, running
from tests.noninterference.bench import Bench, Follow, require_equal
from tests.noninterference.building import take_in
from tests.noninterference.world import Asked, Record, Viewpoint, World

GRANTS: Mapping[str, tuple[str, ...]] = {
    "roles": ("supervisor", "technician"),
    "purposes": ("audit", "repair"),
    "regions": ("EU", "US"),
    "cases": ("C-1", "C-2"),
    "scope": ("ingest", "search"),
}
"""Of each kind, what opens something in the generated worlds."""
WRITES = 3  # how often a growing catalog is written to while others ask


def after_others(
    bench: Bench,
    world: World,
    view: Viewpoint,
    others: Sequence[Viewpoint],
    requests: Sequence[Asked],
    *,
    follow: Follow | None = None,
) -> None:
    """M6. Each request right after each of `others` asked the same, compared with an application that heard nobody
    else. There they are asked backwards, so that what the caller asked before does not show either."""
    with bench.application(world) as crowded, bench.application(world) as alone:
        _compare(crowded, alone, view, others, requests, follow)


def while_others_wrote(
    bench: Bench,
    world: World,
    view: Viewpoint,
    others: Sequence[Viewpoint],
    requests: Sequence[Asked],
    *,
    follow: Follow | None = None,
) -> None:
    """M6. As `after_others`, where half of the world came in bit by bit while others, and the caller, asked; the other
    application was opened when all of it was there."""
    half = len(world.records) // 2
    first, later = World(records=world.records[:half]), _bits(world.records[half:])
    with bench.application(first) as crowded, bench.catalog(first) as directory:
        for place, records in enumerate(later):
            asked = requests[place % len(requests)]
            for one in (asked, *(as_asked_by(other, asked) for other in others)):
                crowded.ask(one)
            take_in(crowded.catalog, records)
        with Catalog.open(directory, quick_check=False) as catalog:
            for records in later:
                take_in(catalog, records)
            for revocation in world.revocations:
                catalog.revoke(revocation)
                crowded.catalog.revoke(revocation)
        with running(directory, portal=bench.portal) as alone:
            _compare(crowded, alone, view, others, requests, follow)


def others_than(view: Viewpoint) -> tuple[Viewpoint, ...]:
    """Those who could be mistaken for this caller: of the same name, tenant or grants; and the caller with another
    purpose, or another use."""
    who = view.who
    red, blue = Namespace("red"), Namespace("blue")
    holding_more = replace(
        who,
        roles=_with(who.roles, GRANTS["roles"]),
        purposes=_with(who.purposes, GRANTS["purposes"]),
        regions=_with(who.regions, GRANTS["regions"]),
        cases=_with(who.cases, GRANTS["cases"]),
        scope=_with(who.scope, GRANTS["scope"]),
    )
    return (
        replace(view, who=holding_more),
        replace(view, who=replace(who, tenant=blue if who.tenant == red else red)),
        replace(view, who=replace(holding_more, sub="bob")),
        replace(view, who=replace(who, tenant=red if who.tenant is None else None)),
        replace(view, who=holding_more, purpose="audit", drafts=not view.drafts),
        Viewpoint(who=Principal(sub=who.sub, tenant=who.tenant)),
        replace(view, who=replace(who, sub="bob")),
        replace(view, purpose=None if view.purpose is not None else next(iter(who.purposes), None)),
        replace(view, drafts=not view.drafts),
    )


def as_asked_by(other: Viewpoint, asked: Asked) -> Asked:
    """The same request as another one would make it: with their credentials, purpose and use."""
    body = asked.body
    if asked.target.startswith("/v1/catalog"):
        return other.catalog()
    if isinstance(body, Mapping) and "query" in body:
        body = {**body, "purpose": other.purpose}
        if other.drafts or body.get("use") == "draft":
            body["use"] = "draft" if other.drafts else "current"
    return replace(asked, who=other.who, body=body)


def _compare(
    crowded: Application,
    alone: Application,
    view: Viewpoint,
    others: Sequence[Viewpoint],
    requests: Sequence[Asked],
    follow: Follow | None,
) -> None:
    expected = [(asked, _answers(alone, asked, follow)) for asked in reversed(requests)]
    for asked, answers in reversed(expected):
        theirs = [crowded.ask(as_asked_by(other, asked)) for other in others]
        for (request, one), (_, other) in zip(answers, _answers(crowded, asked, follow), strict=True):
            require_equal(request, one, other)
        for request in _of_strangers(view, others, theirs):
            require_equal(request, alone.ask(request), crowded.ask(request))


def _answers(opened: Application, asked: Asked, follow: Follow | None) -> list[tuple[Asked, HttpResponse]]:
    """The answer to a request, and to what follows from it."""
    response = opened.ask(asked)
    following = () if follow is None else follow(asked, response)
    return [(asked, response), *((request, opened.ask(request)) for request in following)]


def _of_strangers(view: Viewpoint, others: Sequence[Viewpoint], answers: Sequence[HttpResponse]) -> Iterator[Asked]:
    """The caller asks for the manifests that others were given: where nobody else was, these never were."""
    for other, response in zip(others, answers, strict=True):
        if (other.who.namespace, other.who.sub) != (view.who.namespace, view.who.sub) and response.status == 200:
            packet_id = json.loads(response.body).get("packet_id")
            if packet_id is not None:
                yield Asked(who=view.who, method="GET", target=f"/v1/manifests/{packet_id}")


def _with(held: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({*held, *more}))


def _bits(records: Sequence[Record]) -> list[Sequence[Record]]:
    """The records in at most WRITES parts."""
    size = -(-len(records) // WRITES) or 1
    return [records[start : start + size] for start in range(0, len(records), size)]
