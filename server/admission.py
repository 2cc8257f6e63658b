"""May this request be worked on now, later, or not at all?

Useful for keeping the queue short and one tenant from filling it. Decisions are plain counting on the event loop;
waiting is on a semaphore, never on sleep. A request that failed to authenticate never gets here.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from evidence.identity import Namespace
from server.errors import TooMany, Unavailable


class Admission:
    """Permits for requests. One instance for each event loop.

    A tenant runs at most `max_running_per_tenant` at once, so that its own queue forms behind its own requests and
    others find a place.
    """

    def __init__(
        self, *, max_running: int, max_running_per_tenant: int, max_waiting: int, max_waiting_per_tenant: int
    ) -> None:
        self._places = anyio.Semaphore(max_running, fast_acquire=True)
        self._max_inside = max_running + max_waiting
        self._max_of_tenant = max(1, max_waiting_per_tenant)
        self._inside: Counter[Namespace] = Counter()
        self._max_running_of_tenant = max_running_per_tenant
        self._places_of_tenant: dict[Namespace, anyio.Semaphore] = {}

    @property
    def inside(self) -> int:
        """How many requests run or wait."""
        return self._inside.total()

    @property
    def free(self) -> int:
        """How many more could run at once."""
        return self._places.value

    @asynccontextmanager
    async def admit(self, tenant: Namespace) -> AsyncIterator["Place"]:
        """Hold a place while the body runs.

        Raises TooMany when the tenant's own share is used up, Unavailable when the server is full; neither waits.
        """
        if self._inside[tenant] >= self._max_of_tenant:
            raise TooMany("this tenant has as many requests waiting as it may; try again in a second")
        if self._inside.total() >= self._max_inside:
            raise Unavailable("the server has as many requests waiting as it may; try again in a second")
        self._inside[tenant] += 1
        own = self._places_of_tenant.get(tenant)
        if own is None:
            own = self._places_of_tenant[tenant] = anyio.Semaphore(self._max_running_of_tenant, fast_acquire=True)
        place = Place(own, self._places)
        try:
            try:
                await place.take()
                yield place
            finally:
                place.give_back()
        finally:
            self._inside[tenant] -= 1
            if not self._inside[tenant]:
                del self._inside[tenant], self._places_of_tenant[tenant]


class Place:
    """What a request that runs holds: one of its tenant's permits, and one of all."""

    def __init__(self, *permits: anyio.Semaphore) -> None:
        self._permits = permits
        self._held: list[anyio.Semaphore] = []

    async def take(self) -> None:
        """Wait for each permit in turn."""
        for permits in self._permits:
            await _take(permits)
            self._held.append(permits)

    async def pass_on(self) -> None:
        """Let those go first who wait, where somebody does. Long work calls it between its steps."""
        if any(permits.statistics().tasks_waiting for permits in self._permits):
            self.give_back()
            await self.take()

    def give_back(self) -> None:
        """Release what is held, also where taking was cut short."""
        while self._held:
            self._held.pop().release()


async def _take(places: anyio.Semaphore) -> None:
    """A place, without a turn of the event loop where one is free: nobody waits then."""
    try:
        places.acquire_nowait()
    except anyio.WouldBlock:
        await places.acquire()
