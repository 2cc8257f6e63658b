"""How fast is it on the GPU of this machine, beside the goals that are set for one?

`python scripts/gpu_bench.py [--device auto|cpu|cuda] [--json OUT] [--small] [--limit-s 240]` measures encoders and
rerankers against sentence-transformers, exact filtered search against what the device could do, and hybrid search under
load, with random weights and drawn rows. It prints a line for each goal as soon as it has it, and ends within its
limit: parts for which no time is left are told as left out. With `--small` half a minute on a CPU, to see that it runs.
It needs what the project needs, and nothing else: no network, no data, no weights. Exit status 1 when a part broke or
its answers are not those of the CPU.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that it runs from a checkout that is not installed
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # as the command line has it: nothing is fetched
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


from eval.bench.gpu import networks, rows  # noqa: E402 - after the path
from eval.bench.gpu.parts import Row, measured  # noqa: E402 - after the path
from eval.bench.gpu.sizes import FULL, SMALL  # noqa: E402 - after the path
from eval.bench.machine import machine, versions  # noqa: E402 - after the path
from models.device import DeviceChoice, choose_device  # noqa: E402 - after the path
from models.errors import DeviceUnavailable  # noqa: E402 - after the path

LIMIT_S = 240.0
_LAST_S = 5.0  # kept for the end: what was written to disk is removed


def main(arguments: list[str] | None = None) -> int:
    """Measure; 0 when every part that had time was measured, 1 when one broke, 2 where the device is not there."""
    parser = argparse.ArgumentParser(description="Measure on the GPU, beside the goals.")
    parser.add_argument("--device", choices=list(DeviceChoice), default=DeviceChoice.AUTO.value)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write rows, machine and versions here")
    parser.add_argument("--small", action="store_true", help="less of everything, to see that it runs")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, metavar="SECONDS", help="when it ends at the latest")
    asked = parser.parse_args(arguments)
    try:
        device = choose_device(asked.device)
    except DeviceUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sizes = SMALL if asked.small else FULL
    begun = time.monotonic()
    table: list[Row] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        parts = [*rows.parts(device, sizes, folder=folder), *networks.parts(device, sizes, folder=folder)]
        for _, found in measured(parts, limit_s=asked.limit_s - _LAST_S):
            for row in found:
                table.append(row)
                sys.stdout.write(f"{time.monotonic() - begun:6.1f} s  {row.line()}\n")
                sys.stdout.flush()
    if asked.json is not None:
        report = {
            "command": " ".join(
                ["python", "scripts/gpu_bench.py", *(sys.argv[1:] if arguments is None else arguments)]
            ),
            "small": asked.small,
            "machine": machine(device),
            "versions": versions(),
            "seconds": round(time.monotonic() - begun, 1),
            "rows": [row.record() for row in table],
        }
        asked.json.write_text(json.dumps(report, indent=2) + "\n")
    judged = [row for row in table if row.goal and row.is_met is not None]
    met = sum(row.is_met is True for row in judged)
    sys.stdout.write(f"{met} of {len(judged)} goals are met on {machine(device)['device']}\n")
    return int(any(row.is_met is False and not row.goal for row in table))


if __name__ == "__main__":
    sys.exit(main())
