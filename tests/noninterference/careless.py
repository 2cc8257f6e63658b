"""What if something that is kept were found again under too little of its key?

For tests that a comparison notices: as if a part of the key had been forgotten when it was written down.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

Part = Callable[[Any], Any]


class Careless:
    """What is kept, under a part of each key."""

    def __init__(self, kept: Any, part: Part) -> None:
        self._kept = kept
        self._part = part

    def get(self, key: Any) -> Any:
        return self._kept.get(self._part(key))

    def put(self, key: Any, value: Any, **more: Any) -> None:
        self._kept.put(self._part(key), value, **more)

    def get_or_make(self, key: Any, make: Callable[[], Any]) -> Any:
        return self._kept.get_or_make(self._part(key), make)


def forgetting(owner: type, attribute: str, part: Part) -> Callable[[], AbstractContextManager[None]]:
    """What switches this on for `attribute` of every `owner` that is made meanwhile."""

    @contextmanager
    def switched_on() -> Iterator[None]:
        made: Any = owner.__init__  # type: ignore[misc]  # of the class, to be called with its instances

        def make(self: Any, *arguments: Any, **named: Any) -> None:
            made(self, *arguments, **named)
            setattr(self, attribute, Careless(getattr(self, attribute), part))

        with mock.patch.object(owner, "__init__", make):
            yield

    return switched_on
