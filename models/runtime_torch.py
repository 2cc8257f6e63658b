"""How does a network run on torch, on any device?

float32 on a CPU, float16 on CUDA. Useful wherever there is a GPU, and on CPUs without OpenVINO. Codes of float32 in
batches of several rows differ for up to 1% of short texts, so a CPU encodes one by one.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from models.errors import DeviceOutOfMemory
from models.network import load
from models.runtime import Network, TokenBatch, torch_name


class TorchRuntime:
    """A network on one torch device."""

    def __init__(self, network: Network, *, device: torch.device) -> None:
        """Loads the network onto `device`. Takes seconds."""
        dtype = torch.float16 if device.type == "cuda" else torch.float32
        self._network = load(network).to(device, dtype)
        self._device = device
        self.name = torch_name(device.type)

    def run(self, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        arrays = (batch.ids, batch.mask, batch.types)[: self._network.inputs]
        try:
            with torch.inference_mode():
                tensors = [torch.from_numpy(array).to(self._device) for array in arrays]
                result: NDArray[np.float32] = self._network(*tensors)[output].cpu().numpy()
                return result
        except torch.OutOfMemoryError:
            pass
        # Outside the except: its traceback would hold the tensors that must go before a smaller batch is tried.
        torch.cuda.empty_cache()
        raise DeviceOutOfMemory(rows=batch.ids.shape[0], length=batch.ids.shape[1])
