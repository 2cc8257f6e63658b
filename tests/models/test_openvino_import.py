import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is in the extra cpu")
def test_openvino_sends_no_usage_reports_and_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """As it comes, importing it starts a thread that reports, and writes an id and counts under the home folder."""
    program = (
        "import sys, threading\n"
        "from models.openvino_import import import_openvino\n"
        "import_openvino().Core()\n"
        "import_openvino('openvino.frontend.pytorch.ts_decoder')\n"
        "print(threading.active_count(), [name for name in sys.modules if name.startswith('openvino_telemetry.')])\n"
    )
    home = tmp_path / "home"
    home.mkdir()

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "1 []"), done.stderr
    assert list(home.iterdir()) == []
