"""What bm25s would answer, in a few lines of numpy: `python bm25s_stand_in.py FOLDER`, as bm25s_peer.py is called."""

import json
import sys
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    terms, lengths, queries = (np.load(folder / f"{name}.npy") for name in ("terms", "lengths", "queries"))
    counts = np.zeros((len(lengths), job["vocabulary"]))
    np.add.at(counts, (np.repeat(np.arange(len(lengths)), lengths), terms), 1)
    held = (counts > 0).sum(axis=0)
    idfs = np.log(1 + (len(lengths) - held + 0.5) / (held + 0.5))
    factors = job["k1"] * (1 - job["b"] + job["b"] * lengths / lengths.mean())
    scores = np.stack([(idfs * counts / (factors[:, None] + counts))[:, query].sum(axis=1) for query in queries])

    print(json.dumps({"bm25s": "none"}), flush=True)
    for line in sys.stdin:
        visible = json.loads(line)["visible"]
        seen = scores if visible is None else scores * np.load(folder / f"{visible}.npy")
        rows = np.argsort(-seen, axis=1, kind="stable")[:, : job["k"]]
        np.save(folder / "rows.npy", rows.astype(np.int32))
        np.save(folder / "scores.npy", np.take_along_axis(seen, rows, axis=1).astype(np.float32))
        print(json.dumps({"seconds": 0.5}), flush=True)
