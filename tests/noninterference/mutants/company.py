"""What if the requests of several callers shared a batch? (R10)

A server that batches over requests waits a moment for company. What a row gets then depends on whose rows lie beside
it: by rounding, by padding, by a row that is handed to the wrong one.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from models.forward import RowRunner
from models.tokenizer import TokenRow
from tests.noninterference.mutants.mutant import Mutant, Oracle

COMPANY_S = 0.2  # how long the first one waits for a second
SIZES = (1, 8, 32)

_run = RowRunner.run


@dataclass(slots=True, kw_only=True)
class _Call:
    rows: Sequence[TokenRow]
    outputs: list[NDArray[np.float32]] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)


class _Batcher:
    """Runs the rows of all requests under way together, for each network and output apart."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[tuple[int, int], list[_Call]] = {}

    def run(
        self, runner: RowRunner, rows: Sequence[TokenRow], *, output: int, batch_sizes: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        call, place = _Call(rows=rows), (id(runner.runtime), output)
        with self._changed:
            calls = self._waiting.setdefault(place, [])
            calls.append(call)
            leads = len(calls) == 1
            self._changed.notify_all()
            if leads:
                self._changed.wait_for(lambda: len(calls) > 1, timeout=COMPANY_S)
                del self._waiting[place]
        if not leads:
            call.done.wait()
            return call.outputs
        try:
            outputs = iter(_run(runner, [row for one in calls for row in one.rows], output=output, batch_sizes=SIZES))
            for one in calls:
                one.outputs = [next(outputs) for _ in one.rows]
        finally:
            for one in calls:
                one.done.set()
        return call.outputs


@contextmanager
def _batching_over_requests() -> Iterator[None]:
    batcher = _Batcher()

    def run(
        self: RowRunner, rows: Sequence[TokenRow], *, output: int, batch_sizes: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        return batcher.run(self, rows, output=output, batch_sizes=batch_sizes)

    with mock.patch.object(RowRunner, "run", run):
        yield


MIXED_BATCHES = Mutant(
    number=22,
    name="reranker batch that mixes tenants",
    what="rows of requests that are under way together are padded and run together",
    killer=Oracle.RERANKER_SPY,
    switched_on=_batching_over_requests,
)
COMPANY = (MIXED_BATCHES,)
