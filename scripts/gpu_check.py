"""Is every number the same on the GPU of this machine as on its CPU?

`python scripts/gpu_check.py [--device auto|cpu|cuda] [--json OUT] [--small]` runs the parity suite: on the CPU, and on
CUDA where there is a device (`cuda` demands one). It prints a line for each check, writes them with machine and
versions to OUT, and ends with 1 when one of them fails. Two minutes at most on a machine with a GPU; with `--small`
half a minute on a CPU. It needs what the project needs, and nothing else: no network, no data.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that it runs from a checkout that is not installed

import torch  # noqa: E402 - after the path

from eval.bench.machine import machine, versions  # noqa: E402 - after the path
from eval.parity.finding import Finding  # noqa: E402 - after the path
from eval.parity.sizes import FULL, SMALL  # noqa: E402 - after the path
from eval.parity.suite import Check, checks  # noqa: E402 - after the path
from models.device import DeviceChoice, choose_device  # noqa: E402 - after the path
from models.errors import DeviceUnavailable  # noqa: E402 - after the path


def main(arguments: list[str] | None = None) -> int:
    """Run the suite; 0 when everything holds, 1 when something does not, 2 where the device is not there."""
    parser = argparse.ArgumentParser(description="Hold every number on the GPU against the CPU's.")
    parser.add_argument("--device", choices=list(DeviceChoice), default=DeviceChoice.AUTO.value)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write findings, machine and versions here")
    parser.add_argument("--small", action="store_true", help="less of everything, to see that it runs")
    asked = parser.parse_args(arguments)
    if asked.json is not None and not asked.json.parent.is_dir():
        parser.error(f"--json: there is no folder {asked.json.parent}")
    try:
        device = choose_device(asked.device)
    except DeviceUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    devices = [torch.device("cpu"), *([device] if device.type != "cpu" else [])]
    begun = time.monotonic()
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory() as made:
        for check in checks(devices, SMALL if asked.small else FULL, folder=Path(made)):
            for finding in found(check, place=device.type):
                findings.append(finding)
                sys.stdout.write(f"{time.monotonic() - begun:6.1f} s  {finding.line()}\n")
                sys.stdout.flush()
    failed = [finding for finding in findings if not finding.passed]
    if asked.json is not None:
        report = {
            "command": " ".join(
                ["python", "scripts/gpu_check.py", *(sys.argv[1:] if arguments is None else arguments)]
            ),
            "machine": machine(device),
            "versions": versions(),
            "seconds": round(time.monotonic() - begun, 1),
            "findings": [finding.record() for finding in findings],
        }
        asked.json.write_text(json.dumps(report, indent=2) + "\n")
    sys.stdout.write(f"{len(findings) - len(failed)} of {len(findings)} checks hold on {machine(device)['device']}\n")
    return int(bool(failed))


def found(check: Check, *, place: str) -> list[Finding]:
    """What a check finds. One that breaks is one that does not hold, and the others are made all the same."""
    try:
        return check.find()
    except Exception as error:  # noqa: BLE001 - the outermost edge: whatever broke is what is to be reported
        figures = {"error": f"{type(error).__name__}: {error}".partition("\n")[0]}
        return [Finding(name=check.name, place=place, passed=False, figures=figures)]


if __name__ == "__main__":
    sys.exit(main())
