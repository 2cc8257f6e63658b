"""On which machine, with which versions, were figures measured, and how much room is there?"""

import os
import platform
import shutil
from importlib import metadata
from pathlib import Path

import torch

_CPU_FACTS = Path("/proc/cpuinfo")
_FORGETTING = Path("/proc/self/clear_refs")
_MEASURED = ("numpy", "torch", "numba", "openvino", "faiss-cpu", "faiss-gpu", "sentence-transformers", "rank-bm25")


def machine(device: torch.device) -> dict[str, object]:
    """Processor, cores, memory and accelerator."""
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _kib(Path("/proc/meminfo"), "MemTotal:"),
        "torch_threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
    }


def versions() -> dict[str, str]:
    """Python, Muniment, and the packages that do the measured work, where they are installed."""
    installed = {name: metadata.version(name) for name in _MEASURED if any(metadata.distributions(name=name))}
    return {"python": platform.python_version(), **installed}


def resident_bytes(process: int | str = "self") -> int:
    """What a process holds in memory, mapped pages that it read included; 0 where the platform does not tell."""
    return _kib(Path(f"/proc/{process}/status"), "VmRSS:")


def forget_peak() -> None:
    """Let `peak_bytes` count from now on, where the platform can."""
    if _FORGETTING.exists():
        _FORGETTING.write_text("5")  # https://docs.kernel.org/filesystems/proc.html, clear_refs


def peak_bytes() -> int:
    """The most that this process held since `forget_peak`; 0 where the platform does not tell."""
    return _kib(Path("/proc/self/status"), "VmHWM:")


def free_memory_bytes() -> int:
    """What can be had without swapping."""
    return _kib(Path("/proc/meminfo"), "MemAvailable:")


def free_disk_bytes(folder: Path) -> int:
    """What the disk under a folder can still take."""
    return shutil.disk_usage(folder).free


def _kib(file: Path, name: str) -> int:
    """The bytes in a line `name N kB`."""
    if not file.is_file():
        return 0
    lines = (line.split() for line in file.read_text().splitlines())
    return next((int(words[1]) * 1024 for words in lines if words[:1] == [name]), 0)


def _processor() -> str:
    """The model's name as Linux gives it, else whatever the platform says."""
    if _CPU_FACTS.is_file():
        for line in _CPU_FACTS.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
