"""On which machine, with which versions, were figures measured?"""

import os
import platform
from importlib import metadata
from pathlib import Path

import torch

_CPU_FACTS = Path("/proc/cpuinfo")
_MEASURED = ("numpy", "torch", "numba", "openvino", "faiss-cpu", "faiss-gpu", "sentence-transformers", "rank-bm25")


def machine(device: torch.device) -> dict[str, object]:
    """Processor, cores, memory and accelerator."""
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
    }


def versions() -> dict[str, str]:
    """Python, Muniment, and the packages that do the measured work, where they are installed."""
    installed = {name: metadata.version(name) for name in _MEASURED if any(metadata.distributions(name=name))}
    return {"python": platform.python_version(), **installed}


def _processor() -> str:
    """The model's name as Linux gives it, else whatever the platform says."""
    if _CPU_FACTS.is_file():
        for line in _CPU_FACTS.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
