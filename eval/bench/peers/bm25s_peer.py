"""How does bm25s, compiled by numba, rank the same documents?

Stands alone: `python bm25s_peer.py FOLDER` needs numpy, numba and bm25s, and nothing of ours. FOLDER holds `job.json`
(k, k1, b, vocabulary, visible: names), `terms.npy` (the terms of all documents one after the other, int32),
`lengths.npy` (terms of each document), `queries.npy` ((queries, terms) int32), and for each name in `visible` a mask
`NAME.npy`, (documents,) float32.

Once the index is built it prints a line of JSON with the versions. Then each line `{"visible": NAME or null, "calls":
n}` on standard input is answered by one with the seconds of a call, which takes all queries at once on one thread;
the answers lie in `rows.npy` and `scores.npy`, (queries, k) each.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bm25s
import numpy as np


def main(folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text())
    lengths = np.load(folder / "lengths.npy")
    documents = np.split(np.load(folder / "terms.npy"), np.cumsum(lengths)[:-1])
    queries = np.load(folder / "queries.npy").tolist()
    masks: dict[str | None, Any] = {name: np.load(folder / f"{name}.npy") for name in job["visible"]}
    ranker = bm25s.BM25(method="lucene", k1=job["k1"], b=job["b"], backend="numba")
    ranker.index((documents, {str(term): term for term in range(job["vocabulary"])}), show_progress=False)
    _say({name: version(name) for name in ("bm25s", "numba", "numpy")})
    for line in sys.stdin:
        asked = json.loads(line)
        mask = masks.get(asked["visible"])
        begun = time.perf_counter()
        for _ in range(asked["calls"]):
            rows, scores = ranker.retrieve(queries, k=job["k"], weight_mask=mask, show_progress=False)
        seconds = (time.perf_counter() - begun) / asked["calls"]
        np.save(folder / "rows.npy", rows)
        np.save(folder / "scores.npy", scores)
        _say({"seconds": seconds})


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
