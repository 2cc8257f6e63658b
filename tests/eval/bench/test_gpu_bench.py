"""Tests of eval/bench/gpu and scripts/gpu_bench.py: it stays within its time, and what breaks is told."""

import importlib.util
import json
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from eval.bench.errors import AnswersDiffer
from eval.bench.gpu import rows
from eval.bench.gpu.parts import Part, Row, measured
from eval.bench.gpu.sizes import SMALL
from index.dense import DenseIndex
from tests.source_tree import ROOT

TINY = replace(SMALL, rows=640, queries=(1,), tenants=4, dimension=16)
CPU = torch.device("cpu")


def script() -> ModuleType:
    """scripts/gpu_bench.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("gpu_bench", ROOT / "scripts" / "gpu_bench.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def part(name: str, *, needs_s: float = 0.0, takes_s: float = 0.0, breaks: bool = False) -> Part:
    def measure() -> list[Row]:
        time.sleep(takes_s)
        if breaks:
            raise RuntimeError("no such kernel\nmore of it")
        return [Row(work=name, goal="all", reached="some", is_met=False)]

    return Part(name=name, needs_s=needs_s, measure=measure)


def test_a_part_whose_time_is_not_left_is_told_and_those_behind_it_run() -> None:
    told = dict(measured([part("long", needs_s=9.0), part("short")], limit_s=5.0))

    assert told["long"][0].reached == "left out: needs 9 s, 5 s are left"
    assert (told["long"][0].is_met, told["short"][0].reached) == (None, "some")


def test_a_part_that_takes_too_long_is_stopped_so_that_the_whole_ends_in_time() -> None:
    begun = time.monotonic()

    told = dict(measured([part("endless", takes_s=60.0), part("late", needs_s=0.1)], limit_s=0.2))
    assert time.monotonic() - begun < 30
    assert told["endless"][0].reached == "stopped after 0 s: no time is left"
    assert told["late"][0].reached.startswith("left out")


def test_a_part_that_breaks_is_told_and_counts_as_a_failure() -> None:
    (broken,), (after,) = (found for _, found in measured([part("one", breaks=True), part("two")], limit_s=5.0))

    assert (broken.reached, broken.is_met, broken.goal) == ("broke: RuntimeError: no such kernel", False, "")
    assert after.work == "two"


def test_exact_search_has_a_row_for_the_device_for_each_batch_and_for_tenants(tmp_path: Path) -> None:
    (exact, _) = rows.parts(CPU, TINY, folder=tmp_path)

    found = exact.measure()
    assert [row.work.partition(",")[0] for row in found] == [
        "this device (cpu)",
        "640 x 16",
        "640 x 16",
        *["640 rows"] * 3,
        "4 queries of as many tenants",
    ]
    ratios = [
        (float(row.figures["ratio"]), float(row.figures["seconds"]), float(row.figures["bound_s"]))
        for row in found[1:3]
    ]
    assert [ratio for ratio, _, _ in ratios] == pytest.approx([seconds / bound for _, seconds, bound in ratios])


def test_rows_that_the_cpu_does_not_find_end_the_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first index made is the device's: its codes are others."""
    made: list[DenseIndex] = []

    def index(codes: rows.Codes, order: np.typing.NDArray[np.int32], device: torch.device) -> DenseIndex:
        made.append(DenseIndex(codes if made else -codes, order, device))
        return made[-1]

    monkeypatch.setattr(rows, "DenseIndex", index)
    with pytest.raises(AnswersDiffer, match="the CPU finds other rows"):
        rows.parts(CPU, TINY, folder=tmp_path)[0].measure()


@pytest.mark.full
def test_the_script_runs_small_on_a_cpu_within_its_time_and_nothing_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "gpu.json"

    status = script().main(["--device", "cpu", "--small", "--json", str(out)])
    report = json.loads(out.read_text())
    works = [row["work"] for row in report["rows"]]
    assert (status, report["small"], report["seconds"] < 240) == (0, True, True)
    assert [row["reached"] for row in report["rows"] if "left out" in row["reached"] or "broke" in row["reached"]] == []
    for part_of_name in ("tenants", "hybrid", "MiniLM", "one query", "bge-base", "reranker-v2-m3"):
        assert any(part_of_name in work for work in works), part_of_name
    assert "goals are met on cpu" in capsys.readouterr().out


@pytest.mark.full
def test_without_time_everything_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    status = script().main(["--device", "cpu", "--small", "--limit-s", "6"])

    assert status == 0
    assert capsys.readouterr().out.count("left out") == 6
