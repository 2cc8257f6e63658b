"""How does bm25s take turns beside ours, from an environment of its own?"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from index.bm25 import Formula

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SmallInts = npt.NDArray[np.int32]

REQUIREMENTS = ("bm25s==0.3.16", "numba==0.68.1", "numpy==2.4.6")
"""What its environment needs, as pip takes them."""
_SCRIPT = Path(__file__).parent / "peers" / "bm25s_peer.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What both rank. terms: of all documents, one after the other. lengths: terms of each document.

    queries: (queries, terms). visible: name -> (documents,) bool.
    """

    terms: SmallInts
    lengths: SmallInts
    vocabulary: int
    queries: SmallInts
    visible: Mapping[str, npt.NDArray[np.bool_]]
    formula: Formula
    k: int


class Bm25s:
    """bm25s with its index built. Made by `beside`."""

    def __init__(self, process: "subprocess.Popen[str]", task: Task, folder: Path) -> None:
        self._process, self._task, self._folder = process, task, folder
        self.versions: Mapping[str, str] = self._next()

    def seconds(self, visible: str | None, calls: int) -> float:
        """Of a call that takes all queries; None lets it see everything."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"visible": visible, "calls": calls}) + "\n")
        self._process.stdin.flush()
        seconds: float = self._next()["seconds"]
        return seconds

    def answers(self) -> tuple[Ints, Floats]:
        """The rows and scores of the last call, (queries, k) each, best first. It leaves out the constant factor
        `k1 + 1`, which is put back; scores are float32."""
        rows, scores = np.load(self._folder / "rows.npy"), np.load(self._folder / "scores.npy")
        return rows.astype(np.int64), scores.astype(np.float64) * (self._task.formula.k1 + 1)

    def _next(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        answer: Mapping[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@contextmanager
def beside(task: Task, python: Path, folder: Path) -> Iterator[Bm25s]:
    """Let the `python` of an environment that has it build its index in an empty `folder`; the process ends with the
    context. Raises json.JSONDecodeError when it dies, having said why on standard error."""
    _write(task, folder)
    command = [str(python), str(_SCRIPT), str(folder)]
    with subprocess.Popen(  # noqa: S603 - an interpreter and a script of ours
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Bm25s(process, task, folder)
        finally:
            assert process.stdin is not None
            process.stdin.close()


def _write(task: Task, folder: Path) -> None:
    np.save(folder / "terms.npy", task.terms)
    np.save(folder / "lengths.npy", task.lengths)
    np.save(folder / "queries.npy", task.queries)
    for name, mask in task.visible.items():
        np.save(folder / f"{name}.npy", mask.astype(np.float32))
    job = {
        "k": task.k,
        "k1": task.formula.k1,
        "b": task.formula.b,
        "vocabulary": task.vocabulary,
        "visible": list(task.visible),
    }
    (folder / "job.json").write_text(json.dumps(job))
