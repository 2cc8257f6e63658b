"""Fixtures that several folders share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.ingest import NO_LABEL, ingest
from muniment.initialize import initialize
from muniment.reindex import reindex
from muniment.shipped import SOURCES
from server.opening import open_pipeline, settings_for
from server.pipeline import Pipeline


@pytest.fixture(scope="session")
def sample_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample catalog, built as `make serve` builds it. Read it; a test that writes makes a copy."""
    directory = tmp_path_factory.mktemp("sample") / "catalog"
    initialize(directory, device="cpu")
    ingest(directory, [SOURCES], label=NO_LABEL)
    reindex(directory, device="cpu")
    return directory


@pytest.fixture(scope="session")
def sample_pipeline(sample_catalog: Path) -> Iterator[Pipeline]:
    """A pipeline over the sample catalog, with the packaged model."""
    with open_pipeline(sample_catalog, settings=settings_for("cpu")) as pipeline:
        yield pipeline
