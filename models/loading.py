"""How does a registry entry become something that encodes or reranks?

The one place that knows every runtime. A runtime's own libraries are imported only when it is opened: OpenVINO may
not be installed, and torch's models take seconds to import.
"""

from collections.abc import Sequence
from pathlib import Path

from models.batching import ONE_BY_ONE
from models.cross_encoder import CrossEncoderReranker
from models.encoder import Encoder
from models.errors import RuntimeUnavailable
from models.folder import open_folder
from models.registry import CrossEncoderEntry, EncoderEntry
from models.runtime import EncoderNetwork, Network, PairNetwork, Runtime, openvino_name, runtime_names


def open_encoder(
    entry: EncoderEntry, *, runtime: str, device: str, cache: Path, batch_sizes: Sequence[int] = ONE_BY_ONE
) -> Encoder:
    """The encoder of `entry` on the runtime named, checked against its digests.

    runtime: one of `runtime_names(device)`, or RuntimeUnavailable names what is there. device: `cpu` or `cuda`.
    cache: a folder for exported networks, made when missing. batch_sizes: those that the runtime qualified for.
    Raises what `open_folder` raises.
    """
    folder = open_folder(entry)
    network = EncoderNetwork(
        name=entry.name, folder=folder, pooling=entry.pooling, normalize=entry.normalize, window=entry.window
    )
    opened = open_runtime(network, runtime=runtime, device=device, cache=cache)
    return Encoder(entry, folder, opened, batch_sizes=batch_sizes)


def open_cross_encoder(entry: CrossEncoderEntry, *, runtime: str, device: str, cache: Path) -> CrossEncoderReranker:
    """The cross-encoder of `entry` on the runtime named; arguments and errors as `open_encoder`."""
    folder = open_folder(entry)
    network = PairNetwork(name=entry.name, folder=folder, window=entry.window)
    opened = open_runtime(network, runtime=runtime, device=device, cache=cache)
    return CrossEncoderReranker(entry, folder, opened, device=device)


def open_runtime(network: Network, *, runtime: str, device: str, cache: Path) -> Runtime:
    """`network` on the runtime named; arguments and errors as `open_encoder`."""
    names = runtime_names(device)
    if runtime not in names:
        raise RuntimeUnavailable(runtime, names)
    if runtime == openvino_name():
        from models.runtime_openvino import OpenvinoRuntime  # noqa: PLC0415 - OpenVINO is an extra

        return OpenvinoRuntime(network, cache=cache)
    import torch  # noqa: PLC0415 - slow to import, and OpenVINO does without it

    from models.runtime_torch import TorchRuntime  # noqa: PLC0415 - as above

    return TorchRuntime(network, device=torch.device(device))
