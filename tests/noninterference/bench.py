"""Where are worlds built, and what may differ between two answers? Nothing."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal

from server.in_process import HttpResponse
from server.intake import TextEncoder
from tests.noninterference.application import Application, compared, running
from tests.noninterference.building import build
from tests.noninterference.world import Asked, World

Follow = Callable[[Asked, HttpResponse], Iterable[Asked]]
"""What is asked next, about what an answer gave."""


class Difference(AssertionError):
    """Two answers that must be equal to the last byte are not. The text says to what, and where they part."""


class Bench:
    """Builds worlds in folders of their own, which are gone when they are left.

    shrink: whether the smallest world is looked for in which answers differ, which takes a minute; else the first.
    encoder: that of the template's recipe, where it is not the fast one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        template: Path,
        portal: BlockingPortal,
        shrink: bool = False,
        encoder: TextEncoder | None = None,
    ) -> None:
        self._folder = folder
        self._template = template
        self._encoder = encoder
        self._numbers = count()
        self.portal = portal
        self.shrink = shrink

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A path that is not there yet; what is made there is gone at the end."""
        directory = self._folder / str(next(self._numbers))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    @contextmanager
    def catalog(self, world: World) -> Iterator[Path]:
        """The catalog of a world, built at once."""
        with self.folder() as directory:
            yield build(directory, world, template=self._template, encoder=self._encoder)

    @contextmanager
    def application(self, world: World, **settings: Any) -> Iterator[Application]:
        """The application over the catalog of a world. settings: as those of `running`."""
        chosen = {"encoder": self._encoder, **settings}
        with self.catalog(world) as directory, running(directory, portal=self.portal, **chosen) as opened:
            yield opened

    @contextmanager
    def empty(self, **settings: Any) -> Iterator[Application]:
        """The application over a catalog that nothing was taken into, for a history to be written."""
        with self.folder() as directory:
            shutil.copytree(self._template, directory)
            with running(directory, portal=self.portal, **{"encoder": self._encoder, **settings}) as opened:
                yield opened


def require_equal(asked: Asked, one: HttpResponse, other: HttpResponse) -> None:
    """Raise Difference unless both are the same response: status, headers, body, length (R6)."""
    first, second = compared(one), compared(other)
    if first != second:
        raise Difference(f"{asked}\n{parting(first, second)}")


def parting(first: tuple[int, Any, bytes], second: tuple[int, Any, bytes]) -> str:
    """Where two responses part: status and headers if those do, and the first byte of the bodies, with some around."""
    told = [] if first[:2] == second[:2] else [f"{first[:2]}\n{second[:2]}"]
    one, other = first[2], second[2]
    if one != other:
        shorter = min(len(one), len(other))
        at = next((place for place in range(shorter) if one[place] != other[place]), shorter)
        around = slice(max(at - 120, 0), at + 120)
        told.append(f"byte {at} of {len(one)} and {len(other)}:\n{one[around]!r}\n{other[around]!r}")
    return "\n".join(told)


def each_alike(
    requests: Iterable[Asked],
    one: Callable[[Asked], HttpResponse],
    other: Callable[[Asked], HttpResponse],
    *,
    follow: Follow | None = None,
) -> None:
    """Ask both the same, in the same order, and after each whatever `follow` makes of the answer. Raises Difference
    at the first answers that are not equal."""
    for asked in requests:
        answer = one(asked)
        require_equal(asked, answer, other(asked))
        if follow is not None:
            each_alike(follow(asked, answer), one, other)
