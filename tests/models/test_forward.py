import numpy as np
import pytest
from numpy.typing import NDArray

from models.errors import DeviceOutOfMemory
from models.forward import RowRunner
from models.runtime import TokenBatch
from models.tokenizer import TokenRow
from tests.models.builders import FakeRuntime


def rows(*lengths: int) -> list[TokenRow]:
    """Rows of these lengths; the ids of row 0 are all 100, of row 1 all 101, and so on."""
    return [TokenRow(ids=[100 + place] * length, types=[0] * length) for place, length in enumerate(lengths)]


def first_ids(batch: TokenBatch) -> NDArray[np.float32]:
    return batch.ids[:, :1].astype(np.float32)


def run(runtime: FakeRuntime, wanted: list[TokenRow], sizes: tuple[int, ...]) -> list[int]:
    outputs = RowRunner(runtime=runtime, pad_id=9, window=64).run(wanted, output=0, batch_sizes=sizes)
    return [int(output[0]) for output in outputs]


def test_outputs_come_in_the_order_of_the_rows_whatever_their_lengths() -> None:
    assert run(FakeRuntime(first_ids), rows(40, 3, 20, 5), (1, 2)) == [100, 101, 102, 103]


def test_rows_are_padded_with_the_models_own_id_and_masked() -> None:
    seen: list[TokenBatch] = []

    def record(batch: TokenBatch) -> NDArray[np.float32]:
        seen.append(batch)
        return first_ids(batch)

    run(FakeRuntime(record), rows(3), (1,))
    assert seen[0].ids.tolist() == [[100] * 3 + [9] * 13]
    assert seen[0].mask.tolist() == [[1] * 3 + [0] * 13]


def test_rows_that_fill_up_a_batch_reach_no_output() -> None:
    runtime = FakeRuntime(first_ids)

    assert run(runtime, rows(5, 5, 5), (1, 8)) == [100, 101, 102]
    assert runtime.shapes == [(8, 16)]


@pytest.mark.parametrize(
    ("room", "shapes"),
    [
        (4, [(8, 16), (4, 16), (4, 16)]),
        (3, [(8, 16), (4, 16), *[(1, 16)] * 4, (4, 16), *[(1, 16)] * 4]),
    ],
)
def test_a_batch_too_large_for_the_device_is_made_smaller_with_the_same_outputs(
    room: int, shapes: list[tuple[int, int]]
) -> None:
    """Threat C4: halved to an allowed size, then one by one."""

    def small_device(batch: TokenBatch) -> NDArray[np.float32]:
        if batch.ids.shape[0] > room:
            raise DeviceOutOfMemory(rows=batch.ids.shape[0], length=batch.ids.shape[1])
        return first_ids(batch)

    runtime = FakeRuntime(small_device)

    assert run(runtime, rows(*[5] * 8), (1, 2, 4, 8)) == list(range(100, 108))
    assert runtime.shapes == shapes


def test_what_does_not_fit_after_one_halving_goes_one_by_one_and_no_further() -> None:
    """Threat C4: two retries at most, and the last one is as small as there is."""

    def no_memory(batch: TokenBatch) -> NDArray[np.float32]:
        raise DeviceOutOfMemory(rows=batch.ids.shape[0], length=batch.ids.shape[1])

    runtime = FakeRuntime(no_memory)

    with pytest.raises(DeviceOutOfMemory, match="1 rows of 16 tokens"):
        run(runtime, rows(*[5] * 8), (1, 2, 4, 8))
    assert runtime.shapes == [(8, 16), (4, 16), (1, 16)]
