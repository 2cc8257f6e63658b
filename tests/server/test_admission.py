"""Tests of `server/admission.py`."""

import anyio
import pytest

from evidence.identity import Namespace
from server.admission import Admission
from server.errors import TooMany, Unavailable

BLUE, RED = Namespace("blue"), Namespace("red")


def test_a_tenant_at_its_share_is_refused_while_another_is_admitted() -> None:
    async def scenario() -> None:
        admission = Admission(max_running=4, max_running_per_tenant=4, max_waiting=4, max_waiting_per_tenant=1)
        async with admission.admit(BLUE):
            with pytest.raises(TooMany):
                await admission.admit(BLUE).__aenter__()
            async with admission.admit(RED):
                pass

    anyio.run(scenario)


def test_a_full_server_refuses_without_waiting_and_recovers() -> None:
    async def scenario() -> None:
        admission = Admission(max_running=1, max_running_per_tenant=1, max_waiting=0, max_waiting_per_tenant=9)
        async with admission.admit(BLUE):
            with pytest.raises(Unavailable):
                await admission.admit(RED).__aenter__()
        async with admission.admit(RED):
            pass

    anyio.run(scenario)


def test_a_cancelled_request_gives_its_place_back() -> None:
    async def scenario() -> None:
        admission = Admission(max_running=1, max_running_per_tenant=1, max_waiting=1, max_waiting_per_tenant=2)
        async with admission.admit(BLUE):
            with anyio.move_on_after(0.01):
                async with admission.admit(BLUE):
                    pytest.fail("there was no place")
            async with anyio.create_task_group() as group:
                group.cancel_scope.cancel()
        async with admission.admit(BLUE):
            pass

    anyio.run(scenario)


def test_a_tenant_with_many_requests_leaves_a_place_to_another() -> None:
    async def scenario() -> None:
        admission = Admission(max_running=2, max_running_per_tenant=1, max_waiting=9, max_waiting_per_tenant=9)
        order: list[Namespace] = []
        release = anyio.Event()

        async def work(tenant: Namespace) -> None:
            async with admission.admit(tenant):
                order.append(tenant)
                await release.wait()

        async with anyio.create_task_group() as group:
            for tenant in (BLUE, BLUE, BLUE, RED):
                group.start_soon(work, tenant)
            await anyio.wait_all_tasks_blocked()
            assert sorted(order) == [BLUE, RED]
            release.set()

    anyio.run(scenario)
