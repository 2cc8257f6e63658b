"""What does the time of an answer tell of what its caller may not see?

`python scripts/timing_report.py --n 5000 --json docs/benchmarks/timing.json` measures pairs of worlds that differ in
foreign documents only, prints what it finds, and keeps it. It takes about 15 ms for each measurement, on a machine that
does nothing else; what else it does is kept too, as its load.
"""

import argparse
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for `tests`, which is in no package that is installed

import structlog  # noqa: E402  # after the line above
import torch  # noqa: E402  # after the line above
from anyio.from_thread import start_blocking_portal  # noqa: E402  # after the line above

from eval.bench.machine import machine, versions  # noqa: E402  # after the line above
from tests.noninterference import building  # noqa: E402  # after the line above
from tests.noninterference.bench import Bench  # noqa: E402  # after the line above
from tests.noninterference.timing import ROUNDS, examine, scenarios  # noqa: E402  # after the line above
from tests.noninterference.timing_table import NOT_CLAIMED, record, rows, table  # noqa: E402  # after the line above

QUIET = 50  # no log line of a request is written while its time is taken


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, keep. Returns 0 whatever is found."""
    asked = _asked(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(QUIET))
    load_before = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder, start_blocking_portal() as portal, building.unhurried():
        template = building.template(Path(folder) / "template")
        bench = Bench(Path(folder), template=template, portal=portal)
        findings = []
        for scenario in scenarios():
            if not asked.only or scenario.name in asked.only:
                findings.append(examine(bench, scenario, n=asked.n))
                _tell("\n".join(rows(findings[-1])))
    _tell("\n" + table(findings))
    if asked.json is not None:
        kept = {
            "about": "Times of searches in pairs of worlds that differ in foreign documents only. " + NOT_CLAIMED,
            "command": shlex.join(
                ["python", "scripts/timing_report.py", *(sys.argv[1:] if arguments is None else arguments)]
            ),
            "rounds": ROUNDS,
            "machine": machine(torch.device("cpu")),
            "versions": versions(),
            "load": {"before": load_before, "after": os.getloadavg()},
            "note": asked.note,
            "findings": record(findings),
        }
        asked.json.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return 0


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=3000, help="measurements of each world (default: 3000)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this pair of worlds; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the findings are kept")
    parser.add_argument("--note", default="", help="what else is worth knowing of this run")
    asked = parser.parse_args(arguments)
    known = [scenario.name for scenario in scenarios()]
    for name in asked.only or ():
        if name not in known:
            parser.error(f"--only {name!r}: there are {', '.join(known)}")
    if asked.n < 1:
        parser.error(f"--n must be at least 1, got {asked.n}")
    if asked.json is not None and not asked.json.parent.is_dir():
        parser.error(f"--json: there is no folder {asked.json.parent}")
    return asked


if __name__ == "__main__":
    raise SystemExit(main())
