"""Fixtures of the slots: a catalog, a pipeline over it, and pipelines with a class of other budgets."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.pipeline import Pipeline
from tests.evidence_contract.slot_world import SHIPPED, records
from tests.worlds import build, opened


@pytest.fixture(scope="session", name="slot_catalog")
def fixture_slot_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("slots") / "catalog"
    build(directory, records())
    return directory


@pytest.fixture(scope="session", name="slot_pipeline")
def fixture_slot_pipeline(slot_catalog: Path) -> Iterator[Pipeline]:
    with opened(slot_catalog) as pipeline:
        yield pipeline


@pytest.fixture(name="with_budgets")
def fixture_with_budgets(slot_catalog: Path, tmp_path: Path) -> Callable[..., Any]:
    """A pipeline with a class `tight`: the default one but for these budgets, and for other fields given by name."""

    def opened_with(budgets: dict[str, int], **fields: object) -> Any:
        shipped = json.loads((SHIPPED / "explanatory.json").read_bytes())
        tight = {**shipped, **fields, "name": "tight", "slot_budgets": {**shipped["slot_budgets"], **budgets}}
        folder = tmp_path / f"classes-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "tight.json").write_text(json.dumps(tight))
        return opened(slot_catalog, query_classes_dir=folder)

    return opened_with
