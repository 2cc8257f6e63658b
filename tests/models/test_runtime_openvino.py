"""Rows that run at once on OpenVINO get the bits that each gets alone, or else they do not run at once (R10)."""

import random
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.batching import plan
from models.encoder import Encoder
from models.folder import open_folder
from models.forward import token_batch
from models.loading import open_runtime
from models.openvino_rows import Inputs, RowsAtOnce
from models.qualification import all_buckets, sample_rows
from models.registry import EncoderEntry
from models.runtime import TOKENS, VECTORS, EncoderNetwork, Runtime, TokenBatch, openvino_name
from models.runtime_openvino import OpenvinoRuntime
from models.short_rows import LENGTHS

pytestmark = pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is in the extra cpu")


def opened(entry: EncoderEntry, cache: Path) -> Runtime:
    network = EncoderNetwork(
        name=entry.name,
        folder=open_folder(entry),
        pooling=entry.pooling,
        normalize=entry.normalize,
        window=entry.window,
    )
    return open_runtime(network, runtime=str(openvino_name()), device="cpu", cache=cache)


def single_rows(encoder: Encoder, *, each: int) -> list[TokenBatch]:
    """So many sampled texts of every bucket, each a batch of its own, in random order."""
    rows = [
        row for length in all_buckets(encoder.window) for row in sample_rows(encoder.counter, bucket=length, count=each)
    ]
    random.Random(71).shuffle(rows)
    planned = plan([len(row.ids) for row in rows], window=encoder.window, batch_sizes=(1,))
    random.Random(72).shuffle(planned)
    return [token_batch(rows, batch, pad_id=0) for batch in planned]


def ran_at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call ran at once; filled as it happens."""
    calls: list[int] = []
    run = RowsAtOnce.run

    def counted(self: RowsAtOnce, rows: list[Inputs], *, output: int) -> list[NDArray[np.float32]]:
        calls.append(len(rows))
        return run(self, rows, output=output)

    monkeypatch.setattr(RowsAtOnce, "run", counted)
    return calls


def differing(runtime: Runtime, batches: list[TokenBatch], *, output: int) -> int:
    """How many rows get any other bit at once than alone."""
    together = runtime.run_each(batches, output=output)
    alone = [runtime.run(batch, output=output) for batch in batches]
    return sum(one.tobytes() != other.tobytes() for one, other in zip(together, alone, strict=True))


def test_rows_at_once_get_the_bits_that_each_gets_alone(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every bucket of the packaged encoder, in random order."""
    batches = single_rows(minilm, each=1)
    calls = ran_at_once(monkeypatch)

    assert differing(minilm._runner.runtime, batches, output=VECTORS) == 0
    assert calls[-1] == len(batches) == 16


def test_token_vectors_at_once_have_the_bits_that_they_have_alone(tiny_entry: EncoderEntry, cache: Path) -> None:
    runtime = opened(tiny_entry, cache)
    encoder = Encoder(tiny_entry, open_folder(tiny_entry), runtime)

    assert differing(runtime, single_rows(encoder, each=8), output=TOKENS) == 0


@pytest.mark.soak
def test_eight_thousand_rows_at_once_get_the_bits_that_each_gets_alone(minilm: Encoder) -> None:
    assert differing(minilm._runner.runtime, single_rows(minilm, each=500), output=VECTORS) == 0


def test_rows_go_one_after_the_other_where_a_probe_gets_other_bits_at_once(
    tiny_entry: EncoderEntry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where sums are split by the number of cores."""
    run = RowsAtOnce.run
    calls: list[int] = []

    def by_a_bit(self: RowsAtOnce, rows: list[Inputs], *, output: int) -> list[NDArray[np.float32]]:
        calls.append(len(rows))
        first, *others = run(self, rows, output=output)
        return [np.nextafter(first, np.float32(2)), *others]

    monkeypatch.setattr(RowsAtOnce, "run", by_a_bit)
    runtime = opened(tiny_entry, cache)
    batches = single_rows(Encoder(tiny_entry, open_folder(tiny_entry), runtime), each=2)

    assert differing(runtime, batches, output=VECTORS) == 0
    assert len(calls) == 1  # the probe


def short_rows(encoder: Encoder, *, each: int) -> list[TokenBatch]:
    """So many sampled texts of 16 and of 32 tokens, each a batch of its own, mixed."""
    rows = [row for length in LENGTHS for row in sample_rows(encoder.counter, bucket=length, count=each)]
    random.Random(73).shuffle(rows)
    planned = plan([len(row.ids) for row in rows], window=encoder.window, batch_sizes=(1,))
    return [token_batch(rows, batch, pad_id=0) for batch in planned]


def shapes_run(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shape of each batch that all cores ran; filled as it happens."""
    shapes: list[tuple[int, int]] = []
    run = OpenvinoRuntime.run

    def seen(self: OpenvinoRuntime, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        rows, length = batch.ids.shape
        shapes.append((rows, length))
        return run(self, batch, output=output)

    monkeypatch.setattr(OpenvinoRuntime, "run", seen)
    return shapes


@pytest.mark.parametrize("output", [VECTORS, TOKENS])
def test_short_rows_that_share_a_pass_get_the_bits_that_each_gets_alone(minilm: Encoder, output: int) -> None:
    """However many there are, on all cores in one pass and in several on a core each."""
    runtime = minilm._runner.runtime
    batches = short_rows(minilm, each=9)

    assert [differing(runtime, batches[:many], output=output) for many in (2, 3, 7, 18)] == [0, 0, 0, 0]


@pytest.mark.soak
def test_thousands_of_short_rows_in_company_of_every_size_get_the_bits_that_each_gets_alone(minilm: Encoder) -> None:
    runtime = minilm._runner.runtime
    for size in range(2, 13):
        batches = short_rows(minilm, each=600)
        assert sum(differing(runtime, batches[at : at + size], output=VECTORS) for at in range(0, 1200, size)) == 0


def test_a_few_short_rows_are_one_pass_on_all_cores(
    tiny_entry: EncoderEntry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = opened(tiny_entry, cache)
    encoder = Encoder(tiny_entry, open_folder(tiny_entry), runtime)
    encoder.encode_queries(["door", "latch"])  # probes

    shapes = shapes_run(monkeypatch)
    encoder.encode_queries(["door", "latch", "safety"])
    encoder.encode_query("door")
    assert shapes == [(3, 16), (1, 16)]


def test_no_row_shares_a_pass_where_a_probe_gets_other_bits_in_company(
    tiny_entry: EncoderEntry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where sums are split by the number of rows."""
    run = OpenvinoRuntime.run

    def by_a_bit(self: OpenvinoRuntime, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        found = run(self, batch, output=output)
        return found if len(found) == 1 else np.nextafter(found, np.float32(2))

    monkeypatch.setattr(OpenvinoRuntime, "run", by_a_bit)
    runtime = opened(tiny_entry, cache)
    batches = short_rows(Encoder(tiny_entry, open_folder(tiny_entry), runtime), each=3)
    shapes = ran_at_once(monkeypatch)

    assert differing(runtime, batches, output=VECTORS) == 0
    assert shapes[-1] == len(batches)  # each in a pass of its own


def test_calls_at_the_same_time_each_get_their_own_rows(minilm: Encoder) -> None:
    batches = single_rows(minilm, each=1)[:6]
    runtime = minilm._runner.runtime
    alone = [runtime.run(batch, output=VECTORS).tobytes() for batch in batches]

    def shifted(by: int) -> bool:
        found = runtime.run_each(batches[by:] + batches[:by], output=VECTORS)
        return [one.tobytes() for one in found] == alone[by:] + alone[:by]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(shifted, range(4)))
