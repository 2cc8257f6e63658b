import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from models.errors import DeviceOutOfMemory, DeviceUnavailable
from models.folder import open_folder
from models.forward import RowRunner
from models.loading import open_encoder
from models.qualification import TEXTS_PER_BUCKET, all_buckets, qualify
from models.registry import DEFAULT_ENCODER, EncoderEntry, find_encoder
from models.runtime import VECTORS, EncoderNetwork, TokenBatch, batch_sizes_to_try, torch_name
from models.runtime_torch import TorchRuntime
from models.tokenizer import TokenRow


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
    given: list[weakref.ref[torch.Tensor]] = []

    def full(*tensors: torch.Tensor) -> None:
        given.extend(weakref.ref(tensor) for tensor in (*tensors, torch.zeros(3)))
        raise torch.OutOfMemoryError

    monkeypatch.setattr(runtime._network, "forward", full)

    with pytest.raises(DeviceOutOfMemory, match="4 rows of 16 tokens") as refused:
        runtime.run(batch(4), output=VECTORS)
    assert refused.value.__context__ is None
    assert [tensor() for tensor in given] == [None] * 3


def test_it_answers_again_after_running_out_of_memory(runtime: TorchRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    before = runtime.run(batch(1), output=VECTORS)
    with monkeypatch.context() as patch:
        patch.setattr(runtime._network, "forward", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError()))
        with pytest.raises(DeviceOutOfMemory):
            runtime.run(batch(8), output=VECTORS)

    assert np.array_equal(runtime.run(batch(1), output=VECTORS), before)


def test_200_shortages_change_no_vector_of_a_batch_and_leave_no_tensor_behind(
    runtime: TorchRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of 8 are halved, then go one by one; what does not fit then is our error."""
    rows = [TokenRow(ids=[2, 5 + place, 3], types=[0] * 3) for place in range(8)]
    runner = RowRunner(runtime=runtime, pad_id=0, window=64)
    expected = runner.run(rows, output=VECTORS, batch_sizes=(1,))
    forward = runtime._network.forward
    given: list[weakref.ref[torch.Tensor]] = []
    room = 0

    def little_memory(ids: torch.Tensor, mask: torch.Tensor) -> object:
        if len(ids) > room:
            given.append(weakref.ref(ids))
            raise torch.OutOfMemoryError
        return forward(ids, mask)

    monkeypatch.setattr(runtime._network, "forward", little_memory)
    while len(given) < 200:
        room = (1, 0)[len(given) % 2]
        try:
            found = runner.run(rows, output=VECTORS, batch_sizes=(1, 4, 8))
        except DeviceOutOfMemory:
            assert room == 0
        else:
            assert room == 1
            assert np.allclose(found, expected, atol=1e-6)  # whether bits are equal is for the qualification to say
        assert [tensor for tensor in given if tensor() is not None] == []


def test_a_device_without_room_for_the_model_is_a_device_that_cannot_be_had(
    tiny_entry: EncoderEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the server starts, and states that the channel is unavailable (R15)."""

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch.nn.Module, "to", full)
    with pytest.raises(DeviceUnavailable, match="device cpu has no memory left for the model tiny") as refused:
        open_encoder(tiny_entry, runtime=torch_name("cpu"), device="cpu", cache=Path())
    assert refused.value.__context__ is None


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
