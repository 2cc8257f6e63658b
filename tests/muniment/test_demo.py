"""Does one command end in a server whose printed `curl` returns an accepted packet?"""

import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READY_S = 120
STOP_S = 30


@pytest.fixture(scope="module", name="served")
def fixture_served(
    sample_catalog: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple["subprocess.Popen[str]", list[str], Path]]:
    """The demo as a process of its own, what it printed until it was ready, and its catalog."""
    catalog = tmp_path_factory.mktemp("demo") / "sample"
    shutil.copytree(sample_catalog, catalog)
    command = [sys.executable, "-m", "muniment", "demo", "--catalog", str(catalog), "--port", "0"]
    with subprocess.Popen(
        command,
        cwd=catalog.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        too_late = threading.Timer(READY_S, process.kill)
        too_late.start()
        printed = []
        for line in process.stdout:
            printed.append(line.rstrip("\n"))
            if line.startswith("Muniment serves on "):
                break
        too_late.cancel()
        yield process, printed, catalog
        process.kill()


def test_the_url_a_token_for_each_principal_and_one_curl_are_printed(
    served: tuple["subprocess.Popen[str]", list[str], Path],
) -> None:
    _, printed, catalog = served

    assert sum(line.startswith("curl ") for line in printed) == 1
    tokens = json.loads((catalog.parent / ".muniment" / "tokens.json").read_text())
    assert stat.S_IMODE((catalog.parent / ".muniment" / "tokens.json").stat().st_mode) == 0o600
    assert len(tokens) == 6
    assert all(any(token in line for line in printed) for token in tokens.values())


def test_the_curl_returns_an_accepted_packet_with_a_manifest(
    served: tuple["subprocess.Popen[str]", list[str], Path],
) -> None:
    _, printed, _ = served
    words = shlex.split(next(line for line in printed if line.startswith("curl ")))
    headers = dict(word.split(": ", 1) for flag, word in pairwise(words) if flag == "-H")
    request = urllib.request.Request(words[2], data=words[words.index("-d") + 1].encode(), headers=headers)

    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.load(response)
    assert answer["disposition"] == "accepted"
    assert answer["state"] == "supported"
    assert answer["manifest"]["hashes"]["manifest"] == answer["packet_id"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_line_works_when_it_is_pasted_into_a_shell(
    served: tuple["subprocess.Popen[str]", list[str], Path],
) -> None:
    _, printed, _ = served
    line = next(line for line in printed if line.startswith("curl "))

    pasted = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True, env=_without_proxies())
    assert json.loads(pasted.stdout)["disposition"] == "accepted"


def test_an_interrupt_ends_it_calmly(served: tuple["subprocess.Popen[str]", list[str], Path]) -> None:
    process, _, _ = served

    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=STOP_S) == 0
    assert process.stderr is not None
    for line in process.stderr.read().splitlines():
        assert "Traceback" not in line
        assert line.startswith("{")  # our own log, one JSON object a line


def _without_proxies() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
