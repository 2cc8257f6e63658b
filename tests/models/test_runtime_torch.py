from pathlib import Path

import numpy as np
import pytest
import torch

from models.errors import DeviceOutOfMemory
from models.folder import open_folder
from models.loading import open_encoder
from models.qualification import TEXTS_PER_BUCKET, all_buckets, qualify
from models.registry import DEFAULT_ENCODER, EncoderEntry, find_encoder
from models.runtime import VECTORS, EncoderNetwork, TokenBatch, batch_sizes_to_try, torch_name
from models.runtime_torch import TorchRuntime


@pytest.fixture
def runtime(tiny_entry: EncoderEntry) -> TorchRuntime:
    network = EncoderNetwork(
        name=tiny_entry.name,
        folder=open_folder(tiny_entry),
        pooling=tiny_entry.pooling,
        normalize=tiny_entry.normalize,
        window=tiny_entry.window,
    )
    return TorchRuntime(network, device=torch.device("cpu"))


def batch(rows: int) -> TokenBatch:
    ids = np.full((rows, 16), 5, np.int64)
    return TokenBatch(ids=ids, mask=np.ones_like(ids), types=np.zeros_like(ids))


def test_a_device_out_of_memory_is_our_own_error_with_the_batchs_shape_and_nothing_is_held(
    runtime: TorchRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threat C4: an error that held the tensors of the batch would keep the device full."""

    def full(*_: torch.Tensor) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(runtime._network, "forward", full)

    with pytest.raises(DeviceOutOfMemory, match="4 rows of 16 tokens") as refused:
        runtime.run(batch(4), output=VECTORS)
    assert refused.value.__context__ is None


def test_it_answers_again_after_running_out_of_memory(runtime: TorchRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    before = runtime.run(batch(1), output=VECTORS)
    with monkeypatch.context() as patch:
        patch.setattr(runtime._network, "forward", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError()))
        with pytest.raises(DeviceOutOfMemory):
            runtime.run(batch(8), output=VECTORS)

    assert np.array_equal(runtime.run(batch(1), output=VECTORS), before)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_cuda_codes_are_near_the_cpus_and_batches_that_qualify_change_none(cache: Path) -> None:
    entry = find_encoder(DEFAULT_ENCODER, folder=None)
    cpu = open_encoder(entry, runtime=torch_name("cpu"), device="cpu", cache=cache)
    cuda = open_encoder(entry, runtime=torch_name("cuda"), device="cuda", cache=cache)
    texts = ["The upload limit is 25 MB.", "a long text about door latches. " * 30]

    assert (cpu.document_vectors(texts) * cuda.document_vectors(texts)).sum(axis=1).min() > 0.9999
    found = qualify(
        cuda,
        buckets=all_buckets(cuda.window),
        batch_sizes=batch_sizes_to_try("cuda"),
        texts_per_bucket=TEXTS_PER_BUCKET,
    )
    assert found.qualifies
