"""How do many rows run on OpenVINO at once, each on a core of its own?

A core that works alone waits for no other: on two AVX-512 cores it takes 0.74 of the processor time that two cores on
one row take. Useful for documents and pairs. Not useful for one query, which is answered later so.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_QUEUED = 2  # rows of a call that are handed over for each core: one is worked on, the next one waits

Inputs = Sequence[NDArray[np.int64]]


class RowsAtOnce:
    """A network of free shapes, compiled for as many rows at once as there are cores. Safe to call from several
    threads, whose rows take turns."""

    def __init__(self, core: Any, model: Any, *, cores: int, precision: str) -> None:
        """Takes 0.3 s. Weights are kept once for all cores."""
        settings = {
            "INFERENCE_PRECISION_HINT": precision,
            "PERFORMANCE_HINT": "THROUGHPUT",
            "NUM_STREAMS": cores,
            "INFERENCE_NUM_THREADS": cores,
        }
        self._compiled = core.compile_model(model, "CPU", settings)  # OpenVINO has no types
        self._queued = _QUEUED * cores

    def run(self, rows: Sequence[Inputs], *, output: int) -> list[NDArray[np.float32]]:
        """One output of the network for each row, in the order given. Rows begin in that order: give long ones first,
        for in the end some cores have nothing to do."""
        requests = [self._compiled.create_infer_request() for _ in range(min(self._queued, len(rows)))]
        underway: deque[Any] = deque()
        results: list[NDArray[np.float32]] = []
        for place, inputs in enumerate(rows):
            if place < len(requests):
                request = requests[place]
            else:
                request = underway.popleft()
                results.append(_finished(request, output))
            request.start_async(list(inputs))
            underway.append(request)
        return results + [_finished(request, output) for request in underway]


def _finished(request: Any, output: int) -> NDArray[np.float32]:
    request.wait()
    result: NDArray[np.float32] = request.get_output_tensor(output).data.copy()
    return result
