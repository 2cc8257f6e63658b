"""How does a network run on torch, on any device?

float32 on a CPU, float16 on CUDA. Useful wherever there is a GPU, and on CPUs without OpenVINO. What float32 gives a
row may depend on how many are multiplied with it (see qualification), so a CPU encodes one by one.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from models.errors import DeviceOutOfMemory, DeviceUnavailable
from models.network import PairScorer, TextEncoder, load
from models.runtime import Network, TokenBatch, torch_name


class TorchRuntime:
    """A network on one torch device."""

    def __init__(self, network: Network, *, device: torch.device) -> None:
        """Loads the network onto `device`. Takes seconds. Raises DeviceUnavailable where it has no room for it."""
        placed = _placed(network, device)
        if placed is None:
            torch.cuda.empty_cache()
            raise DeviceUnavailable(f"device {device.type} has no memory left for the model {network.name}")
        self._network = placed
        self._device = device
        self.name = torch_name(device.type)

    def run(self, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        try:
            return self._output(batch, output)
        except torch.OutOfMemoryError:
            pass
        # Outside the except: its traceback would hold the tensors that must go before a smaller batch is tried.
        torch.cuda.empty_cache()
        raise DeviceOutOfMemory(rows=batch.ids.shape[0], length=batch.ids.shape[1])

    def run_each(self, batches: Sequence[TokenBatch], *, output: int) -> list[NDArray[np.float32]]:
        return [self.run(batch, output=output) for batch in batches]

    def _output(self, batch: TokenBatch, output: int) -> NDArray[np.float32]:
        """In a frame of its own, which lets go of every tensor however it ends."""
        arrays = (batch.ids, batch.mask, batch.types)[: self._network.inputs]
        with torch.inference_mode():
            tensors = [torch.from_numpy(array).to(self._device) for array in arrays]
            result: NDArray[np.float32] = self._network(*tensors)[output].cpu().numpy()
            return result


def _placed(network: Network, device: torch.device) -> TextEncoder | PairScorer | None:
    """The network on the device, or None where it has no room; what was there of it by then is gone again."""
    try:
        return load(network).to(device, torch.float16 if device.type == "cuda" else torch.float32)
    except torch.OutOfMemoryError:
        return None
