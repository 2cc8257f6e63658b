"""What the tests of this folder share: one event loop, one empty catalog to copy, no syncing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.noninterference import building
from tests.noninterference.bench import Bench


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """An event loop in a thread of its own."""
    with start_blocking_portal() as opened:
        yield opened


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty catalog."""
    return building.template(tmp_path_factory.mktemp("template") / "catalog")


@pytest.fixture(autouse=True)
def unhurried() -> Iterator[None]:
    with building.unhurried():
        yield


@pytest.fixture
def bench(tmp_path: Path, template: Path, portal: BlockingPortal, request: pytest.FixtureRequest) -> Bench:
    """A bench that looks for the smallest world with a difference, or any where faults are switched on."""
    return Bench(tmp_path, template=template, portal=portal, shrink="mutants" not in request.path.parts)
