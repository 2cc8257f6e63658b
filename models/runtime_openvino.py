"""How does a network run on OpenVINO, on a CPU, in float32?

Rows go one by one, so that neighbours cannot matter (R10): on two AVX-512 cores batches of 8 or 32 rows are no faster
(7.7k to 8.2k tokens/s at 224 tokens each way). One row that somebody waits for runs on all cores, of many rows each on
a core of its own. Where the two do not give the same bits, rows go one after the other.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import RuntimeUnavailable
from models.exported import MODEL_FILE, exported_folder, verifies
from models.openvino_import import import_openvino
from models.openvino_rows import RowsAtOnce
from models.runtime import VECTORS, Network, TokenBatch, openvino_name, torch_name

# Queries are short. A network compiled for one row of 16 or 32 tokens answers in 2.8 ms where the one with free shapes
# takes 3.7, for 50 MB each; longer rows gain nothing.
_FIXED_LENGTHS = (16, 32)
_FREE = 0
_PRECISION = "f32"
_PROBES = (16, 32, 48, 96, 160, 256)  # tokens of the rows that must have the same bits both ways
_PROBE_IDS = 8  # every vocabulary has as many


class OpenvinoRuntime:
    """A network on OpenVINO. Calls for one row wait for each other; rows of other calls take turns."""

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
        self._window = network.window
        self._requests: dict[int, Any] = {}  # OpenVINO has no types
        self._lock = Lock()
        self._at_once: RowsAtOnce | None = None
        self._is_probed = False
        self._probing = Lock()

    def run(self, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        rows, length = batch.ids.shape
        with self._lock:
            request = self._request(length if rows == 1 and length in _FIXED_LENGTHS else _FREE)
            request.infer(self._inputs(batch))
            result: NDArray[np.float32] = request.get_output_tensor(output).data.copy()
        return result

    def run_each(self, batches: Sequence[TokenBatch], *, output: int) -> list[NDArray[np.float32]]:
        at_once = self._rows_at_once() if len(batches) > 1 else None
        if at_once is None:
            return [self.run(batch, output=output) for batch in batches]
        return at_once.run([self._inputs(batch) for batch in batches], output=output)

    def _inputs(self, batch: TokenBatch) -> list[NDArray[np.int64]]:
        return [batch.ids, batch.mask, batch.types][: len(self._model.inputs)]

    def _request(self, length: int) -> Any:
        """The request for one row of `length` tokens, or for any shape; compiled at first use (0.2 to 0.4 s)."""
        if length not in self._requests:
            model = self._model
            if length != _FREE:
                model = model.clone()
                model.reshape({place: [1, length] for place in range(len(model.inputs))})
            settings = {"INFERENCE_PRECISION_HINT": _PRECISION, "PERFORMANCE_HINT": "LATENCY"}
            self._requests[length] = self._core.compile_model(model, "CPU", settings).create_infer_request()
        return self._requests[length]

    def _rows_at_once(self) -> RowsAtOnce | None:
        """Many rows at once, opened and probed at first use (a second); None where there is one core, or where a probe
        gets other bits than alone. Kernels split their sums by shape and number of threads, whatever the numbers, so
        one row of each kind of length is enough."""
        with self._probing:
            if not self._is_probed:
                self._at_once = self._probed()
                self._is_probed = True
            return self._at_once

    def _probed(self) -> RowsAtOnce | None:
        probes = [_probe(min(length, self._window)) for length in _PROBES]
        alone = [self.run(probe, output=VECTORS) for probe in probes]
        compiled = next(iter(self._requests.values())).get_compiled_model()
        cores = int(compiled.get_property("INFERENCE_NUM_THREADS"))
        if cores == 1:
            return None
        opened = RowsAtOnce(self._core, self._model, cores=cores, precision=_PRECISION)
        together = opened.run([self._inputs(probe) for probe in probes], output=VECTORS)
        same = all(np.array_equal(one, other, equal_nan=True) for one, other in zip(alone, together, strict=True))
        return opened if same else None


def _probe(length: int) -> TokenBatch:
    ids = np.arange(length, dtype=np.int64)[None] % _PROBE_IDS
    return TokenBatch(ids=ids, mask=np.ones_like(ids), types=np.zeros_like(ids))
