"""How does a peer take its turns, in an environment that knows nothing of ours?

Run there as a program: `python turns.py SCRIPT FOLDER`. SCRIPT names its packages and makes its searches of the work in
FOLDER; then every line on standard input, `{"search": name, "calls": n}`, is a turn: n calls one after the other. The
line that answers says how many seconds a call took and which file holds what the last one found. Everything else that
is printed goes to standard error. Needs the standard library and numpy alone.
"""

import json
import os
import runpy
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

Search = Callable[[], Sequence[Sequence[int]]]
"""All queries, one after the other: for each the rows found, best first, at most k."""
Searches = Mapping[str, Search]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every side searches.

    vectors: (n, d) float32, small whole numbers, compared by inner product. texts: words between spaces, a row each.
    tenants: (n,) int64. queries: (q, d) float32. query_texts: words between spaces. asked: (q,) int64, the tenant whose
    rows alone a query may find. k: how many. folder: for what an engine writes; empty.
    """

    vectors: npt.NDArray[np.float32]
    texts: Sequence[str]
    tenants: npt.NDArray[np.int64]
    queries: npt.NDArray[np.float32]
    query_texts: Sequence[str]
    asked: npt.NDArray[np.int64]
    k: int
    folder: Path


def save_work(work: Work, folder: Path) -> None:
    """Write the work where `load_work` finds it."""
    for name in ("vectors", "tenants", "queries", "asked"):
        np.save(folder / f"{name}.npy", getattr(work, name))
    (folder / "texts.json").write_text(json.dumps({"texts": work.texts, "query_texts": work.query_texts, "k": work.k}))


def load_work(folder: Path, *, store: Path) -> Work:
    """The work that `save_work` wrote. store: the empty folder for what an engine writes."""
    arrays: dict[str, npt.NDArray[Any]] = {
        name: np.load(folder / f"{name}.npy") for name in ("vectors", "tenants", "queries", "asked")
    }
    written = json.loads((folder / "texts.json").read_text())
    return Work(
        vectors=arrays["vectors"],
        texts=written["texts"],
        tenants=arrays["tenants"],
        queries=arrays["queries"],
        query_texts=written["query_texts"],
        asked=arrays["asked"],
        k=written["k"],
        folder=store,
    )


def main(script: Path, folder: Path, answers: BinaryIO) -> None:
    """Take turns until standard input ends."""
    peer = runpy.run_path(str(script))
    store = folder / script.stem
    store.mkdir()
    begun = time.perf_counter()
    searches: Searches = peer["searches"](load_work(folder, store=store))
    ready = {
        "searches": list(searches),
        "seconds": time.perf_counter() - begun,
        "versions": {name: metadata.version(name) for name in peer["PACKAGES"]},
    }
    _answer(answers, ready)
    for line in sys.stdin:
        turn = json.loads(line)
        search = searches[turn["search"]]
        begun = time.perf_counter()
        for _ in range(turn["calls"]):
            found = search()
        seconds = (time.perf_counter() - begun) / turn["calls"]
        file = folder / f"{script.stem}-{turn['search']}.json"
        file.write_text(json.dumps([[int(row) for row in rows] for rows in found]))
        _answer(answers, {"seconds": seconds, "found": file.name})


def _answer(answers: BinaryIO, record: Mapping[str, object]) -> None:
    answers.write(json.dumps(record).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "wb") as kept:
        os.dup2(2, 1)  # what an engine prints is no answer
        main(Path(sys.argv[1]), Path(sys.argv[2]), kept)
