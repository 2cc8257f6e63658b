"""Tests of index/dense.py where a device has no memory left: the same integers, later (R10).

The int8 product raises here what it raises on a full device.
"""

import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from index import dense, torch_scan
from index.dense import DenseIndex
from index.product import Product, choose_product, product_self_test
from index.ranges import RowRanges
from tests.index.dense_corpus import CPU, brute_force, corpus, lists

pytestmark = pytest.mark.skipif(not product_self_test(CPU), reason="this CPU's int8 product saturates")

CODES, ORDER = corpus(9000, 24, seed=41, largest=3)
QUERIES = corpus(5, 24, seed=42, largest=3)[0]
RANGES = RowRanges.from_pairs([(2, 7000), (7100, 7101)])
EXPECTED = [brute_force(CODES, ORDER, query, RANGES, 30) for query in QUERIES]


class FullDevice:
    """An int8 product that finds no room in its next `times` calls. rows: what each call was given on the right."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int = 0) -> None:
        self.times = times
        self.rows: list[int] = []
        self.given: list[weakref.ref[torch.Tensor]] = []
        self._product = torch_scan.int8_product
        monkeypatch.setattr(torch_scan, "int8_product", self.product)

    def product(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        self.rows.append(len(right))
        if self.times:
            self.times -= 1
            self.given += [weakref.ref(left), weakref.ref(right)]
            raise torch.OutOfMemoryError
        return self._product(left, right)


def index(told: Callable[[], None] = lambda: None) -> DenseIndex:
    return DenseIndex(CODES, ORDER, CPU, Product.TORCH).telling(told)


def search(searched: DenseIndex) -> list[tuple[list[int], list[int]]]:
    return [lists(found) for found in searched.topk(QUERIES, ranges=RANGES, k=30)]


@pytest.mark.parametrize(("times", "fallbacks"), [(1, 0), (2, 0), (3, 1)])
def test_a_full_device_gives_the_same_rankings_from_smaller_tiles_else_the_cpu_does(
    times: int, fallbacks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two retries at most."""
    told: list[int] = []
    searched = index(lambda: told.append(1))
    FullDevice(monkeypatch, times)

    assert search(searched) == EXPECTED
    assert len(told) == fallbacks


def test_each_retry_halves_the_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_scan, "_SCORES_PER_TILE", 24 * 4096)
    device = FullDevice(monkeypatch, times=2)

    assert search(index()) == EXPECTED
    assert device.rows[:3] == [4096, 2048, 1024]


def test_a_device_that_fills_up_in_the_middle_of_a_scan_offers_no_row_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_scan, "_SCORES_PER_TILE", 24 * 2048)
    searched = index()
    device = FullDevice(monkeypatch)

    def on_the_third(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        device.times = int(len(device.rows) == 2)
        return device.product(left, right)

    monkeypatch.setattr(torch_scan, "int8_product", on_the_third)
    assert search(searched) == EXPECTED
    assert device.rows[:4] == [2048, 2048, 2048, 1024]


def test_the_call_after_one_that_the_cpu_answered_tries_the_device_again(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    searched = index(lambda: told.append(1))
    device = FullDevice(monkeypatch, times=3)
    search(searched)
    device.rows.clear()

    assert search(searched) == EXPECTED
    assert len(told) == 1
    assert device.rows == [6976, 32]  # tiles of the full size


def test_200_shortages_leave_no_tensor_behind_and_change_no_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a garbage collection: memory must be free before less of it is tried."""
    searched = index()
    device = FullDevice(monkeypatch)

    shortages, in_a_row = 0, itertools.cycle((1, 2, 3))
    while shortages < 200:
        device.times = next(in_a_row)
        shortages += device.times
        assert search(searched) == EXPECTED
        assert [tensor for tensor in device.given if tensor() is not None] == []
    assert len(device.given) == 2 * shortages


def test_codes_for_which_there_was_no_room_are_placed_by_the_first_call_that_finds_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until then the CPU answers; another device than the CPU is stood in for by its name alone."""
    told: list[int] = []
    room = False
    real = torch_scan.on

    def on(array: Any, device: torch.device) -> torch.Tensor:
        if not room and device == torch.device("meta") and array is CODES:
            raise torch.OutOfMemoryError
        return real(array, CPU)

    monkeypatch.setattr(torch_scan, "on", on)
    monkeypatch.setattr(dense, "choose_product", lambda device, asked: Product.TORCH)
    searched = DenseIndex(CODES, ORDER, torch.device("meta")).telling(lambda: told.append(1))

    assert (search(searched), len(told)) == (EXPECTED, 1)
    assert (search(searched), len(told)) == (EXPECTED, 2)
    room = True
    assert (search(searched), len(told)) == (EXPECTED, 2)
    room = False
    assert (search(searched), len(told)) == (EXPECTED, 2)  # they stay there


def test_a_device_without_room_for_the_proof_leaves_the_rows_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says nothing about the product, so it is not what `auto` goes by."""
    real = torch_scan.int8_product
    full = True

    def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        if full:
            raise torch.OutOfMemoryError
        return real(left, right)

    monkeypatch.setattr("index.product.int8_product", product)
    with pytest.raises(torch.OutOfMemoryError):
        choose_product(torch.device("cpu", 0))  # a name of its own: nothing proven before is kept for it
    full = False

    assert choose_product(torch.device("cpu", 0)) is Product.TORCH


def test_the_rows_are_left_to_the_cpu_where_the_proof_found_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(device: torch.device, asked: Product) -> Product:
        if device != CPU:
            raise torch.OutOfMemoryError
        return Product.TORCH

    monkeypatch.setattr(dense, "choose_product", choose)
    made = DenseIndex(CODES, ORDER, torch.device("cuda"))

    assert (made.device, search(made)) == (CPU, EXPECTED)


def test_faiss_answers_for_a_full_device_where_the_cpu_has_no_exact_int8_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = index()
    FullDevice(monkeypatch, times=1000)
    monkeypatch.setattr(dense, "choose_product", lambda device, asked: Product.FAISS)

    assert search(searched) == EXPECTED


def test_each_of_those_who_were_answered_together_hears_that_the_cpu_did_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """R15."""
    told: list[str] = []
    searched = index()
    FullDevice(monkeypatch, times=1000)
    monkeypatch.setattr(dense, "choose_product", lambda device, asked: Product.FAISS)
    asked = [
        dense._Asked(query=QUERIES[place], ranges=RANGES, k=30, on_fallback=lambda name=name: told.append(name))  # type: ignore[misc]  # bound at once
        for place, name in enumerate("ab")
    ]

    assert [lists(found) for found in searched._answer(asked)] == EXPECTED[:2]
    assert sorted(told) == ["a", "b"]


def test_an_index_beside_a_full_one_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    beside = index().beside(CODES[:4000], np.argsort(np.argsort(ORDER[:4000])).astype(np.int32))
    FullDevice(monkeypatch, times=3)

    few = RowRanges.from_pairs([(0, 4000)])
    [found] = beside.telling(lambda: told.append(1)).topk(QUERIES[:1], ranges=few, k=3)
    assert len(told) == 1
    assert lists(found) == brute_force(CODES, ORDER, QUERIES[0], few, 3)
