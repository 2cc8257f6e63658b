"""Tests of index/dense.py: which product may serve on this machine (R10)."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from index import faiss_scan, product, torch_scan
from index.dense import DenseIndex
from index.product import Product, choose_product
from tests.index.dense_corpus import CPU, corpus


@pytest.fixture(autouse=True)
def proven_anew() -> Iterator[None]:
    """What these tests break must be proven by themselves, and by nobody after them."""
    choose_product.cache_clear()
    yield
    choose_product.cache_clear()


def test_auto_takes_the_int8_product_exactly_where_its_self_test_holds() -> None:
    codes, order = corpus(10, 8, seed=18)
    index = DenseIndex(codes, order, CPU)

    assert index.product is (Product.TORCH if product.product_self_test(CPU) else Product.FAISS)
    assert index.device == CPU


def saturating(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """What a CPU without VNNI does: unsigned times signed bytes, added in pairs into int16, which saturates."""
    wide = right.to(torch.int32)
    products = (left.to(torch.int32) + 128)[:, None] * wide[None]
    pairs = (products[..., ::2] + products[..., 1::2]).clamp(-(2**15), 2**15 - 1)
    return (pairs.sum(2) - 128 * wide.sum(1)).to(torch.int32)


def test_the_self_test_goes_red_on_a_product_that_saturates_and_auto_then_takes_faiss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(product, "int8_product", saturating)
    codes, order = corpus(10, 8, seed=19)

    assert not product.product_self_test(CPU)
    assert DenseIndex(codes, order, CPU).product is Product.FAISS
    with pytest.raises(RuntimeError, match="does not compute exactly"):
        DenseIndex(codes, order, CPU, Product.TORCH)


def test_a_product_is_proven_once_in_a_process_and_not_for_each_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs: list[torch.device] = []
    real_test = product.product_self_test

    def counting(device: torch.device) -> bool:
        proofs.append(device)
        return real_test(device)

    monkeypatch.setattr(product, "product_self_test", counting)
    codes, order = corpus(10, 8, seed=18)

    assert {DenseIndex(codes, order, CPU).product for _ in range(3)} <= set(Product)
    assert proofs == [CPU]


CAPPED = """
import json
import numpy as np
import torch
from index import dense, product
from index.ranges import RowRanges

rng = np.random.default_rng(20)
codes = ((rng.integers(0, 2, (6000, 384)) * 2 - 1) * 127).astype(np.int8)
codes[::3] = codes[0]
order = rng.permutation(6000).astype(np.int32)
ranges = RowRanges.from_pairs([(5, 900), (1000, 5990)])
queries = np.concatenate([codes[[0, 1, 4, 5999]], codes[10:30]])
cpu = torch.device("cpu")
index = dense.DenseIndex(codes, order, cpu)
found = index.topk(queries, ranges=ranges, k=40)
rows = ranges.rows()
right = 0
for query, ranking in zip(queries, found, strict=True):
    scores = codes[rows].astype(np.int64) @ query.astype(np.int64)
    best = np.lexsort((order[rows], -scores))[:40]
    right += ranking.rows.tolist() == rows[best].tolist() and ranking.scores.tolist() == scores[best].tolist()
print(json.dumps({"self_test": product.product_self_test(cpu), "product": index.product, "right": right}))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the features capped here are those of x86")
def test_on_a_cpu_capped_below_vnni_the_self_test_is_red_and_faiss_answers_right() -> None:
    """R10: oneDNN, which computes torch's int8 product, is held to AVX2 in a child process."""
    done = subprocess.run(
        [sys.executable, "-c", CAPPED],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert json.loads(done.stdout) == {"self_test": False, "product": "faiss", "right": 24}


def test_this_build_of_faiss_passes_its_self_test() -> None:
    assert product.faiss_self_test()


def test_a_faiss_that_returns_other_scores_fails_its_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    real_index = faiss_scan.faiss_index
    monkeypatch.setattr(product, "faiss_index", lambda codes: real_index(np.maximum(codes, -126)))

    assert not product.faiss_self_test()


@pytest.mark.parametrize(("lines", "columns", "dimension"), [(16, 8, 8), (24, 9, 8), (24, 8, 12)])
def test_shapes_that_cuda_refuses_are_refused_on_the_cpu_too(lines: int, columns: int, dimension: int) -> None:
    with pytest.raises(ValueError, match="more than 16 rows and multiples of 8"):
        torch_scan.int8_product(
            torch.zeros((lines, dimension), dtype=torch.int8), torch.zeros((columns, dimension), dtype=torch.int8)
        )


def test_more_dimensions_than_float32_adds_exactly_are_refused_for_faiss() -> None:
    codes = np.zeros((2, 1041), dtype=np.int8)

    with pytest.raises(ValueError, match="exact for 1 to 1040 dimensions, got 1041"):
        DenseIndex(codes, np.arange(2, dtype=np.int32), CPU, Product.FAISS)
