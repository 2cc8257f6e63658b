"""Which histories, intakes and layouts are drawn?

Of the cases of `generators` those in which the caller sees a few records, and no crowd: what there is to tell of how
records came to be there, few of them tell.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, pairwise
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from tests.noninterference.corner_histories import Lived
from tests.noninterference.corner_worlds import corner_cases
from tests.noninterference.generated_records import WORDS
from tests.noninterference.generators import Case, cases
from tests.noninterference.histories import history_of
from tests.noninterference.relations_of_histories import Layout
from tests.noninterference.relations_of_intake import Batch, Intake
from tests.noninterference.world import is_visible

FEWEST, MOST = 3, 16  # records that the caller sees at least, and that there are at most
REQUESTS = 1  # of a case's own
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Permuted:
    """A case, and two ways in which its records came in."""

    case: Case
    one: Intake
    other: Intake

    def __str__(self) -> str:
        return f"{self.case}\n{self.one}\n{self.other}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A case, and where its rows lie."""

    case: Case
    layout: Layout

    def __str__(self) -> str:
        return f"{self.case}\n{self.layout}"


def drawn(make: Callable[[Case, Random], Made]) -> st.SearchStrategy[Made]:
    """What `make` makes of cases in which the caller sees at least three records, and no crowd. Their number decides
    the rest, so that no two are alike where a case comes twice."""
    numbers = count()
    peopled = cases().filter(lambda case: _seen(case) >= FEWEST and len(case.world.records) <= MOST)

    def made(case: Case) -> Made:
        random = Random(next(numbers))
        return make(_asked_for_all(_tied(case) if random.random() < 1 / 3 else case), random)

    return peopled.map(made)


def _tied(case: Case) -> Case:
    """The case with one text in all of its records but those that claim something."""
    text = case.world.records[0]["text"]
    alike = tuple(one if "claims" in one else {**one, "text": text} for one in case.world.records)
    return replace(case, world=replace(case.world, records=alike))


def _asked_for_all(case: Case) -> Case:
    """Asked for every word first, so that whatever differs among the records shows; then for fewer than there are."""
    words, asker = " ".join(WORDS), case.asker
    few = [asker.search(words, k=2, channel=channel, fusion={"depth": 2}) for channel in ("lexical", "dense")]
    return replace(case, requests=(asker.search(words, k=10), *few, *case.requests[:REQUESTS]))


def lived(case: Case, random: Random) -> Lived:
    """A history of the records of a case, and how it is looked at."""
    history = history_of(case, random)
    way = random.choice(("all", "all", "seen", "seen", "exported"))
    return Lived(
        case=case,
        history=history,
        layout=random.choice(tuple(Layout)),
        checked=frozenset(random.sample(range(1, len(history)), random.randint(0, 1))),
        seen=way == "seen",
        exported=way == "exported",
    )


def permuted_case(case: Case, random: Random) -> Permuted:
    """Two ways to take the records of a case in."""
    size = len(case.world.records)
    return Permuted(case=case, one=_intake_of(size, random), other=_intake_of(size, random))


def served_case(case: Case, random: Random) -> Served:
    """Where the records of a case lie."""
    return Served(case=case, layout=random.choice(tuple(Layout)))


def permuted_by_hand() -> Iterator[Permuted]:
    """The cases by hand, each taken in at once, and with every other record in the delta."""
    for case in _corners():
        places = tuple(range(len(case.world.records)))
        at_once = Intake(batches=(Batch(places=places[::-1], coded=False, reindexed=True),))
        in_halves = Intake(
            batches=(
                Batch(places=places[1::2], coded=False, reindexed=True, strangers=1),
                Batch(places=places[::2], coded=True, reindexed=False),
            ),
            threads=2,
        )
        yield Permuted(case=case, one=at_once, other=in_halves)


def served_by_hand() -> Iterator[Served]:
    """The richest case with ties everywhere; then the cases by hand, with rows on both sides."""
    yield Served(case=_tied(next(_corners())), layout=Layout.PUBLISHED)
    for case in _corners():
        yield Served(case=case, layout=Layout.BOTH)


def _corners() -> Iterator[Case]:
    return map(_asked_for_all, corner_cases())


def _intake_of(size: int, random: Random) -> Intake:
    order = random.sample(range(size), size)
    ends = sorted({*(random.randint(1, size) for _ in range(random.randint(0, 3))), size})
    batches = tuple(
        Batch(
            places=tuple(order[start:end]),
            coded=random.random() < 0.5,
            reindexed=random.random() < 0.4,
            strangers=random.choice((0, 0, 1, 3)),
        )
        for start, end in pairwise([0, *ends])
    )
    return Intake(
        batches=batches,
        texts=random.choice((64, 1, 3)),
        workers=random.choice((1, 1, 2)),
        threads=random.choice((1, 2)),
    )


def _seen(case: Case) -> int:
    return sum(is_visible(one, case.view) for one in case.world.records)
