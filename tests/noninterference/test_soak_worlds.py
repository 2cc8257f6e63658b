"""Do all relations hold over thousands of worlds? (R6, R7, R10, R11)"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from tests.noninterference.application import Application
from tests.noninterference.bench import Bench
from tests.noninterference.relations import Relation
from tests.noninterference.suite import SUITE
from tests.noninterference.trying import SEED
from tests.noninterference.world import World

WORLDS = int(os.environ.get("MUNIMENT_SOAK_WORLDS", "20000"))
SHARES = {
    Relation.M1: 50,
    Relation.M2: 15,
    Relation.M3: 5,
    Relation.M4: 5,
    Relation.M5: 10,
    Relation.M6: 5,
    Relation.M7: 10,
}
"""Percent of the worlds, of which those with company cost most."""
TOLD_EVERY_S = 60


class Counting(Bench):
    """A bench that says now and then how many applications were opened."""

    def tell(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._opened = 0
        self._told_s = time.monotonic()

    @contextmanager
    def application(self, world: World, **settings: Any) -> Iterator[Application]:
        self._opened += 1
        if time.monotonic() > self._told_s + TOLD_EVERY_S:
            self._told_s = time.monotonic()
            self._say(f"{self._opened} applications so far")
        with super().application(world, **settings) as opened:
            yield opened


@pytest.mark.soak
@pytest.mark.parametrize("relation", SUITE, ids=lambda relation: relation.name)
def test_the_relation_holds_over_its_share_of_many_worlds(
    tmp_path: Path, template: Path, portal: BlockingPortal, relation: Relation, capsys: pytest.CaptureFixture[str]
) -> None:
    worlds, began = -(-WORLDS * SHARES[relation] // 100), time.monotonic()
    bench = Counting(tmp_path, template=template, portal=portal, shrink=True)

    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\n{relation.name}: {text}, {time.monotonic() - began:.0f} s", flush=True)

    bench.tell(say)

    SUITE[relation](bench, worlds)

    say(f"{worlds} worlds, no difference, seed {'fixed' if SEED is None else SEED}")


def test_all_worlds_are_shared_out_among_the_relations() -> None:
    assert SHARES.keys() == SUITE.keys() == set(Relation)
    assert sum(SHARES.values()) == 100
