"""Do fresh processes give the same bytes, whatever their hashes, threads and order of intake? (R10, R11, R31, R32)"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.noninterference.one_process import Done, Task
from tests.source_tree import ROOT

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
IDENTICAL = {"verdict": "identical"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """How one process is started. With an odd order its worlds come in piece by piece, else at once."""

    hash_seed: int
    threads: int
    order: int

    def run(self, folder: Path, *, rows: int, replays: Mapping[str, Any]) -> Done:
        """What it did. Raises CalledProcessError where it failed; its standard error is that of this process."""
        task = Task(
            folder=str(folder),
            order=self.order,
            growing=self.order % 2 == 1,
            threads=self.threads,
            rows=rows,
            packaged=True,
            replays=dict(replays),
        )
        done = subprocess.run(
            [sys.executable, "-m", "tests.noninterference.one_process"],
            cwd=ROOT,
            env={**os.environ, **dict.fromkeys(THREADS, str(self.threads)), "PYTHONHASHSEED": str(self.hash_seed)},
            input=msgspec.json.encode(task),
            stdout=subprocess.PIPE,
            check=True,
        )
        return msgspec.json.decode(done.stdout, type=Done)


PROCESSES = (
    Process(hash_seed=0, threads=1, order=0),
    Process(hash_seed=1, threads=2, order=1),
    Process(hash_seed=2, threads=2, order=2),
)


def run(folder: Path, processes: Sequence[Process], *, rows: int = 0) -> list[Done]:
    """What each of them did, one after the other. All but the first replay the manifests of the first."""
    told = processes[0].run(folder / "0", rows=rows, replays={})
    kept = manifests(told.answers)
    others = [
        process.run(folder / str(number), rows=rows, replays=kept)
        for number, process in enumerate(processes[1:], start=1)
    ]
    return [told, *others]


def manifests(answers: Mapping[str, str]) -> dict[str, Any]:
    """Those among the answers, by the names of these."""
    bodies = {name: json.loads(answer.partition(" ")[2]) for name, answer in answers.items()}
    return {name: body["manifest"] for name, body in bodies.items() if "manifest" in body}


def require_alike(processes: Sequence[Process], done: Sequence[Done]) -> None:
    first = done[0].answers
    assert all(answer.startswith("200 ") for answer in first.values())
    for process, one in zip(processes, done, strict=True):
        assert [name for name, answer in one.answers.items() if answer != first[name]] == [], process
        assert one.answers.keys() == first.keys()


def require_identical(processes: Sequence[Process], done: Sequence[Done]) -> None:
    kept = manifests(done[0].answers)
    for process, one in zip(processes[1:], done[1:], strict=True):
        verdicts = {name: json.loads(verdict) for name, verdict in one.verdicts.items()}
        assert verdicts == dict.fromkeys(kept, IDENTICAL), process


@pytest.fixture(scope="module", name="done")
def fixture_done(tmp_path_factory: pytest.TempPathFactory) -> list[Done]:
    """What three processes did, each with hashes, threads and an order of its own."""
    return run(tmp_path_factory.mktemp("processes"), PROCESSES)


def test_fresh_processes_give_the_same_bytes(done: list[Done]) -> None:
    """Packets, their ids and manifests, and all else: of a catalog that grew as of one that was built at once."""
    require_alike(PROCESSES, done)


def test_a_fresh_process_finds_again_what_another_one_answered(done: list[Done]) -> None:
    require_identical(PROCESSES, done)


def test_what_was_compared_is_there_to_differ(done: list[Done]) -> None:
    """Packets with many conflicts, roles, stale revisions and omissions, by the fast codes and by a model's."""
    kept = manifests(done[0].answers)
    one, model = kept["tangle, 0"], kept["packaged, 0"]

    assert len(kept) > 25
    assert len(one["conflict_groups"]) == 3
    assert one["omissions"]["counts"]["stale"] == 9
    assert one["layers"]["fusion"] != model["layers"]["fusion"]


def test_a_set_in_the_order_of_its_hashes_would_show(done: list[Done]) -> None:
    """Nine names have many orders: three processes hardly ever have the same one."""
    assert len({one.by_hash for one in done}) > 1


@pytest.mark.soak
def test_twenty_seeds_and_one_and_two_threads_give_the_same_bytes(tmp_path: Path) -> None:
    """Over so many rows that a scan is shared among threads."""
    processes = [Process(hash_seed=seed, threads=threads, order=seed) for seed in range(20) for threads in (1, 2)]
    done = run(tmp_path, processes, rows=2000)

    require_alike(processes, done)
    require_identical(processes, done)
