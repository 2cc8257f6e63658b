"""How does a network run on OpenVINO, on a CPU, in float32?

One row that somebody waits for runs on all cores, and so do a few short ones in one pass; of many rows each core takes
one, or one pass of short ones. A row gets the bits that it gets alone (R10): where a probe of any such way gets others,
that way is not taken. Longer rows do not share: on two AVX-512 cores batches of 8 or 32 rows of 224 tokens are no
faster than one at a time (7.7k to 8.2k tokens/s).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import RuntimeUnavailable
from models.exported import MODEL_FILE, exported_folder, verifies
from models.openvino_import import import_openvino
from models.openvino_rows import RowsAtOnce
from models.runtime import Network, TokenBatch, openvino_name, torch_name
from models.short_rows import LENGTHS, most_rows, passes, together

# Queries are short. A network compiled for one row of 16 or 32 tokens answers in 2.8 ms where the one with free shapes
# takes 3.7, for 50 MB each; longer rows gain nothing.
_FIXED_LENGTHS = (16, 32)
_FREE = 0
_PRECISION = "f32"
_PROBES = (16, 32, 48, 96, 160, 256)  # tokens of the rows that must have the same bits both ways
_PROBE_IDS = 8  # every vocabulary has as many

_Outputs = list[NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proven:
    """What gives each row the bits that it gets alone. at_once: many passes at once. shares: short rows in a pass."""

    at_once: RowsAtOnce | None
    shares: bool


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
        self._proven: _Proven | None = None
        self._probing = Lock()

    def run(self, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        rows, length = batch.ids.shape
        with self._lock:
            request = self._request(length if rows == 1 and length in _FIXED_LENGTHS else _FREE)
            request.infer(self._inputs(batch))
            result: NDArray[np.float32] = request.get_output_tensor(output).data.copy()
        return result

    def run_each(self, batches: Sequence[TokenBatch], *, output: int) -> _Outputs:
        if len(batches) <= 1:
            return [self.run(batch, output=output) for batch in batches]
        proven = self._prove()
        parts = passes(batches) if proven.shares else [(position,) for position in range(len(batches))]
        run = [together([batches[position] for position in part]) for part in parts]
        outputs = self._run_at_once(proven.at_once, run, output=output)
        rows: dict[int, NDArray[np.float32]] = {}
        for part, found in zip(parts, outputs, strict=True):
            rows.update(zip(part, [found] if len(part) == 1 else np.split(found, len(part)), strict=True))
        return [rows[position] for position in range(len(batches))]

    def _run_at_once(self, at_once: RowsAtOnce | None, batches: Sequence[TokenBatch], *, output: int) -> _Outputs:
        """One batch on all cores, several on a core each where that is proven."""
        if at_once is None or len(batches) == 1:
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

    def _prove(self) -> _Proven:
        """Opened and probed at first use (a second). Kernels split their sums by shape and number of threads, whatever
        the numbers, so one probe of each shape, or of each kind of length, is enough."""
        with self._probing:
            if self._proven is None:
                self._proven = self._probed()
            return self._proven

    def _probed(self) -> _Proven:
        single = [[(min(length, self._window), 0)] for length in _PROBES]
        short = [
            [(length, number) for number in range(rows)]
            for length in LENGTHS
            if length <= self._window
            for rows in range(2, most_rows(length) + 1)
        ]
        outputs = range(len(self._model.outputs))
        rows = {*chain(*single), *chain(*short)}
        alone = {(row, output): self.run(_probe(*row), output=output) for row in rows for output in outputs}
        at_once = self._opened_at_once()

        def same(probes: Sequence[Sequence[tuple[int, int]]], ways: Sequence[RowsAtOnce | None]) -> bool:
            """Whether the rows of each probe get, run together in each of these ways, what each gets alone."""
            batches = [together([_probe(*row) for row in rows]) for rows in probes]
            return all(
                np.array_equal(np.concatenate([alone[row, output] for row in rows]), found, equal_nan=True)
                for output in outputs
                for way in ways
                for rows, found in zip(probes, self._run_at_once(way, batches, output=output), strict=True)
            )

        if not same(single, [at_once]):
            at_once = None
        return _Proven(at_once=at_once, shares=same(short, [None] if at_once is None else [None, at_once]))

    def _opened_at_once(self) -> RowsAtOnce | None:
        """Many rows at once; None where there is one core."""
        with self._lock:
            compiled = self._request(_FREE).get_compiled_model()
        cores = int(compiled.get_property("INFERENCE_NUM_THREADS"))
        return None if cores == 1 else RowsAtOnce(self._core, self._model, cores=cores, precision=_PRECISION)


def _probe(length: int, number: int) -> TokenBatch:
    """A row padded to `length`; other numbers are other rows, each padded by one token more than the one before."""
    ids = (np.arange(length, dtype=np.int64)[None] * (number + 1) + number) % _PROBE_IDS
    mask = np.ones_like(ids)
    mask[:, length - number :] = 0
    return TokenBatch(ids=ids * mask, mask=mask, types=np.zeros_like(ids))
