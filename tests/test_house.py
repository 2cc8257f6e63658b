"""Do the top-level files say what the tree does?"""

import ast
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.source_tree import PACKAGES, ROOT, question_of

# Of the licence text as the Apache Software Foundation publishes it.
APACHE_2_0 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"

TARGETS = ("setup", "serve", "test", "test-full", "soak", "bench", "check", "clean", "help")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(root|work|home/(?!muniment)\w+|tmp/env)/")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make as a person would, even when make runs these tests."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    }
    return subprocess.run(["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def would_run(target: str, *settings: str) -> str:
    """What `make target` would run, without running it."""
    done = make("--dry-run", target, *settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def text_files() -> list[Path]:
    """The files that belong to the project: what git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    paths = [ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:1024]]


def sections(path: Path) -> dict[str, str]:
    """Heading of the second level -> its text."""
    parts = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


@pytest.mark.parametrize("target", TARGETS)
def test_each_target_exists_and_is_in_the_help(target: str) -> None:
    shown = make("help").stdout

    assert would_run(target)
    assert re.search(rf"^  {target} +\S", shown, re.MULTILINE)


def test_make_serve_passes_port_host_and_catalog_on() -> None:
    shown = would_run("serve", "PORT=8123", "HOST=0.0.0.0", "CATALOG=my catalog")

    assert '-m muniment demo --catalog "my catalog" --host "0.0.0.0" --port "8123"' in shown


def test_make_check_runs_every_check() -> None:
    shown = would_run("check")

    for command in ("ruff format --check .", "ruff check .", "mypy evidence", "lint-imports"):
        assert command in shown
    for name in (*PACKAGES, "tests", "scripts"):
        assert re.search(rf"mypy .*\b{name}\b", shown)


@pytest.mark.parametrize(
    ("target", "marks"), [("test", '-m "not (soak or full or gpu)"'), ("test-full", "-m full"), ("soak", "-m soak")]
)
def test_each_kind_of_test_is_chosen_by_its_mark(target: str, marks: str) -> None:
    assert marks in would_run(target)


def test_a_python_that_is_not_there_is_named() -> None:
    done = make("setup", "PYTHON=python-that-is-not-there")

    assert done.returncode != 0
    assert done.stderr.startswith("setup: there is no python-that-is-not-there here, and Muniment needs Python 3.11")


def test_ci_calls_the_three_targets_in_order_and_stops_at_the_first_failure(tmp_path: Path) -> None:
    """A stand-in for make writes down what it was asked, and fails at `test`."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    stand_in = tmp_path / "bin" / "make"
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\nfor word; do last=$word; done\necho "$last" >> asked\n[ ! -e "fail-$last" ]\n')
    stand_in.chmod(0o755)
    command = ["bash", str(tmp_path / ".ci" / "run")]
    environment = {**os.environ, "PATH": f"{stand_in.parent}:{os.environ['PATH']}", "CI": "true"}

    passed = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    (tmp_path / "fail-test").touch()
    failed = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)

    assert passed.returncode == 0
    assert re.findall(r"== make (\S+): passed in \d+ s", passed.stdout) == ["check", "test", "test-full"]
    assert failed.returncode != 0
    assert (tmp_path / "asked").read_text().split() == ["check", "test", "test-full", "check", "test"]


@pytest.mark.parametrize("name", PACKAGES)
def test_the_architecture_asks_each_packages_own_question_and_says_what_it_is_good_for(name: str) -> None:
    found = sections(ROOT / "ARCHITECTURE.md")
    question = question_of(ROOT / name / "__init__.py")

    text = found[f"`{name}/`: {question}"]
    assert "*Useful for*" in text
    assert "*Not useful for*" in text


def test_every_module_that_the_architecture_names_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()

    named = re.findall(rf"`((?:{'|'.join(PACKAGES)}|scripts|docs)/[\w./]+)`", text)
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / f"{name}.py").exists()]
    for folder in PACKAGES:
        text = next(
            body for title, body in sections(ROOT / "ARCHITECTURE.md").items() if title.startswith(f"`{folder}/`")
        )
        missing += [
            f"{folder}/{name}"
            for name in re.findall(r"`(\w+)`", text)
            if name not in PACKAGES and not (ROOT / folder / f"{name}.py").exists()
        ]
    assert missing == []


def test_the_changelog_starts_with_what_is_not_released_and_has_known_headings() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()

    assert next(iter(sections(ROOT / "CHANGELOG.md"))) == "[Unreleased]"
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_licence_is_apache_2_0_word_for_word() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2_0


def test_no_file_names_a_path_of_one_machine_or_leaves_something_for_later() -> None:
    """Also the Makefile, the documents and the configuration, which no linter of Python reads."""
    leftovers = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in text_files()
        for line, text in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if leftovers.search(text) or MACHINE_PATH.search(text)
    ]

    assert [place for place in found if not place.startswith("tests/test_house.py")] == []


def test_the_scripts_that_people_run_say_what_they_need() -> None:
    """CI and the set-up open with the question they answer, like every module."""
    ci = (ROOT / ".ci" / "run").read_text().splitlines()
    setup = ast.get_docstring(ast.parse((ROOT / "scripts" / "setup.py").read_text())) or ""

    assert ci[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in ci
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert setup.splitlines()[0].endswith("?")
