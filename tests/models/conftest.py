"""Which models are opened once for all tests of this package?"""

from pathlib import Path

import pytest

from models.encoder import Encoder
from models.loading import open_encoder
from models.registry import DEFAULT_ENCODER, CrossEncoderEntry, EncoderEntry, find_encoder
from models.runtime import runtime_names
from tests.models.builders import save_cross_encoder, save_encoder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of exported networks that all tests share."""
    return tmp_path_factory.mktemp("exported")


@pytest.fixture(scope="session")
def tiny_entry(tmp_path_factory: pytest.TempPathFactory) -> EncoderEntry:
    """A small encoder with mean pooling. Copy its folder before changing anything in it."""
    return save_encoder(tmp_path_factory.mktemp("mean"))


@pytest.fixture(scope="session")
def tiny_pair_entry(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoderEntry:
    """A small cross-encoder."""
    return save_cross_encoder(tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="session", params=runtime_names("cpu"))
def tiny(request: pytest.FixtureRequest, tiny_entry: EncoderEntry, cache: Path) -> Encoder:
    """The small encoder on each runtime of this machine's CPU."""
    return open_encoder(tiny_entry, runtime=request.param, device="cpu", cache=cache)


@pytest.fixture(scope="session")
def minilm(cache: Path) -> Encoder:
    """The packaged encoder on the first runtime of this machine's CPU."""
    entry = find_encoder(DEFAULT_ENCODER, folder=None)
    return open_encoder(entry, runtime=runtime_names("cpu")[0], device="cpu", cache=cache)
