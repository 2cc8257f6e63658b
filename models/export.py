"""How does a torch network become an OpenVINO file, once?

OpenVINO's frontend for torch is called directly: its `convert_model` is built around usage reports. Useful when nothing
in the cache verifies. Not useful for running: see runtime_openvino.
"""

import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.errors import ExportDiffers
from models.exported import MODEL_FILE, SIDECAR, WEIGHTS_FILE, verifies
from models.folder import file_digest
from models.network import PairScorer, TextEncoder, load
from models.openvino_import import import_openvino
from models.runtime import Network

_EXAMPLE = (2, 32)  # rows and tokens to trace with; both stay free in the exported network
_PROBES = ((1, 16), (3, 48))  # rows and tokens on which export and original must agree
_TOLERANCE = 1e-4  # absolute and relative; float32 kernels differ by about 1e-6
_EXPECTED_WARNINGS: tuple[tuple[type[Warning], str], ...] = (
    (DeprecationWarning, r"`torch\.jit\.trace"),  # the way the frontend reads a network with free shapes
    (FutureWarning, r"`is_gradient_checkpointing`"),  # tracing reads every property of the model
    (Warning, r"Converting a tensor to a Python boolean"),  # checks of the mask that always hold
)


def export(network: Network, destination: Path) -> None:
    """Write the network to the folder `destination`, replacing what does not verify there. Takes seconds.

    Raises ExportDiffers when the export gives other numbers than the original.
    """
    module = load(network)
    with _expected_warnings_ignored(), torch.inference_mode():
        decoders = import_openvino("openvino.frontend.pytorch.ts_decoder")
        decoder = decoders.TorchScriptPythonDecoder(module, example_input=_inputs(module, *_EXAMPLE))
        frontend = import_openvino("openvino.frontend").FrontEndManager().load_by_framework("pytorch")
        exported = frontend.convert(frontend.load(decoder))
    _compare(module, exported)
    destination.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=destination.parent, prefix=".export-"))
    try:
        import_openvino().save_model(exported, str(made / MODEL_FILE), compress_to_fp16=False)
        digests = {name: file_digest(made / name) for name in (MODEL_FILE, WEIGHTS_FILE)}
        (made / SIDECAR).write_text(json.dumps(digests, indent=2) + "\n", "utf-8")
        _publish(made, destination)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _publish(made: Path, destination: Path) -> None:
    if destination.exists() and not verifies(destination):
        shutil.rmtree(destination)
    try:
        made.rename(destination)
    except OSError:
        if not verifies(destination):  # otherwise another process was first, with the same files
            raise


def _inputs(module: TextEncoder | PairScorer, rows: int, tokens: int) -> tuple[torch.Tensor, ...]:
    """Ids in turn through the vocabulary; the last quarter of each row but the first is masked out."""
    ids = (torch.arange(rows * tokens) % module.model.config.vocab_size).reshape(rows, tokens)
    mask = torch.ones_like(ids)
    mask[1:, -tokens // 4 :] = 0
    return (ids, mask, torch.zeros_like(ids))[: module.inputs]


def _compare(module: TextEncoder | PairScorer, exported: Any) -> None:
    compiled = import_openvino().Core().compile_model(exported, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for rows, tokens in _PROBES:
        inputs = _inputs(module, rows, tokens)
        with torch.inference_mode():
            expected = module(*inputs)[0].numpy()
        got = compiled([tensor.numpy() for tensor in inputs])[0]
        if not np.allclose(got, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
            worst = float(np.abs(got - expected).max())
            raise ExportDiffers(f"exported network differs by {worst:.2g} on {rows} rows of {tokens} tokens")


@contextmanager
def _expected_warnings_ignored() -> Iterator[None]:
    """Ignore the warnings of tracing that are known to be harmless, and no others."""
    logger = logging.getLogger("transformers")
    level = logger.level
    with warnings.catch_warnings():
        for category, message in _EXPECTED_WARNINGS:
            warnings.filterwarnings("ignore", message, category)
        logger.setLevel(logging.ERROR)  # tracing reads a property that logs its own absence
        try:
            yield
        finally:
            logger.setLevel(level)
