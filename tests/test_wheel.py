"""Does what we would publish hold everything that the checkout holds, and install by itself?

Builds a source archive, a wheel from that archive, and installs the wheel into a fresh environment, without its
dependencies. Needs a package index for the build backend alone.
"""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.source_tree import PACKAGES, ROOT

pytestmark = pytest.mark.full

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """python: of an environment that holds nothing but the installed wheel and the build backend."""

    python: Path
    archive: Path
    wheel: Path


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_of_the_project() -> set[str]:
    """What git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    return {name for name in map(os.fsdecode, listed.split(b"\0")) if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("build")
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *CONFIGURATION["build-system"]["requires"])
    subprocess.run(
        [python, "-m", "hatchling", "build", "--target", "sdist", "--directory", folder],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (archive,) = folder.glob("*.tar.gz")
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, archive)
    (wheel,) = folder.glob("*.whl")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    return Build(python=python, archive=archive, wheel=wheel)


def test_the_source_archive_holds_the_whole_project(build: Build) -> None:
    with tarfile.open(build.archive) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert sorted(files_of_the_project() - names) == []


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(build: Build) -> None:
    """Migrations, model entries and the sample catalog are data: nothing but this notices when one is left behind."""
    with zipfile.ZipFile(build.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert names == {name for name in files_of_the_project() if name.partition("/")[0] in PACKAGES}


def test_the_wheel_carries_the_licence_and_the_command(build: Build) -> None:
    with zipfile.ZipFile(build.wheel) as wheel:
        (licence,) = [name for name in wheel.namelist() if name.endswith("/licenses/LICENSE")]
        (commands,) = [name for name in wheel.namelist() if name.endswith("/entry_points.txt")]
        text = wheel.read(commands).decode()

        assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert "muniment = muniment.__main__:main" in text


def test_the_installed_packages_are_found_outside_the_checkout(build: Build, tmp_path: Path) -> None:
    program = f"import importlib.util as u; print(*(u.find_spec(n).origin for n in {PACKAGES!r}), sep='\\n')"

    shown = subprocess.run(
        [build.python, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert len(shown) == len(PACKAGES)
    assert all(Path(origin).is_relative_to(build.python.parents[1]) for origin in shown)
