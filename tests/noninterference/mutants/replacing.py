"""How is one function of the product replaced for a while?"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest import mock


def replacing(owner: object, name: str, by: object) -> Callable[[], AbstractContextManager[None]]:
    """What switches `by` on in place of the attribute `name` of a module or class, and back off when it is left."""

    @contextmanager
    def switched_on() -> Iterator[None]:
        with mock.patch.object(owner, name, by):
            yield

    return switched_on
