"""Would Dockerfile.cuda build from this tree, and serve what it says? No test machine has an engine to try it."""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.source_tree import PACKAGES, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) of the Dockerfile in order, continuation lines joined, comments left out."""
    lines = [line for line in (ROOT / "Dockerfile.cuda").read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines()) if name]


def arguments_of(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def copied() -> list[str]:
    """What COPY takes from the tree."""
    return [source.rstrip("/") for rest in arguments_of("COPY") for source in shlex.split(rest)[:-1]]


def entrypoint() -> list[str]:
    (rest,) = arguments_of("ENTRYPOINT")
    return [str(word) for word in json.loads(rest)]


def healthcheck() -> list[str]:
    (rest,) = arguments_of("HEALTHCHECK")
    return [str(word) for word in json.loads(rest.partition(" CMD ")[2])]


@contextmanager
def server_that_answers(status: int) -> Iterator[int]:
    """A server on this machine that answers every GET with `status`; gives its port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/health/ready" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the library gave it
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_the_base_image_is_a_cuda_runtime_pinned_to_a_release() -> None:
    (image,) = arguments_of("FROM")

    assert re.fullmatch(r"nvidia/cuda:\d+\.\d+\.\d+-runtime-ubuntu\d+\.\d+", image)


def test_every_source_of_a_copy_is_in_the_tree_and_sent_to_the_builder() -> None:
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}

    assert [source for source in copied() if not (ROOT / source).exists()] == []
    assert [source for source in copied() if source not in sent] == []


def test_every_package_is_copied() -> None:
    assert [name for name in PACKAGES if name not in copied()] == []


def test_no_catalog_key_or_token_of_the_checkout_is_sent_to_the_builder() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]

    assert lines[0] == "*"
    assert not [line for line in lines if line.startswith("!") and fnmatch(".muniment", line[1:])]


def test_the_requirements_it_installs_are_those_of_the_gpu_extra() -> None:
    (step,) = [rest for rest in arguments_of("RUN") if "tomllib" in rest]
    words = shlex.split(step)
    program = words[words.index("-c") + 1]

    printed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert printed == [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["gpu"]]
    assert any(line.startswith("faiss-gpu") for line in printed)


def test_it_does_not_run_as_root() -> None:
    users = arguments_of("USER")

    assert users
    assert users[-1].split(":")[0] not in ("root", "0")


def test_it_holds_no_secret() -> None:
    named = arguments_of("ENV") + arguments_of("ARG")

    assert [rest for rest in named if re.search("token|secret|password|key", rest, re.IGNORECASE)] == []


def test_it_serves_the_volume_on_the_port_that_it_exposes_and_probes() -> None:
    words = entrypoint()
    (volume,) = json.loads(arguments_of("VOLUME")[0])

    assert words[:3] == ["muniment", "serve", volume]
    assert [words[words.index("--port") + 1]] == arguments_of("EXPOSE")
    assert f":{arguments_of('EXPOSE')[0]}/health/ready" in healthcheck()[-1]


def test_the_command_and_the_flags_that_it_calls_exist() -> None:
    program, command, *words = entrypoint()
    environment = {**os.environ, "COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    shown = subprocess.run(
        [sys.executable, "-m", "muniment", command, "--help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert program in PROJECT["scripts"]
    assert shown.returncode == 0, shown.stderr
    assert [flag for flag in words if flag.startswith("--") and flag not in shown.stdout] == []


def test_the_path_that_it_probes_is_a_route() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "server").rglob("*.py"))

    assert '"/health/ready"' in sources or ('"/health"' in sources and '"/ready"' in sources)


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False), (404, False)])
def test_the_health_check_passes_only_when_the_server_is_ready(status: int, *, healthy: bool) -> None:
    program = healthcheck()[-1]

    with server_that_answers(status) as port:
        probe = program.replace(":8000/", f":{port}/")
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False)

    assert (done.returncode == 0) is healthy


def test_hadolint_has_no_complaint() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"

    done = subprocess.run([hadolint, "Dockerfile.cuda"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
