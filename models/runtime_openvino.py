"""How does a network run on OpenVINO, on a CPU, in float32?

One request at a time on all cores: on two AVX-512 cores batches of 8 or 32 rows are no faster than single rows
(7.7k to 8.2k tokens/s at 224 tokens each way), so rows go one by one and neighbours cannot matter (R10).
"""

from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import RuntimeUnavailable
from models.exported import MODEL_FILE, exported_folder, verifies
from models.openvino_import import import_openvino
from models.runtime import Network, TokenBatch, openvino_name, torch_name

# Queries are short. A network compiled for one row of 16 or 32 tokens answers in 2.8 ms where the one with free shapes
# takes 3.7, for 50 MB each; longer rows gain nothing.
_FIXED_LENGTHS = (16, 32)
_FREE = 0
_SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}


class OpenvinoRuntime:
    """A network on OpenVINO. Calls wait for each other."""

    def __init__(self, network: Network, *, cache: Path) -> None:
        """Opens the network exported in `cache`, after exporting it when it is not there or damaged (seconds)."""
        name = openvino_name()
        if name is None:
            raise RuntimeUnavailable("openvino", (torch_name("cpu"),))
        self.name = name
        folder = exported_folder(network, cache=cache)
        if not verifies(folder):
            from models.export import export  # noqa: PLC0415 - torch is slow to import and not needed otherwise

            export(network, folder)
        self._core = import_openvino().Core()
        self._model = self._core.read_model(str(folder / MODEL_FILE))
        self._requests: dict[int, Any] = {}  # OpenVINO has no types
        self._lock = Lock()

    def run(self, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        rows, length = batch.ids.shape
        arrays = [batch.ids, batch.mask, batch.types][: len(self._model.inputs)]
        with self._lock:
            request = self._request(length if rows == 1 and length in _FIXED_LENGTHS else _FREE)
            request.infer(arrays)
            result: NDArray[np.float32] = request.get_output_tensor(output).data.copy()
        return result

    def _request(self, length: int) -> Any:
        """The request for one row of `length` tokens, or for any shape; compiled at first use (0.2 to 0.4 s)."""
        if length not in self._requests:
            model = self._model
            if length != _FREE:
                model = model.clone()
                model.reshape({place: [1, length] for place in range(len(model.inputs))})
            self._requests[length] = self._core.compile_model(model, "CPU", _SETTINGS).create_infer_request()
        return self._requests[length]
