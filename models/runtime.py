"""What does a runtime promise, and which are on this machine?

A runtime runs one network on one device in one precision. Its name is part of a catalog's recipe (R10): codes are
defined by it. A runtime of another version has another name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evidence.canonical import digest
from models.folder import ModelFolder
from models.registry import Pooling

VECTORS = 0  # output of an encoder network: (rows, d), one vector a text
TOKENS = 1  # output of an encoder network: (rows, length, d), one vector a token, padding included
SCORES = 0  # output of a pair network: (rows,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBatch:
    """Rows of one padded length, as every network takes them.

    ids, mask, types: (rows, length) int64, C-contiguous. mask: 1 for a token, 0 for padding. types: which segment of
    a pair a token belongs to, 0 outside pairs and for padding.
    """

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderNetwork:
    """Token rows to text vectors and token vectors, by the model in `folder`. `name`: the entry's, for messages."""

    name: str
    folder: ModelFolder
    pooling: Pooling
    normalize: bool
    window: int

    @property
    def digest(self) -> str:
        return digest(
            {"network": "encoder", "model": self.folder.digest, "pooling": self.pooling, "normalize": self.normalize}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairNetwork:
    """Token rows of a query and a text together to one score, by the model in `folder`. `name`: as above."""

    name: str
    folder: ModelFolder
    window: int

    @property
    def digest(self) -> str:
        return digest({"network": "pair", "model": self.folder.digest})


Network = EncoderNetwork | PairNetwork


class Runtime(Protocol):
    """Runs a network. Safe to call from several threads; calls may wait for each other."""

    @property
    def name(self) -> str:
        """Engine, version, precision and, where the engine has several, device: `openvino-2026.4.1-f32`."""

    def run(self, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        """One output of the network, on the host, in float32. Raises DeviceOutOfMemory; the batch may be halved."""

    def run_each(self, batches: Sequence[TokenBatch], *, output: int) -> list[NDArray[np.float32]]:
        """What `run` gives for each batch, bit by bit, in the order given; several may be worked on at once.

        It is fastest with the longest batches in front. Raises DeviceOutOfMemory.
        """


def openvino_name() -> str | None:
    """The name of the OpenVINO runtime, or None where it is not installed."""
    return f"openvino-{_release('openvino')}-f32" if find_spec("openvino") is not None else None


def torch_name(device: str) -> str:
    """The name of the torch runtime on `device`: float32 on `cpu`, float16 on `cuda`."""
    return f"torch-{_release('torch')}-{'f16' if device == 'cuda' else 'f32'}-{device}"


def runtime_names(device: str) -> tuple[str, ...]:
    """The runtimes at hand on `device` (`cpu` or `cuda`), the one to try first in front. Imports none of them."""
    openvino = openvino_name()
    if device == "cpu" and openvino is not None:
        return (openvino, torch_name(device))
    return (torch_name(device),)


def batch_sizes_to_try(device: str) -> tuple[int, ...]:
    """Rows per call worth qualifying on `device`: on a CPU more than one is no faster."""
    return (1, 8, 32, 128) if device == "cuda" else (1,)


def _release(package: str) -> str:
    """A package's version without the local part that names how it was built."""
    return metadata.version(package).partition("+")[0]
