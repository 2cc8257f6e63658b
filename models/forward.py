"""How are token rows run through a runtime: all of them, in order, in allowed batches only?

Useful for every model here. A row's output is the one it gets at its bucket length; the mask is always passed, so that
padding does not reach a row's own tokens. Out of device memory, a batch is halved once, to an allowed size, and what
still does not fit goes one by one: two retries at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.batching import ONE_BY_ONE, Batch, halve, plan
from models.errors import DeviceOutOfMemory
from models.runtime import Runtime, TokenBatch
from models.tokenizer import TokenRow


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRunner:
    """A runtime, with what it takes to turn token rows into its batches. `window`: tokens of a row at most."""

    runtime: Runtime
    pad_id: int
    window: int

    def run(self, rows: Sequence[TokenRow], *, output: int, batch_sizes: Sequence[int]) -> list[NDArray[np.float32]]:
        """One output of the network for each row, in the order given.

        Result: n arrays float32, each one row of the output with whatever axes follow it (padding included).
        Raises DeviceOutOfMemory when even one row does not fit.
        """
        batches = plan([len(row.ids) for row in rows], window=self.window, batch_sizes=batch_sizes)
        alone = [batch for batch in reversed(batches) if batch.rows == 1]  # the longest first
        arrays = [token_batch(rows, batch, pad_id=self.pad_id) for batch in alone]
        results = {
            batch.positions[0]: result[0]
            for batch, result in zip(alone, self.runtime.run_each(arrays, output=output), strict=True)
        }
        for batch in batches:
            if batch.rows > 1:
                outputs = self._run(rows, batch, output=output, then=(batch_sizes, ONE_BY_ONE))
                results.update(zip(batch.positions, outputs, strict=True))
        return [results[position] for position in range(len(rows))]

    def _run(
        self, rows: Sequence[TokenRow], batch: Batch, *, output: int, then: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]]:
        """then: the sizes that smaller batches may have, for each retry that is left."""
        try:
            result = self.runtime.run(token_batch(rows, batch, pad_id=self.pad_id), output=output)
            return list(result[: len(batch.positions)])
        except DeviceOutOfMemory:
            smaller = halve(batch, batch_sizes=then[0]) if then else []
            if not smaller:
                raise
        return [result for part in smaller for result in self._run(rows, part, output=output, then=then[1:])]


def token_batch(rows: Sequence[TokenRow], batch: Batch, *, pad_id: int) -> TokenBatch:
    """The arrays of one batch; the rows that fill it up repeat its first."""
    ids = np.full((batch.rows, batch.length), pad_id, np.int64)
    mask = np.zeros((batch.rows, batch.length), np.int64)
    types = np.zeros((batch.rows, batch.length), np.int64)
    fill = batch.positions[:1] * (batch.rows - len(batch.positions))
    for place, position in enumerate((*batch.positions, *fill)):
        row = rows[position]
        ids[place, : len(row.ids)] = row.ids
        mask[place, : len(row.ids)] = 1
        types[place, : len(row.ids)] = row.types
    return TokenBatch(ids=ids, mask=mask, types=types)
