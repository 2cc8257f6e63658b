"""On which device do models and kernels run?

Chosen once at start, logged, and passed down; nothing asks again. Useful at the edge. Not useful inside.
"""

import logging
from enum import StrEnum

import torch

from models.errors import DeviceUnavailable

_log = logging.getLogger(__name__)


class DeviceChoice(StrEnum):
    """What an operator may ask for."""

    AUTO = "auto"  # CUDA where there is a device, else the CPU
    CPU = "cpu"
    CUDA = "cuda"


def choose_device(choice: str) -> torch.device:
    """The device for `auto`, `cpu` or `cuda`, logged with its name.

    Raises DeviceUnavailable for any other word, and for `cuda` where there is no CUDA device.
    """
    if choice not in list(DeviceChoice):
        raise DeviceUnavailable(f"no device named {choice!r}; allowed are {', '.join(DeviceChoice)}")
    if choice != DeviceChoice.CPU and torch.cuda.is_available():
        _log.info("device: cuda (%s)", torch.cuda.get_device_name())
        return torch.device("cuda")
    if choice == DeviceChoice.CUDA:
        build = torch.version.cuda
        why = "no NVIDIA device is visible" if build else "this build of torch has no CUDA"
        raise DeviceUnavailable(f"device cuda was asked for, but {why}; use --device cpu or auto")
    _log.info("device: cpu (%d threads)", torch.get_num_threads())
    return torch.device("cpu")
