"""Does it matter how the records came to be there? (M2)

What lived through a history, and what is built from what is left of it: equal answers, to the last byte. Each relation
raises Difference.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from enum import StrEnum

from evidence.identity import RevisionKey
from evidence.instant import Instant
from index.catalog import Catalog
from server.inventory import export
from tests.noninterference.application import Application
from tests.noninterference.bench import Bench, each_alike
from tests.noninterference.building import publish, take_in
from tests.noninterference.following import next_asked
from tests.noninterference.generators import Case, live
from tests.noninterference.histories import History, Reindex
from tests.noninterference.living import Life
from tests.noninterference.world import World, key_of, visible_part
from tests.worlds import NOW, extend


class Layout(StrEnum):
    """Where the rows lie that can be searched."""

    PUBLISHED = "all in the published generation"
    DELTA = "all in the delta, over an empty generation"
    BOTH = "every other revision in the delta"


@contextmanager
def built(
    bench: Bench,
    world: World,
    *,
    layout: Layout = Layout.PUBLISHED,
    waiting: Collection[RevisionKey] = (),
    now: Instant = NOW,
) -> Iterator[Application]:
    """A new catalog of `world`, of which the revisions `waiting` wait for a reindex. now: what its clock says."""
    searchable = [one for one in world.records if key_of(one) not in waiting]
    older = {Layout.PUBLISHED: searchable, Layout.DELTA: [], Layout.BOTH: searchable[::2]}[layout]
    with bench.empty(now=now) as fresh:
        catalog = fresh.catalog
        extend(catalog, [dict(one) for one in older])
        publish(catalog)
        take_in(catalog, [one for one in searchable if one not in older])
        extend(catalog, [dict(one) for one in world.records if key_of(one) in waiting])
        for revocation in world.revocations:
            catalog.revoke(revocation)
        yield fresh


def rebuilt(
    bench: Bench, case: Case, history: History, *, layout: Layout, checked: Collection[int] = (), seen: bool = False
) -> None:
    """M2. Answers of a catalog that lived through `history`, and of one that is built from what is left.

    They are compared at the end, and after the steps `checked`, counted from 1. The catalog that lives answers after
    every step, so that whatever it keeps is of a state before. seen: only what the caller may see is built.
    """
    with _begun(bench) as life:
        for number, step in enumerate(history, start=1):
            life.live(step)
            if number in checked or number == len(history):
                as_built(bench, life, case, layout=layout, seen=seen)
            else:
                life.application.ask(case.requests[0])


def as_built(bench: Bench, life: Life, case: Case, *, layout: Layout, seen: bool) -> None:
    """The answers of a life as it stands, and those of a new catalog of what is left."""
    world, follow = life.left.world(), next_asked if case.follow else None
    if seen:
        world = visible_part(world, live(case.asker, world.revocations))
    with built(bench, world, layout=layout, waiting=life.left.waiting(), now=life.now) as fresh:
        each_alike(case.requests, life.application.ask, fresh.ask, follow=follow)


def exported(bench: Bench, case: Case, history: History) -> None:
    """M2. Answers of a catalog that lived through `history`, and of one that takes in what the first one exports.

    An export holds sources, and of each revision that it is revoked; what was taken from principals it does not.
    """
    with _begun(bench) as life:
        for step in (*history, Reindex()):
            life.live(step)
        grown = life.application
        lines = tuple(json.loads(line) for line in export(grown.catalog, namespace=None))
        with built(bench, World(records=lines, revocations=tuple(life.left.principals)), now=life.now) as fresh:
            each_alike(case.requests, grown.ask, fresh.ask)


@contextmanager
def _begun(bench: Bench) -> Iterator[Life]:
    with bench.empty() as grown, Catalog.open(grown.catalog.directory, quick_check=False) as beside:
        yield Life(grown, beside)
