"""Can this machine run Muniment, and how well?"""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from muniment.findings import Check, Finding, fail, ok, warn
from muniment.health_of_settings import settings_checks
from server.errors import StartError
from server.settings import DeviceChoice, Settings

OLDEST_PYTHON = (3, 11)
GIB = 2**30
LITTLE_SPACE = 2 * GIB  # an exported network is 90 MB, a million units of 384 numbers about 1 GB with their texts
NO_SPACE = GIB // 4
FAISS_BUILDS = ("faiss-cpu", "faiss-gpu")
TWO_TOKENS = "the world"  # in every vocabulary: two words, two tokens
INSTALL = "install Muniment with its extra: pip install 'muniment[cpu]' or 'muniment[gpu]'"


def machine_checks(settings: Settings | StartError) -> Iterator[Check]:
    """What to look at, in order; nothing that takes settings where these cannot be read."""
    yield "python", _python
    yield "platform", _platform
    yield from settings_checks(settings)
    yield "torch", partial(_torch, settings.device if isinstance(settings, Settings) else DeviceChoice.AUTO)
    yield "int8 product", _int8_product
    yield "faiss", _faiss
    yield "openvino", _openvino
    yield "packaged model", _packaged_model
    yield "tokenizers", _tokenizers
    if isinstance(settings, Settings):
        yield "cache folder", partial(_cache_folder, settings.cache)
    yield "disk", partial(disk_space, Path.cwd())


def disk_space(folder: Path) -> Finding:
    """The space that is left where `folder` is."""
    free = shutil.disk_usage(_nearest(folder)).free
    found = f"{free / GIB:.1f} GiB free at {folder}"
    advice = "make room: an index needs about 1 GB for each million units, and twice that while it is rebuilt"
    if free < NO_SPACE:
        return fail(found, advice=advice)
    return warn(found, advice=advice) if free < LITTLE_SPACE else ok(found)


def _python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return fail(found, advice=f"use Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")
    return ok(found)


def _platform() -> Finding:
    return ok(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")


def _torch(chosen: DeviceChoice) -> Finding:
    import torch

    found = f"{torch.__version__}, device {chosen}"
    if torch.cuda.is_available():
        return ok(f"{found}: {torch.cuda.get_device_name()}")
    if chosen is DeviceChoice.CUDA:
        return fail(f"{found}, but there is none", advice="set MUNIMENT_DEVICE=auto, or mend the NVIDIA driver")
    if torch.version.cuda is not None:
        return warn(f"{found}: built for CUDA, but no device is visible", advice="check `nvidia-smi`; the CPU serves")
    return ok(f"{found}: CPU, {torch.get_num_threads()} threads")


def _int8_product() -> Finding:
    import torch

    from index.product import product_self_test

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if product_self_test(device):
        return ok(f"exact on {device}")
    return warn(
        f"not exact on {device}: this processor has no VNNI",
        advice="nothing to do: faiss serves in its place with the same scores, more slowly",
    )


def _faiss() -> Finding:
    builds = [name for name in FAISS_BUILDS if any(metadata.distributions(name=name))]
    if not builds or find_spec("faiss") is None:
        return fail("not installed", advice=INSTALL)
    found = ", ".join(f"{name} {metadata.version(name)}" for name in builds)
    if len(builds) > 1:
        return fail(f"{found}: both write the same module", advice="uninstall both, then install one of them")
    from index.product import faiss_self_test

    if not faiss_self_test():
        return fail(f"{found}: its scores are not exact", advice=f"install the pinned build: {INSTALL}")
    return ok(f"{found}: exact")


def _openvino() -> Finding:
    from models.runtime import openvino_name, torch_name

    name = openvino_name()
    if name is None:
        return warn(f"not installed; {torch_name('cpu')} encodes on the CPU, more slowly", advice=INSTALL)
    return ok(name)


def _packaged_model() -> Finding:
    from models.folder import open_folder
    from models.registry import DEFAULT_ENCODER, find_encoder

    folder = open_folder(find_encoder(DEFAULT_ENCODER, folder=None))
    return ok(f"{DEFAULT_ENCODER}, {folder.digest}")


def _tokenizers() -> Finding:
    from models.tokens import TOKENIZER_NAMES, get_counter

    counts = {name: get_counter(name).count(TWO_TOKENS) for name in TOKENIZER_NAMES}
    wrong = [f"{name} counts {count}" for name, count in counts.items() if count != 2]
    if wrong:
        return fail(f"{', '.join(wrong)} tokens in two words", advice=INSTALL)
    return ok(", ".join(counts))


def _cache_folder(cache: Path) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=_nearest(cache)):
            pass
    except OSError as error:
        return fail(
            f"{cache} cannot be written ({error.strerror})", advice="set MUNIMENT_CACHE_DIR to a folder of yours"
        )
    return ok(str(cache))


def _nearest(folder: Path) -> Path:
    """`folder`, or the nearest thing above it that is there."""
    resolved = folder.resolve()
    return next(path for path in (resolved, *resolved.parents) if path.exists())
