"""Tests of eval/parity and scripts/gpu_check.py: every check runs here, and each of them can fail."""

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from eval.bench.faiss_peer import FaissPeer, Kind, Visible
from eval.parity import answers, dense, encoding, lexical, libraries, memory, plain_bm25
from eval.parity.dense_cases import DenseCase, cases
from eval.parity.finding import Finding
from eval.parity.sizes import SMALL
from eval.parity.suite import Check
from eval.parity.tiny_encoder import save_tiny_encoder
from index import device_scan, torch_scan
from index.dense import DenseIndex
from index.product import Product, choose_product
from index.ranges import RowRanges
from index.selection import Ranking
from models.encoder import Encoder
from models.qualification import qualify
from models.registry import EncoderEntry
from models.runtime import torch_name
from tests.source_tree import ROOT, modules

CPU = torch.device("cpu")
FAISS = dense.Backend(product=Product.FAISS, device=CPU)
TORCH = dense.Backend(product=Product.TORCH, device=CPU)
TINY = replace(SMALL, rows=3200, queries=3, tiled_rows=4000, filters=8, shortages=6, turns=2, texts=3, questions=1)
needs_int8 = pytest.mark.skipif(
    TORCH not in dense.backends([CPU]), reason="this CPU's int8 product saturates, so faiss serves"
)


@pytest.fixture(scope="module")
def prepared() -> list[DenseCase]:
    return list(cases(TINY))


@pytest.fixture(scope="module")
def tiny_entry(tmp_path_factory: pytest.TempPathFactory) -> EncoderEntry:
    return save_tiny_encoder(tmp_path_factory.mktemp("tiny"))


def script() -> ModuleType:
    """scripts/gpu_check.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("gpu_check", ROOT / "scripts" / "gpu_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_check_holds_on_this_machine_and_is_written_with_machine_and_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "findings.json"

    status = script().main(["--device", "cpu", "--small", "--json", str(out)])
    report = json.loads(out.read_text())
    printed = capsys.readouterr().out.splitlines()
    assert status == 0, "\n".join(printed)
    assert all(finding["passed"] for finding in report["findings"])
    assert len(printed) == len(report["findings"]) + 1
    assert {finding["name"] for finding in report["findings"]} >= {
        "dense scores are those of int64 arithmetic",
        "the search for GPUs gives many scopes at once the rows of int64 arithmetic",
        "every row found is usable, and no other moves it",
        "BM25 scores are those of plain Python",
        "BM25 scores for GPUs are those of the CPU",
        "whole answers are the same",
        "faiss and torch in one process, in turn, do each other no harm",
        "neighbours change no code",
        "out of memory, codes come from smaller batches, or our error",
        "what this faiss does with a selector, which ours never gives it",
    }
    assert report["machine"]["device"] == "cpu"
    assert {"python", "torch", "numpy", "numba"} <= report["versions"].keys()


def test_a_check_that_fails_or_breaks_is_named_and_ends_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the others are made all the same."""

    def broken() -> list[Finding]:
        raise RuntimeError("device-side assert")

    gpu_check = script()
    failed = Finding(name="sums are exact", place="abacus", passed=False, figures={"differing": 1})
    held = replace(failed, passed=True, figures={"differing": 0})
    some = [
        Check(name="one", find=lambda: [failed]),
        Check(name="two", find=broken),
        Check(name="3", find=lambda: [held]),
    ]
    monkeypatch.setattr(gpu_check, "checks", lambda devices, sizes, folder: iter(some))

    status = gpu_check.main(["--device", "cpu"])
    lines = [line.partition(" s  ")[2] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert status == 1
    assert lines == [
        "FAIL  abacus                  sums are exact: 1 differing",
        "FAIL  cpu                     two: RuntimeError: device-side assert error",
        "ok    abacus                  sums are exact: 0 differing",
    ]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_where_there_is_none_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert script().main(["--device", "cuda"]) == 2
    assert "device cuda was asked for" in capsys.readouterr().err


def topk_but(change: Callable[[Ranking], Ranking], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dense index gives rankings with a change."""
    topk = DenseIndex.topk

    def changed(self: DenseIndex, queries: Any, *, ranges: RowRanges, k: int) -> list[Ranking]:
        return [change(found) for found in topk(self, queries, ranges=ranges, k=k)]

    monkeypatch.setattr(DenseIndex, "topk", changed)


@needs_int8
def test_a_sum_that_is_off_by_one_is_found(prepared: list[DenseCase], monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch_scan.int8_product
    monkeypatch.setattr(torch_scan, "int8_product", lambda left, right: real(left, right) | 1)

    assert not dense.integers(TORCH, prepared).passed


@needs_int8
def test_a_sum_that_is_off_by_one_in_the_search_for_gpus_is_found(
    prepared: list[DenseCase], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = device_scan.pair_products
    monkeypatch.setattr(device_scan, "pair_products", lambda codes, queries: real(codes, queries) | 1)

    assert not dense.at_once(CPU, prepared).passed


def test_ties_in_another_order_are_found(prepared: list[DenseCase], monkeypatch: pytest.MonkeyPatch) -> None:
    def by_row(found: Ranking) -> Ranking:
        best = np.lexsort((found.rows, -found.scores))
        return Ranking(rows=found.rows[best], scores=found.scores[best])

    assert dense.integers(FAISS, prepared).passed
    topk_but(by_row, monkeypatch)
    assert not dense.integers(FAISS, prepared).passed


def test_a_row_that_is_not_usable_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    topk_but(lambda found: found._replace(rows=found.rows[::-1] * 0), monkeypatch)

    finding = dense.usable(FAISS, TINY)
    assert not finding.passed
    assert int(finding.figures["ineligible"]) > 0


def test_invisible_rows_that_take_places_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first k of all, of which the usable ones are kept."""
    topk = DenseIndex.topk

    def filtered_afterwards(self: DenseIndex, queries: Any, *, ranges: RowRanges, k: int) -> list[Ranking]:
        found = topk(self, queries, ranges=RowRanges.from_pairs([(0, len(self._codes))]), k=k)
        kept = [ranges.contains(one.rows) for one in found]
        return [Ranking(rows=one.rows[mask], scores=one.scores[mask]) for one, mask in zip(found, kept, strict=True)]

    monkeypatch.setattr(DenseIndex, "topk", filtered_afterwards)
    figures = dense.usable(FAISS, TINY).figures
    assert figures["ineligible"] == 0
    assert int(figures["of_wrong_length"]) > 0
    assert int(figures["moved"]) > 0


@needs_int8
def test_a_tensor_that_outlives_a_failed_try_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[torch.Tensor] = []
    real = torch_scan._padded

    def keeping(codes: torch.Tensor, lines: int) -> torch.Tensor:
        kept.append(real(codes, lines))
        return kept[-1]

    monkeypatch.setattr(torch_scan, "_padded", keeping)
    finding = memory.shortages(TORCH, TINY)
    assert not finding.passed
    assert int(finding.figures["tensors_left"]) > 0


@needs_int8
def test_a_device_that_is_asked_more_than_twice_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.dense._DIVISORS", (1, 2, 4, 8))

    assert int(memory.shortages(TORCH, TINY).figures["by_the_wrong_one"]) > 0


def test_a_lexical_score_of_another_rounding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_bm25, "round", int, raising=False)

    assert not lexical.integers(SMALL).passed


def test_a_lexical_score_for_gpus_of_another_rounding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "round", torch.floor)

    assert not lexical.on_device(CPU, SMALL).passed


@needs_int8
def test_answers_that_differ_between_products_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose_product(CPU, Product.TORCH)  # proven before it is broken
    real = torch_scan.int8_product
    monkeypatch.setattr(torch_scan, "int8_product", lambda left, right: real(left, right) // 1000)

    finding = answers.whole([FAISS, TORCH], TINY, folder=tmp_path)
    assert not finding.passed
    assert int(finding.figures["differing"]) > 0


def test_products_that_disturb_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def drifting(found: Ranking) -> Ranking:
        calls.append(1)
        return found._replace(scores=found.scores + (len(calls) > 4))

    topk_but(drifting, monkeypatch)
    assert int(libraries.in_turn([FAISS], TINY).figures["differing"]) > 0


def test_a_selector_that_is_ignored_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FaissPeer.search

    def without(self: FaissPeer, queries: Any, k: int, visible: Visible) -> Any:
        return real(self, queries, k, replace(visible, parameters=None))

    assert libraries.met(Kind.FLAT, on_gpu=False) is libraries.Selector.HONOURED
    monkeypatch.setattr(FaissPeer, "search", without)
    assert libraries.met(Kind.FLAT, on_gpu=False) is libraries.Selector.IGNORED
    assert [finding.passed for finding in libraries.selectors()] == [False, False]


def test_the_product_gives_faiss_no_selector() -> None:
    """R2: a GPU index ignores one, and on the CPU it reads every row. The peer in benchmarks is what uses one."""
    using = {
        str(path.relative_to(ROOT)) for path in modules("index", "server", "models") if "IDSelector" in path.read_text()
    }

    assert using == set()


def test_a_code_that_depends_on_its_neighbours_is_found(
    tiny_entry: EncoderEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "batch_sizes_to_try", lambda device: (1, 4))
    monkeypatch.setattr(encoding, "qualify", lambda *some, **more: replace(qualify(*some, **more), batch_sizes=(1, 4)))
    real = Encoder.row_vectors

    def together(self: Any, rows: Any, *, batch_sizes: Any) -> Any:
        return real(self, rows, batch_sizes=batch_sizes) * np.float32(1 + (max(batch_sizes) > 1) / 20)

    monkeypatch.setattr(Encoder, "row_vectors", together)
    monkeypatch.setattr(encoding, "runtime_names", lambda device: (torch_name(device),))
    [finding] = encoding.neighbours(tiny_entry, CPU, TINY, cache=tmp_path)
    assert not finding.passed
    assert int(finding.figures["differing"]) > 0


def test_an_encoder_that_does_not_make_its_batches_smaller_is_found(
    tiny_entry: EncoderEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.forward.halve", lambda batch, *, batch_sizes: [])

    assert not encoding.full_device(tiny_entry, CPU, cache=tmp_path).passed
