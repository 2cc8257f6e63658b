"""Does the set-up name what is missing, survive being stopped, and leave alone what is done?

Most tests stand a shell script in for a Python or for pip, so that they are quick and need no network. The last ones
run the real pip, on a project of one file whose build needs nothing.
"""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.source_tree import ROOT

SETUP = ROOT / "scripts" / "setup.py"

PYPROJECT = """
[build-system]
requires = []
build-backend = "build_tiny"
backend-path = ["."]

[project]
name = "tiny"
version = "1"
dependencies = [%s]
"""

# A build backend that needs nothing: an editable wheel that puts the checkout on the path.
BACKEND = """
import os, tomllib, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    needs = tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]
    metadata = ["Metadata-Version: 2.1", "Name: tiny", "Version: 1", "Provides-Extra: cpu"]
    metadata += ["Provides-Extra: bench", "Provides-Extra: dev"]
    files = {
        "tiny.pth": [os.getcwd()],
        "tiny-1.dist-info/METADATA": [*metadata, *(f"Requires-Dist: {one}" for one in needs)],
        "tiny-1.dist-info/WHEEL": ["Wheel-Version: 1.0", "Root-Is-Purelib: true", "Tag: py3-none-any"],
        "tiny-1.dist-info/RECORD": ["tiny.pth,,", "tiny-1.dist-info/METADATA,,", "tiny-1.dist-info/WHEEL,,"],
    }
    with zipfile.ZipFile(os.path.join(folder, "tiny-1-py3-none-any.whl"), "w") as wheel:
        for name, lines in files.items():
            wheel.writestr(name, chr(10).join(lines))
    return "tiny-1-py3-none-any.whl"
"""

# What pip says when nothing it may look at has a version, and when versions are there but none that fits.
NONE_AT_ALL = "ERROR: No version satisfies tiny (from versions: none)\nERROR: No matching distribution found for tiny"
NONE_THAT_FITS = "ERROR: No version satisfies tiny (from versions: 1)\nERROR: No matching distribution found for tiny>2"


def checkout(folder: Path, *, needs: str = "") -> Path:
    """A small project with the real set-up script in it."""
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(SETUP, folder / "scripts")
    (folder / "pyproject.toml").write_text(PYPROJECT % needs)
    (folder / "build_tiny.py").write_text(BACKEND)
    return folder


def script(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{textwrap.dedent(text)}")
    path.chmod(0o755)
    return path


def fake_venv(tree: Path, *, pip: str) -> Path:
    """A finished .venv for another pyproject.toml, whose pip runs the shell lines `pip`."""
    script(tree / ".venv" / "bin" / "python", f'[ "$1" = -c ] && exit 0\n{textwrap.dedent(pip)}')
    (tree / ".venv" / "muniment-setup").write_text(f"extra cpu\ncheckout {tree}\npyproject of-last-week\n")
    return tree


def python_that(folder: Path, statement: str) -> Path:
    """A Python that runs `statement` before the script it is given."""
    program = (
        f"import runpy, sys; {statement}; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return script(folder / "python3", f"""exec "{sys.executable}" -c "{program}" "$@"\n""")


def set_up(
    tree: Path, *arguments: str, python: Path = Path(sys.executable), environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the set-up of `tree` with no pip setting of this machine and no package index."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    offline = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    return subprocess.run(
        [python, tree / "scripts" / "setup.py", "--extra", "cpu", *arguments],
        env={**clean, **offline, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def record(tree: Path) -> str:
    return (tree / ".venv" / "muniment-setup").read_text()


def test_the_script_parses_on_python_3_6() -> None:
    """Old interpreters are not at hand everywhere: the grammar of 3.6, and no annotation that it cannot evaluate."""
    tree = ast.parse(SETUP.read_text(), feature_version=(3, 6))

    annotations = [
        annotation
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for annotation in [node.returns, *(argument.annotation for argument in node.args.args)]
    ]
    assert {type(one) for one in annotations} <= {ast.Name, ast.Constant}
    assert not [item for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items[1:]]


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13)])
def test_an_old_python_is_told_so_in_one_line_and_nothing_is_made(tmp_path: Path, version: tuple[int, ...]) -> None:
    tree = checkout(tmp_path / "tree")
    old = python_that(tmp_path, f"sys.version_info = {version}")

    done = set_up(tree, python=old, environment={"PATH": "/nowhere"})

    assert done.returncode == 1
    assert re.fullmatch(rf"setup: .* is Python 3\.{version[1]}, and Muniment needs 3\.11 or newer; .*\n", done.stderr)
    assert not (tree / ".venv").exists()


def test_an_old_python_names_the_newer_one_that_is_there(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree")
    old = python_that(tmp_path, "sys.version_info = (3, 8, 1)")
    script(tmp_path / "bin" / "python3.14", "exit 1\n")  # there by name, but does not run
    script(tmp_path / "bin" / "python3.12", "exit 0\n")

    done = set_up(tree, python=old, environment={"PATH": str(tmp_path / "bin")})

    assert done.stderr.endswith("; python3.12 is here: run make PYTHON=python3.12\n")


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_is_told_which_package_is_missing(tmp_path: Path, module: str) -> None:
    tree = checkout(tmp_path / "tree")
    bare = python_that(tmp_path, f"sys.modules['{module}'] = None")

    done = set_up(tree, python=bare)

    assert done.returncode == 1
    assert re.fullmatch(
        rf"setup: .* has no module {module}; install it \(.*-venv\), then run make again\n", done.stderr
    )
    assert not (tree / ".venv").exists()


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", "no disk space left for .venv: "),
        ("WARNING: Retrying after NewConnectionError", "pip cannot reach a package index; check the network"),
        (NONE_AT_ALL, "pip cannot reach a package index that has tiny; check the network"),
        (NONE_THAT_FITS, "no tiny>2 is published for Python 3."),
        ("SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED'))", "pip does not trust its package index"),
        ("notice\nERROR: resolution impossible\n", "pip failed: ERROR: resolution impossible (log: "),
        ("", "pip failed: it said nothing (log: "),
    ],
)
def test_what_stopped_pip_is_one_line_that_says_what_to_do(tmp_path: Path, said: str, line: str) -> None:
    tree = fake_venv(checkout(tmp_path), pip=f"cat <<'END'\n{said}\nEND\nexit 1\n")

    done = set_up(tree)

    assert done.returncode == 1
    assert done.stderr.startswith(f"setup: {line}")
    assert done.stderr.count("\n") == 1
    assert record(tree) == "unfinished\n"


def test_a_disk_that_is_full_before_pip_starts_is_named_too(tmp_path: Path) -> None:
    tree = fake_venv(checkout(tmp_path), pip="exit 0\n")
    (tree / ".venv" / "muniment-setup").unlink()
    (tree / ".venv" / "muniment-setup").symlink_to("/dev/full")

    done = set_up(tree)

    assert done.returncode == 1
    assert re.fullmatch(r"setup: no disk space left for \.venv: \d+ MB free under .*; make room, .*\n", done.stderr)


def test_a_changed_pyproject_is_installed_into_the_venv_that_is_there_and_an_unchanged_one_is_not(
    tmp_path: Path,
) -> None:
    tree = fake_venv(checkout(tmp_path), pip='echo "$@" >> calls\n')

    first = set_up(tree)
    second = set_up(tree)

    assert (first.returncode, second.returncode, second.stdout, second.stderr) == (0, 0, "", "")
    (call,) = (tree / "calls").read_text().splitlines()
    assert call.endswith(f"--editable {tree}[cpu,bench,dev]")


def test_torch_comes_from_its_own_index_when_one_is_named(tmp_path: Path) -> None:
    tree = fake_venv(checkout(tmp_path, needs='"torch==2.13.0"'), pip='echo "$@" >> calls\n')

    set_up(tree, "--torch-index", "http://127.0.0.1:9/cpu")

    torch, everything = (tree / "calls").read_text().splitlines()
    assert torch.endswith("--no-deps --index-url http://127.0.0.1:9/cpu torch==2.13.0")
    assert "index-url" not in everything


@pytest.mark.parametrize(("listed", "extra"), [("echo 'GPU 0: H200'", "gpu"), ("echo none; exit 9", "cpu")])
def test_the_extra_is_the_one_that_the_machine_can_use(tmp_path: Path, listed: str, extra: str) -> None:
    tree = fake_venv(checkout(tmp_path / "tree"), pip='echo "$@" >> calls\n')
    (tree / ".venv" / "muniment-setup").write_text(f"extra {extra}\ncheckout {tree}\npyproject of-last-week\n")
    script(tmp_path / "bin" / "nvidia-smi", f"{listed}\n")

    set_up(tree, "--extra", "auto", environment={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})

    assert (tree / "calls").read_text().endswith(f"{tree}[{extra},bench,dev]\n")


def test_a_set_up_that_was_killed_stays_unfinished_and_the_next_one_waits_for_its_pip(tmp_path: Path) -> None:
    tree = fake_venv(checkout(tmp_path), pip="echo > started; timeout 60 sh -c 'read line < gate'\n")
    os.mkfifo(tree / "gate")
    os.mkfifo(tree / "started")
    command = [sys.executable, str(tree / "scripts" / "setup.py"), "--extra", "cpu"]

    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as first:
        (tree / "started").read_text()  # pip runs
        first.send_signal(signal.SIGKILL)
    assert record(tree) == "unfinished\n"

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as second:
        assert second.stdout is not None
        assert second.stdout.readline() == "setup: another set-up of this checkout is running; waiting for it\n"
        second.kill()
        (tree / "gate").write_text("go on\n")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout set up by the real venv and pip."""
    tree = checkout(tmp_path_factory.mktemp("finished") / "tree")
    (tree / ".venv" / "lib").mkdir(parents=True)  # what an interrupted venv leaves
    done = set_up(tree)
    assert done.returncode == 0, done.stderr
    return tree


def test_a_half_made_venv_is_made_again_and_then_runs_the_checkout(finished: Path) -> None:
    program = "import build_tiny; print(build_tiny.__file__)"

    shown = subprocess.run([finished / ".venv/bin/python", "-c", program], capture_output=True, text=True, check=False)

    assert shown.stdout == f"{finished / 'build_tiny.py'}\n"
    assert record(finished).startswith(f"extra cpu\ncheckout {finished}\npyproject ")


def test_an_unreachable_index_is_named_and_the_next_run_starts_from_nothing(finished: Path) -> None:
    """Pip itself fails here, with nothing listening at its index."""
    project = finished / "pyproject.toml"
    works = project.read_text()
    leftover = finished / ".venv" / "lib" / "leftover"
    leftover.touch()

    project.write_text(PYPROJECT % '"tiny-requirement==1"')
    stopped = set_up(finished)
    kept = leftover.exists()
    project.write_text(works)
    again = set_up(finished)

    assert (stopped.returncode, kept) == (1, True)
    assert stopped.stderr.startswith("setup: pip cannot reach a package index that has tiny-requirement==1; check the")
    assert (again.returncode, leftover.exists()) == (0, False)
