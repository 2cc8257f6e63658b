import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from models import export as export_module
from models.encoder import Encoder
from models.exported import MODEL_FILE, SIDECAR, WEIGHTS_FILE, exported_folder, verifies
from models.folder import open_folder
from models.loading import open_encoder
from models.registry import DEFAULT_ENCODER, EncoderEntry
from models.runtime import EncoderNetwork, openvino_name
from tests.models.builders import WINDOW

pytestmark = pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is in the extra cpu")


def opened(entry: EncoderEntry, cache: Path) -> Encoder:
    return open_encoder(entry, runtime=str(openvino_name()), device="cpu", cache=cache)


@pytest.fixture(scope="module")
def exported(tiny_entry: EncoderEntry, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds one export. Copy it."""
    cache = tmp_path_factory.mktemp("whole")
    opened(tiny_entry, cache)
    return cache


@pytest.fixture
def filled(exported: Path, tmp_path: Path) -> Path:
    """A cache of the test's own that holds one export."""
    return shutil.copytree(exported, tmp_path / "cache")


def only_folder(cache: Path) -> Path:
    (folder,) = cache.iterdir()
    return folder


def test_a_network_is_exported_once(tiny_entry: EncoderEntry, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(*_: object) -> None:
        raise AssertionError("exported again")

    monkeypatch.setattr(export_module, "export", again)

    assert opened(tiny_entry, filled).encode_query("upload limit").any()


@pytest.mark.parametrize("damaged", [MODEL_FILE, WEIGHTS_FILE, SIDECAR])
def test_a_damaged_export_is_found_and_made_again(tiny_entry: EncoderEntry, filled: Path, damaged: str) -> None:
    before = opened(tiny_entry, filled).encode_query("upload limit")
    file = only_folder(filled) / damaged
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)

    assert not verifies(only_folder(filled))
    assert np.array_equal(opened(tiny_entry, filled).encode_query("upload limit"), before)
    assert verifies(only_folder(filled))


def test_a_half_written_export_is_made_again(tiny_entry: EncoderEntry, filled: Path) -> None:
    (only_folder(filled) / WEIGHTS_FILE).unlink()

    opened(tiny_entry, filled)
    assert verifies(only_folder(filled))


def test_two_processes_that_export_at_once_leave_one_whole_export(tiny_entry: EncoderEntry, tmp_path: Path) -> None:
    """The second finds the first one's and throws its own away."""
    network = EncoderNetwork(
        name="tiny", folder=open_folder(tiny_entry), pooling=tiny_entry.pooling, normalize=True, window=WINDOW
    )
    folder = exported_folder(network, cache=tmp_path)

    export_module.export(network, folder)
    written = (folder / MODEL_FILE).stat().st_ino
    export_module.export(network, folder)
    assert (folder / MODEL_FILE).stat().st_ino == written
    assert only_folder(tmp_path) == folder


def test_a_query_is_encoded_without_torch_once_the_export_is_there(minilm: Encoder, cache: Path) -> None:
    """Torch and its models take seconds to import."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from models.loading import open_encoder\n"
        "from models.registry import DEFAULT_ENCODER, find_encoder\n"
        f"entry = find_encoder({DEFAULT_ENCODER!r}, folder=None)\n"
        f"encoder = open_encoder(entry, runtime={minilm.runtime!r}, device='cpu', cache=Path({str(cache)!r}))\n"
        "print(encoder.encode_query('upload limit').tobytes().hex())\n"
        "print({'torch', 'transformers', 'sentence_transformers'} & sys.modules.keys())\n"
    )

    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    code, imported = done.stdout.split()
    assert imported == "set()", done.stderr
    assert bytes.fromhex(code) == minilm.encode_query("upload limit").tobytes()
