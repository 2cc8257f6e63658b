"""How is a Difference told, of a history or of whatever else was tried?

With what was tried: as it is or, where that is asked for, as small as it gets.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from tests.noninterference.bench import Difference
from tests.noninterference.corner_histories import Lived
from tests.noninterference.drawn_histories import Permuted, Served

Tried = TypeVar("Tried")
Asking = TypeVar("Asking", Lived, Permuted, Served)


def told(
    hold: Callable[[Tried], None], smaller: Callable[[Tried], Iterable[Tried]], *, shrink: bool
) -> Callable[[Tried], None]:
    """`hold`, whose Difference tells what was tried: as it is or, with `shrink`, as small as it gets. Once there is one
    it is raised again whatever is tried, since what is drawn for a second look may be another thing."""
    raised: list[Difference] = []

    def found_in(tried: Tried) -> Difference | None:
        try:
            hold(tried)
        except Difference as difference:
            return difference
        return None

    def tell(tried: Tried) -> None:
        found = None if raised else found_in(tried)
        while found is not None:
            raised[:] = [Difference(f"{found}\n{tried}")]
            found = None
            for less in smaller(tried) if shrink else ():
                found = found_in(less)
                if found is not None:
                    tried = less
                    break
        if raised:
            raise raised[0]

    return tell


def shorter(lived: Lived) -> Iterator[Lived]:
    """Without one of its steps, or with one request."""
    yield from less_asked(lived)
    history = lived.history
    if len(history) > 1:
        for place in range(len(history)):
            yield replace(lived, history=history[:place] + history[place + 1 :], checked=frozenset())


def less_asked(tried: Asking) -> Iterator[Asking]:
    """With one of its requests."""
    requests = tried.case.requests
    if len(requests) > 1:
        yield from (replace(tried, case=replace(tried.case, requests=(one,))) for one in requests)
