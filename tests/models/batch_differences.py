"""How many texts get other floats, and how many other codes, in batches on torch float32?

`python -m tests.models.batch_differences OUT` measures the packaged encoder on this machine; what it wrote is kept as
`docs/benchmarks/qualification.json`. It takes ten minutes on two idle cores.
"""

import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from eval.bench.machine import machine, versions
from models.batching import ONE_BY_ONE
from models.encoder import Encoder
from models.loading import open_encoder
from models.qualification import sample_rows
from models.quantize import quantize
from models.registry import DEFAULT_ENCODER, find_encoder
from models.runtime import torch_name

PADDED = (16, 32)  # the shortest lengths that texts are padded to
UNPADDED = (3, 5)  # tokens of the shortest texts, special ones among them
SIZES = (2, 3, 4, 7, 8, 16, 31, 32, 64)
TEXTS = 2000
FINE_SCALE = "0.02"  # codes ten times as fine as the model's: differences show in fewer texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Of `texts` texts at one length. vectors: whose floats differ in a bit from those alone; codes: whose int8 codes
    do; fine_codes: whose codes at FINE_SCALE do. largest: difference of two floats."""

    length: int
    threads: int
    batch: int
    texts: int
    vectors: int
    codes: int
    fine_codes: int
    largest: float


def torch_encoder(cache: Path, *, window: int | None = None, scale: str | None = None) -> Encoder:
    """The packaged encoder on torch in float32. A window shorter than 16 is the length that texts are padded to."""
    entry = find_encoder(DEFAULT_ENCODER, folder=None)
    entry = replace(entry, window=window or entry.window, scale=scale or entry.scale)
    return open_encoder(entry, runtime=torch_name("cpu"), device="cpu", cache=cache)


def measure(encoder: Encoder, *, length: int, sizes: Sequence[int], texts: int) -> Iterator[Differences]:
    """Texts of one padded length alone, then in random batches of each size."""
    rows = sample_rows(encoder.counter, bucket=length, count=texts)
    alone = encoder.row_vectors(rows, batch_sizes=ONE_BY_ONE)
    for size in sizes:
        order = list(range(len(rows)))
        random.Random(size).shuffle(order)
        vectors = encoder.row_vectors([rows[place] for place in order], batch_sizes=(size,))
        yield Differences(
            length=length,
            threads=torch.get_num_threads(),
            batch=size,
            texts=len(rows),
            vectors=int((vectors != alone[order]).any(axis=1).sum()),
            codes=_other_codes(vectors, alone[order], encoder.entry.scale),
            fine_codes=_other_codes(vectors, alone[order], FINE_SCALE),
            largest=float(np.abs(vectors - alone[order]).max()),
        )


def rows_depend_on_their_number() -> bool:
    """Whether this machine's float32 product gives three rows other bits alone than among twelve."""
    chance = torch.Generator().manual_seed(62)
    rows, weights = torch.randn(12, 384, generator=chance), torch.randn(384, 384, generator=chance)
    return not torch.equal(torch.nn.functional.linear(rows[:3], weights), torch.nn.functional.linear(rows, weights)[:3])


def main(out: Path) -> int:
    """Measure every length, with one thread and with two; written to `out` as far as it has come."""
    found: list[Differences] = []
    with tempfile.TemporaryDirectory() as cache:
        for length in (*UNPADDED, *PADDED):
            encoder = torch_encoder(Path(cache), window=length if length in UNPADDED else None)
            for threads in (1, 2):
                torch.set_num_threads(threads)
                found += measure(encoder, length=length, sizes=SIZES, texts=TEXTS)
                report = {
                    "about": f"{DEFAULT_ENCODER} on torch float32: of how many texts the vector, the int8 code, and a"
                    f" code at scale {FINE_SCALE} differ in a batch from alone",
                    "command": "python -m tests.models.batch_differences qualification.json",
                    "machine": machine(torch.device("cpu")),
                    "versions": versions(),
                    "differences": [asdict(one) for one in found],
                }
                out.write_text(json.dumps(report, indent=2) + "\n")
    return 0


def _other_codes(vectors: NDArray[np.float32], alone: NDArray[np.float32], scale: str) -> int:
    return int((quantize(vectors, scale=scale) != quantize(alone, scale=scale)).any(axis=1).sum())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
