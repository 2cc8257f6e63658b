"""What does one fresh process answer, and does it find the same again that another one answered? (R31, R32)

Run as a program: reads a `Task` from standard input and writes a `Done` to standard output, both as JSON. What differs
from process to process is the order and the pieces in which its worlds come in, the number of its threads, and, set
from outside, the seed of its hashes; none of it may show.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import torch
from anyio.from_thread import BlockingPortal, start_blocking_portal

from evidence.identity import RevisionKey
from evidence.omissions import stale_revisions
from index.recipe import Recipe
from models.encoder import Encoder
from models.loading import open_encoder
from models.registry import DEFAULT_ENCODER, find_encoder
from models.runtime import runtime_names
from server.logs import set_up_logs
from server.opening import settings_for
from tests.noninterference.application import Application
from tests.noninterference.bench import Bench
from tests.noninterference.building import template, unhurried
from tests.noninterference.corner_worlds import corner_cases
from tests.noninterference.relations_of_intake import Batch, Intake, taken_in
from tests.noninterference.tangled import questions, tangle
from tests.noninterference.world import Asked, World
from tests.worlds import RECIPE

CORNERS = 5  # of the cases by hand, the richest ones
PIECES = 4


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to do.

    folder: for its catalogs. order: of the records; 0 is the order in which they stand. growing: whether they come in
    pieces, some of which can be searched before a reindex. rows: how many records there are for threads to share.
    packaged: whether a world is encoded by the packaged model, too. replays: manifests, by the name of the answer that
    another process gave.
    """

    folder: str
    order: int
    growing: bool
    threads: int
    rows: int
    packaged: bool
    replays: dict[str, Any]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """answers: name -> body. verdicts: name -> body, of the replays. by_hash: the body of an answer in which a set
    stands in the order of its hashes, as if that were an order."""

    answers: dict[str, str]
    verdicts: dict[str, str]
    by_hash: str


def work(task: Task) -> Done:
    """All that the task asks for."""
    done = Done(answers={}, verdicts={}, by_hash="")
    folder, worlds = Path(task.folder), list(_worlds(task))
    with start_blocking_portal() as portal, unhurried():
        torch.set_num_threads(task.threads)
        bench = Bench(folder / "worlds", template=template(folder / "empty"), portal=portal)
        by_hash = ""
        for name, world, requests in worlds:
            with taken_in(bench, world, _intake(len(world.records), task)) as opened:
                _ask(opened, name, requests, task, done)
                with _sets_in_order_of_hashes():
                    by_hash = opened.ask(requests[0]).body.decode()  # of the last world
        if task.packaged:
            with _by_packaged_model(folder, portal, task) as opened:
                _ask(opened, "packaged", questions(), task, done)
    return msgspec.structs.replace(done, by_hash=by_hash)


def _worlds(task: Task) -> Iterator[tuple[str, World, Sequence[Asked]]]:
    for place, case in enumerate(islice(corner_cases(), CORNERS)):
        yield f"corner {place}", case.world, case.requests
    yield "tangle", tangle(task.rows), questions()


def _intake(records: int, task: Task) -> Intake:
    """How so many records come in: all at once, or one piece after the other, the last two never reindexed."""
    places = _in_order(list(range(records)), task)
    if not task.growing:
        return Intake(batches=(Batch(places=tuple(places), coded=False, reindexed=True),))
    pieces = [tuple(places[start::PIECES]) for start in range(PIECES)]
    return Intake(
        batches=tuple(
            Batch(places=piece, coded=number > 0, reindexed=number == 1, strangers=number)
            for number, piece in enumerate(pieces)
        ),
        texts=1 + task.order,
    )


def _in_order(values: list[Any], task: Task) -> list[Any]:
    if task.order:
        random.Random(task.order).shuffle(values)
    return values


def _ask(opened: Application, name: str, requests: Sequence[Asked], task: Task, done: Done) -> None:
    """Ask all of it, and replay what another process answered to the same."""
    for number, asked in enumerate(requests):
        named = f"{name}, {number}"
        response = opened.ask(asked)
        done.answers[named] = f"{response.status} {response.body.decode()}"
        if named in task.replays:
            again = replace(asked, target="/v1/manifests/replay", body={"manifest": task.replays[named]})
            done.verdicts[named] = opened.ask(again).body.decode()


@contextmanager
def _by_packaged_model(folder: Path, portal: BlockingPortal, task: Task) -> Iterator[Application]:
    """The application over a world whose codes are those of the packaged model."""
    entry = find_encoder(DEFAULT_ENCODER, folder=None)
    cache = settings_for("cpu").cache
    encoder = open_encoder(entry, runtime=runtime_names("cpu")[0], device="cpu", cache=cache)
    empty = template(folder / "empty-packaged", recipe=_recipe(encoder))
    world = World(records=tuple(_in_order(list(tangle(0).records), task)))
    bench = Bench(folder / "packaged", template=empty, portal=portal, encoder=encoder)
    with bench.application(world) as opened:
        yield opened


def _recipe(encoder: Encoder) -> Recipe:
    return replace(
        RECIPE,
        encoder=encoder.name,
        model_digest=encoder.model_digest,
        dimension=encoder.dimension,
        runtime=encoder.runtime,
    )


@contextmanager
def _sets_in_order_of_hashes() -> Iterator[None]:
    """The fault that these processes are there to find, for as long as this lasts."""

    def by_hash(*given: Any, **named: Any) -> tuple[RevisionKey, ...]:
        return tuple({*stale_revisions(*given, **named)})

    with mock.patch("evidence.assembly.stale_revisions", by_hash):
        yield


if __name__ == "__main__":
    set_up_logs("error")  # what is written of each packet is not for standard output
    found = work(msgspec.json.decode(sys.stdin.buffer.read(), type=Task))
    sys.stdout.buffer.write(msgspec.json.encode(found))
