"""Which changes to a world must not change an answer?

The metamorphic relations, each a function that raises `Difference` where one of them does not hold. They know nothing
of what an answer means: the oracle is equality of bytes.
"""

from collections.abc import Sequence
from enum import StrEnum

from tests.noninterference.bench import Bench, Follow, each_alike
from tests.noninterference.world import Asked, Viewpoint, World, visible_part


class Relation(StrEnum):
    """What is compared with what."""

    M1 = "the whole world, and its visible part alone"
    M2 = "an index that grew, and one built from scratch"
    M3 = "a request alone, and among others"
    M4 = "one backend, and another"
    M5 = "another order of intake, other segments, other threads"
    M6 = "foreign writes and queries while the caller works"
    M7 = "a foreign name, one that never was, and one that nobody could have"


def visible_only(
    bench: Bench, world: World, view: Viewpoint, requests: Sequence[Asked], *, follow: Follow | None = None
) -> None:
    """M1. Each request is asked of the whole world and of what this caller sees of it; so is what follows from it."""
    with bench.application(world) as full, bench.application(visible_part(world, view)) as part:
        each_alike(requests, full.ask, part.ask, follow=follow)
