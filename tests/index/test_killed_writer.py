"""Tests of the authority under `kill -9`: what was acknowledged holds, and nothing is half done."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evidence.grants import Subject
from evidence.identity import RevisionKey
from evidence.revision import Status
from index.catalog import Catalog
from index.integrity import verify
from tests.index.catalog_builders import BLUE, catalog

ROOT = Path(__file__).parents[2]


def acknowledged(directory: Path, *, lines: int) -> list[list[str]]:
    """The changes that a writer had acknowledged when it was killed, after it had printed that many lines."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.index.killed_writer", str(directory)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        read = [writer.stdout.readline() for _ in range(lines)]
        os.kill(writer.pid, signal.SIGKILL)
        read += writer.stdout.readlines()
    return [line.split() for line in read if line.endswith("\n")]


@pytest.mark.parametrize("lines", [2, 5, 10, 23])
def test_a_killed_writer_leaves_all_that_it_acknowledged_and_nothing_half_done(tmp_path: Path, lines: int) -> None:
    catalog(tmp_path / "c").close()
    done = acknowledged(tmp_path / "c", lines=lines)

    assert verify(tmp_path / "c") == []
    with Catalog.open(tmp_path / "c") as made, made.read() as reading:
        facts, subjects = dict(reading.facts()), reading.revocations.subjects
    gone = {name for what, name in done if what == "gone"}
    last = f"s{len({name for what, name in done if what == 'added'}) - 1}"  # its next change may have come through
    for what, name in done:
        key = RevisionKey(BLUE, name, "1")
        assert (key in facts) == (name not in gone) or name == last
        if what == "subject":
            assert Subject(BLUE, name) in subjects
        if what == "relabelled" and key in facts:
            assert facts[key].label.roles == (f"role-{name[1:]}",)
        if what == "revoked" and key in facts:
            assert facts[key].status is Status.REVOKED
