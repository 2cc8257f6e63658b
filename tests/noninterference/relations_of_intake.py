"""Does it matter in which order, in which pieces and by how many threads a world came in and is searched? (M5)

Row numbers, insertion numbers and generations differ then; no byte of an answer may. The relation raises Difference.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from index.catalog import Catalog
from index.reindex import reindex
from server.in_process import HttpResponse
from tests.noninterference.application import Application
from tests.noninterference.bench import Bench, each_alike
from tests.noninterference.building import publish, take_in
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.world import Asked, Record, World, key_of
from tests.worlds import ANALYZER, extend, record

_STRANGER = record("stranger", "upload limit case video latch pump drum heat", tenant="red")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Records, by their place in the world, that come in one ingest.

    strangers: sources that come before it and are gone after it, so that all that follows has other numbers.
    """

    places: tuple[int, ...]
    coded: bool
    reindexed: bool
    strangers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """How the records of a world come in, and how they are searched.

    texts, workers: how a reindex encodes. threads: of the searches. What waits at the end is reindexed.
    """

    batches: tuple[Batch, ...]
    texts: int = 64
    workers: int = 1
    threads: int = 1


def permuted(bench: Bench, world: World, requests: Sequence[Asked], one: Intake, other: Intake) -> None:
    """M5. The same world, taken in in two ways."""
    with taken_in(bench, world, one) as first, taken_in(bench, world, other) as second:
        each_alike(requests, _by_threads(first, one.threads), _by_threads(second, other.threads))


@contextmanager
def taken_in(bench: Bench, world: World, intake: Intake) -> Iterator[Application]:
    """The world as `intake` says."""
    with bench.empty() as opened:
        catalog, waits = opened.catalog, False
        publish(catalog)
        for number, batch in enumerate(intake.batches):
            strangers = [{**_STRANGER, "source_id": f"stranger-{number}-{place}"} for place in range(batch.strangers)]
            _take(catalog, strangers, coded=batch.coded)
            _take(catalog, [world.records[place] for place in batch.places], coded=batch.coded)
            for stranger in strangers:
                catalog.delete(key_of(stranger).source)
            waits = (waits or not batch.coded) and not batch.reindexed
            if batch.reindexed:
                _reindex(catalog, intake)
        for revocation in world.revocations:
            catalog.revoke(revocation)
        if waits:
            _reindex(catalog, intake)
        yield opened


def _take(catalog: Catalog, records: Sequence[Record], *, coded: bool) -> None:
    if coded:
        take_in(catalog, records)
    else:
        extend(catalog, [dict(one) for one in records])


def _reindex(catalog: Catalog, intake: Intake) -> None:
    reindex(
        catalog,
        encoder=FastEncoder(),
        analyzer=ANALYZER,
        progress=lambda _: None,
        batch_texts=intake.texts,
        workers=intake.workers,
    )


def _by_threads(opened: Application, threads: int) -> Callable[[Asked], HttpResponse]:
    """Ask it while torch, and whatever shares its threads, uses so many of them."""

    def ask(asked: Asked) -> HttpResponse:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            return opened.ask(asked)
        finally:
            torch.set_num_threads(before)

    return ask
