"""Tests of index/device_scan.py on a CPU: the rankings of int64 arithmetic, in few calls (R2, R10, R11)."""

import weakref

import numpy as np
import numpy.typing as npt
import pytest
import torch

from index import device_scan, torch_scan, visible_blocks
from index.dense import DenseIndex
from index.device_scan import DeviceScan
from index.product import Product, product_self_test
from index.ranges import RowRanges
from index.selection import Ranking
from index.sharing import shared_rows
from tests.index.dense_corpus import CPU, Codes, brute_force, corpus, everything, lists, subset

pytestmark = pytest.mark.skipif(not product_self_test(CPU), reason="this CPU's int8 product saturates")

Order = npt.NDArray[np.int32]


def search(codes: Codes, order: Order, queries: Codes, scopes: list[RowRanges], k: int) -> list[Ranking]:
    return DeviceScan(codes, order, CPU).rankings(queries, shared_rows(scopes), k, divisor=1)


def many_scopes(count: int) -> list[RowRanges]:
    """Tenants of their own beside rows that all see; nothing; everything, twice; many single rows and stretches."""
    public = (count - 900, count - 100)
    tenants = [RowRanges.from_pairs([(70 * place, 70 * place + 90), public]) for place in range(12)]
    single = RowRanges.from_rows(np.arange(0, count, 3))
    return [*tenants, RowRanges.from_pairs([]), everything(count), single, everything(count), subset(count, 50, seed=1)]


@pytest.mark.parametrize("few_pairs", [0, 20_000, 2**40], ids=["matrix products", "both", "pairs"])
@pytest.mark.parametrize("k", [1, 25, 3000])
def test_queries_of_many_scopes_get_the_rankings_of_int64_arithmetic(
    few_pairs: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By either product, tile by tile, with long runs and gathered ones; 40% of the rows repeat others, and 5 codes
    tie across k."""
    monkeypatch.setattr(device_scan, "FEW_PAIRS", few_pairs)
    monkeypatch.setattr(device_scan, "_SCORES_PER_TILE", 24 * 20 * 32)
    monkeypatch.setattr(visible_blocks, "LONG_RUN", 640)
    codes, order = corpus(3000, 20, seed=50, largest=2)
    scopes = many_scopes(3000)
    queries = corpus(len(scopes), 20, seed=51, largest=2)[0]

    found = search(codes, order, queries, scopes, k)

    expected = [brute_force(codes, order, query, ranges, k) for query, ranges in zip(queries, scopes, strict=True)]
    assert [lists(ranking) for ranking in found] == expected


@pytest.mark.parametrize("spare", [0, 32])
def test_a_cut_through_one_long_tie_follows_identity(spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of 9,000 rows tie, in 282 blocks: nothing but the order tells them apart. Of the others no row ties."""
    monkeypatch.setattr(device_scan, "SPARE_BLOCKS", spare)
    codes = np.full((18_000, 8), 5, dtype=np.int8)
    codes[9000:, 0] = np.arange(9000) % 100
    codes[9000:, 1] = np.arange(9000) // 100
    order = np.random.default_rng(52).permutation(18_000).astype(np.int32)
    query = np.array([100, 1, 0, 0, 0, 0, 0, 0], dtype=np.int8)
    scopes = [RowRanges.from_pairs([(0, 9000)]), RowRanges.from_pairs([(9000, 18_000)])]

    tied, other = search(codes, order, np.stack([query, query]), scopes, 50)

    assert tied.rows.tolist() == np.argsort(order[:9000])[:50].tolist()
    assert lists(other) == brute_force(codes, order, query, scopes[1], 50)


def test_scores_below_zero_are_not_taken_for_rows_that_are_not_there() -> None:
    """Every score is negative, and the last block is not full."""
    codes, order = corpus(1500, 16, seed=53)
    codes[:, 0], codes[:, 1:] = -127, 0
    query = np.array([[127, *[0] * 15]], dtype=np.int8)

    [found] = search(codes, order, query, [everything(1491)], 4)

    assert lists(found) == brute_force(codes, order, query[0], everything(1491), 4)
    assert found.scores.tolist() == [-16_129] * 4


def test_little_at_a_time_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries in several passes, pairs and keys in pieces."""
    codes, order = corpus(2500, 16, seed=54, largest=3)
    scopes = many_scopes(2500)
    queries = corpus(len(scopes), 16, seed=55, largest=3)[0]
    expected = [lists(ranking) for ranking in search(codes, order, queries, scopes, 20)]
    passes: list[int] = []
    real = device_scan._Pass

    def counting(*more: object) -> object:
        passes.append(1)
        return real(*more)  # type: ignore[arg-type]  # whatever it is given

    monkeypatch.setattr(device_scan, "_Pass", counting)
    monkeypatch.setattr(device_scan, "_MAXIMA", 200)
    monkeypatch.setattr(device_scan, "_PRODUCTS_AT_ONCE", 10 * 32 * 16)
    monkeypatch.setattr(device_scan, "_KEYS_AT_ONCE", 3 * 52 * 32)

    assert [lists(ranking) for ranking in search(codes, order, queries, scopes, 20)] == expected
    assert len(passes) > 2


def test_no_code_outside_a_querys_scope_is_multiplied_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2. Each row's code names its tenant, and each query's code too."""
    codes = np.zeros((4000, 8), dtype=np.int8)
    codes[:, 0] = np.arange(4000) // 1000 + 1
    queries = np.zeros((4, 8), dtype=np.int8)
    queries[:, 0] = [1, 2, 3, 4]
    scopes = [RowRanges.from_pairs([(1000 * tenant, 1000 * tenant + 970)]) for tenant in range(4)]
    met: set[tuple[int, int]] = set()
    pairs, matrix = device_scan.pair_products, torch_scan.int8_product

    def counting_pairs(rows: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        for block, query in zip(rows, asked, strict=True):
            met.update((row, int(query[0])) for row in block[:, 0].tolist())
        return pairs(rows, asked)

    def counting_matrix(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        met.update((row, query) for row in right[:, 0].tolist() for query in left[:, 0].tolist() if query)
        return matrix(left, right)

    monkeypatch.setattr(device_scan, "pair_products", counting_pairs)
    monkeypatch.setattr(device_scan, "int8_product", counting_matrix)
    monkeypatch.setattr(device_scan, "SPARE_BLOCKS", 2)
    for few_pairs in (0, 2**15):
        monkeypatch.setattr(device_scan, "FEW_PAIRS", few_pairs)
        search(codes, np.arange(4000, dtype=np.int32), queries, scopes, 3)

    assert met == {(1, 1), (2, 2), (3, 3), (4, 4)}


def test_how_often_the_device_is_called_does_not_grow_with_scopes_that_are_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    real = device_scan.pair_products

    def counting(codes: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        calls.append(len(codes))
        return real(codes, queries)

    monkeypatch.setattr(device_scan, "pair_products", counting)
    monkeypatch.setattr(device_scan, "SPARE_BLOCKS", 1)
    codes, order = corpus(6400, 40, seed=56, repeated=0)  # a tie would be another call
    made = []
    for tenants in (2, 50):
        scopes = [RowRanges.from_pairs([(128 * tenant, 128 * tenant + 128)]) for tenant in range(tenants)]
        search(codes, order, codes[:tenants], scopes, 2)
        made.append(len(calls))
        calls.clear()

    assert made == [2, 2]  # the best of each block, then the blocks of the best


def index() -> DenseIndex:
    """As on CUDA, with tensors of the CPU."""
    made = DenseIndex(CODES, ORDER, CPU, Product.TORCH)
    made._scans = made._placing = DeviceScan(CODES, ORDER, CPU)
    made._placing.place()
    return made


CODES, ORDER = corpus(5000, 24, seed=57, largest=3)
QUERIES = corpus(4, 24, seed=58, largest=3)[0]


@pytest.mark.parametrize("few_pairs", [0, 2**40], ids=["matrix products", "pairs"])
def test_a_full_device_gives_the_same_rankings_from_less_at_a_time_else_the_cpu_does(
    few_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no tensor of a failed try is left."""
    monkeypatch.setattr(device_scan, "FEW_PAIRS", few_pairs)
    expected = [brute_force(CODES, ORDER, query, everything(5000), 30) for query in QUERIES]
    told: list[int] = []
    searched = index().telling(lambda: told.append(1))
    shortages = [0]
    given: list[weakref.ref[torch.Tensor]] = []

    def scarce(real_name: str) -> None:
        real = getattr(device_scan, real_name)

        def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            if shortages[0]:
                shortages[0] -= 1
                given.extend([weakref.ref(left), weakref.ref(right)])
                raise torch.OutOfMemoryError
            found: torch.Tensor = real(left, right)
            return found

        monkeypatch.setattr(device_scan, real_name, product)

    scarce("int8_product")
    scarce("pair_products")
    for in_a_row, fallbacks in ((1, 0), (2, 0), (3, 1)):
        shortages[0] = in_a_row
        told.clear()
        assert [lists(found) for found in searched.topk(QUERIES, ranges=everything(5000), k=30)] == expected
        assert (len(told), shortages) == (fallbacks, [0])
        assert [tensor for tensor in given if tensor() is not None] == []


def test_codes_are_placed_once() -> None:
    scan = DeviceScan(CODES, ORDER, CPU)

    assert not scan.is_placed
    assert scan.place() is scan.place()
    assert scan.is_placed


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_cuda_rankings_are_those_of_int64_arithmetic() -> None:
    scopes = many_scopes(5000)
    queries = corpus(len(scopes), 24, seed=59, largest=3)[0]

    found = DenseIndex(CODES, ORDER, torch.device("cuda")).topk_each(queries, scopes=scopes, k=40)

    for query, ranges, ranking in zip(queries, scopes, found, strict=True):
        assert lists(ranking) == brute_force(CODES, ORDER, query, ranges, 40)
