import sys
from importlib import metadata
from pathlib import Path

import pytest

from models import runtime
from models.loading import open_encoder
from models.registry import EncoderEntry
from models.runtime import batch_sizes_to_try, openvino_name, runtime_names, torch_name


def without_openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda name: None)
    for module in ("openvino", "models.runtime_openvino", "models.export", "models.openvino_import"):
        monkeypatch.setitem(sys.modules, module, None)


def test_a_runtimes_name_holds_release_precision_and_device() -> None:
    release = metadata.version("torch").split("+")[0]

    assert torch_name("cpu") == f"torch-{release}-f32-cpu"
    assert torch_name("cuda") == f"torch-{release}-f16-cuda"


def test_torch_is_there_on_every_device_and_openvino_goes_first_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "openvino_name", lambda: "openvino-1-f32")

    assert runtime_names("cpu") == ("openvino-1-f32", torch_name("cpu"))
    assert runtime_names("cuda") == (torch_name("cuda"),)


def test_torch_encodes_where_openvino_is_not_installed(
    tiny_entry: EncoderEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_openvino(monkeypatch)

    assert openvino_name() is None
    (name,) = runtime_names("cpu")
    encoder = open_encoder(tiny_entry, runtime=name, device="cpu", cache=tmp_path)
    assert encoder.encode_query("door").any()
    assert list(tmp_path.iterdir()) == []


def test_only_a_gpu_is_offered_batches() -> None:
    assert batch_sizes_to_try("cpu") == (1,)
    assert batch_sizes_to_try("cuda") == (1, 8, 32, 128)
