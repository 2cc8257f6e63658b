"""Tests of index/dense.py: exact integer search, the same by either product (R2, R10, R11)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from index import dense, faiss_scan, torch_scan
from index.compiled_scan import CompiledScan
from index.dense import MANY_QUERIES, MANY_ROWS, DenseIndex
from index.faiss_scan import FaissScan
from index.product import Product, product_self_test
from index.ranges import RowRanges
from index.selection import Ranking, Shortlist
from index.sharing import Shared, shared_rows
from index.torch_scan import TorchScan
from tests.index.dense_corpus import CPU, PRODUCTS, Codes, brute_force, corpus, everything, lists, subset


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize(
    ("name", "ranges"),
    [
        ("all", everything(6000)),
        ("none", RowRanges.from_pairs([])),
        ("one", RowRanges.from_pairs([(3777, 3778)])),
        ("a few", subset(6000, 3, seed=1)),
        ("hundreds", subset(6000, 400, seed=2)),
        ("thousands", RowRanges.from_pairs([(row, row + 1) for row in range(0, 6000, 3)])),
        ("long and short", RowRanges.from_pairs([(1, 3), (5, 5003), (5010, 5011), (5100, 5999)])),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("k", [1, 10, 200, 9000])
def test_rows_and_scores_are_those_of_int64_arithmetic_alone_and_in_a_batch_of_64(
    product: Product, name: str, ranges: RowRanges, k: int
) -> None:
    """40% of the rows repeat others, and small codes tie across k."""
    codes, order = corpus(6000, 24, seed=3, largest=2)
    queries = np.concatenate([codes[:40:2], corpus(44, 24, seed=4, largest=2)[0]])
    index = DenseIndex(codes, order, CPU, product)

    batch = index.topk(queries, ranges=ranges, k=k)

    assert len(np.unique(codes, axis=0)) <= 0.7 * len(codes)
    for query, found in list(zip(queries, batch, strict=True))[::9]:
        assert lists(found) == brute_force(codes, order, query, ranges, k)
        assert lists(index.topk(query[None], ranges=ranges, k=k)[0]) == lists(found)


@pytest.mark.skipif(not product_self_test(CPU), reason="this CPU's int8 product saturates")
def test_both_products_agree_over_many_random_subsets_for_every_query_of_a_batch() -> None:
    codes, order = corpus(9000, 40, seed=5, largest=3)
    by_torch, by_faiss = (DenseIndex(codes, order, CPU, product) for product in (Product.TORCH, Product.FAISS))
    queries = corpus(64, 40, seed=6, largest=3)[0]

    for seed in range(12):
        ranges = subset(9000, 1 + seed * 30, seed=seed)
        one, other = (index.topk(queries, ranges=ranges, k=25) for index in (by_torch, by_faiss))
        assert [lists(found) for found in one] == [lists(found) for found in other]


@pytest.mark.parametrize("product", PRODUCTS)
@settings(deadline=None, max_examples=40)
@given(st.data())
def test_small_random_cases_equal_int64_arithmetic(product: Product, data: st.DataObject) -> None:
    count, dimension = data.draw(st.integers(1, 90)), data.draw(st.integers(1, 19))
    codes, order = corpus(
        count, dimension, seed=data.draw(st.integers(0, 99)), largest=data.draw(st.sampled_from([1, 127]))
    )
    pairs = data.draw(st.lists(st.tuples(st.integers(0, count), st.integers(0, count)).map(sorted), max_size=6))
    ranges = RowRanges.from_pairs((start, end) for start, end in pairs)
    queries = corpus(data.draw(st.integers(1, 30)), dimension, seed=100)[0]
    k = data.draw(st.integers(1, count + 2))

    found = DenseIndex(codes, order, CPU, product).topk(queries, ranges=ranges, k=k)

    assert [lists(each) for each in found] == [brute_force(codes, order, query, ranges, k) for query in queries]


@pytest.mark.parametrize("product", PRODUCTS)
def test_saturated_codes_at_the_largest_dimension_give_exact_scores(product: Product) -> None:
    """1040 * 127^2 = 16,774,160 lies just below 2^24."""
    signs = np.random.default_rng(8).integers(0, 2, (500, 1040), dtype=np.int8)
    signs[:60], signs[60:120] = 1, 0
    codes = (signs * 2 - 1) * np.int8(127)
    order = np.arange(500, dtype=np.int32)
    index = DenseIndex(codes, order, CPU, product)

    found = index.topk(codes[[0, 60, 300]], ranges=everything(500), k=70)

    assert [lists(each) for each in found] == [
        brute_force(codes, order, codes[row], everything(500), 70) for row in (0, 60, 300)
    ]
    assert found[0].scores[0] == 16_774_160


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_cut_through_one_long_tie_follows_identity(product: Product) -> None:
    """Every row is the same: 9,000 ties, over several tiles, in the order of identity and of nothing else."""
    codes = np.full((9000, 8), 5, dtype=np.int8)
    order = np.random.default_rng(9).permutation(9000).astype(np.int32)

    [found] = DenseIndex(codes, order, CPU, product).topk(codes[:1], ranges=everything(9000), k=50)

    assert found.rows.tolist() == np.argsort(order)[:50].tolist()


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_scan_over_several_tiles_equals_int64_arithmetic(product: Product) -> None:
    """100,000 rows are two tiles for one query and more for many; scores rise, so that every tile has new best rows."""
    rng = np.random.default_rng(10)
    codes = rng.integers(-9, 10, (100_000, 8), dtype=np.int8)
    codes[:, 0] = np.linspace(-127, 127, 100_000).astype(np.int8)
    order = rng.permutation(100_000).astype(np.int32)
    queries = rng.integers(-3, 4, (130, 8), dtype=np.int8)
    queries[:, 0] = 40
    index = DenseIndex(codes, order, CPU, product)

    for asked in (queries[:1], queries):
        found = index.topk(asked, ranges=everything(100_000), k=30)
        for at in range(0, len(asked), 43):
            assert lists(found[at]) == brute_force(codes, order, asked[at], everything(100_000), 30)


@pytest.mark.parametrize("product", PRODUCTS)
def test_twice_the_k_begins_with_the_same_rows(product: Product) -> None:
    codes, order = corpus(5000, 16, seed=11, largest=1)
    index = DenseIndex(codes, order, CPU, product)

    [few] = index.topk(codes[:1], ranges=everything(5000), k=40)
    [more] = index.topk(codes[:1], ranges=everything(5000), k=80)

    assert lists(few) == (more.rows[:40].tolist(), more.scores[:40].tolist())


@pytest.mark.parametrize("product", PRODUCTS)
def test_codes_of_invisible_rows_change_nothing(product: Product) -> None:
    """R2, R6: every invisible row becomes the best there could be."""
    codes, order = corpus(9000, 16, seed=12, largest=30)
    ranges = subset(9000, 60, seed=13)
    poisoned = codes.copy()
    poisoned[~ranges.contains(np.arange(9000))] = np.sign(codes[0]) * np.int8(127)

    one, other = (DenseIndex(each, order, CPU, product) for each in (codes, poisoned))

    [found] = one.topk(codes[:1], ranges=ranges, k=100)
    assert lists(other.topk(codes[:1], ranges=ranges, k=100)[0]) == lists(found)


def test_the_int8_product_is_given_the_visible_rows_and_zeros_to_fill_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: rows scored are counted where the product is called."""
    given_rows: list[int] = []
    real_product = torch_scan.int8_product

    def counting(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        given_rows.append(len(right))
        return real_product(left, right)

    codes, order = corpus(9000, 16, seed=14)
    ranges = subset(9000, 50, seed=15)
    index = DenseIndex(codes, order, CPU, Product.TORCH)
    monkeypatch.setattr(torch_scan, "int8_product", counting)

    index.topk(codes[:2], ranges=ranges, k=10)

    assert ranges.count <= sum(given_rows) < ranges.count + torch_scan.BLOCK


def test_faiss_is_given_exactly_the_visible_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    given_rows: list[int] = []
    real_index = faiss_scan.faiss_index

    def counting(codes: Codes) -> object:
        given_rows.append(len(codes))
        return real_index(codes)

    codes, order = corpus(9000, 16, seed=14)
    ranges = subset(9000, 50, seed=15)
    index = DenseIndex(codes, order, CPU, Product.FAISS)
    monkeypatch.setattr(faiss_scan, "faiss_index", counting)

    index.topk(codes[:2], ranges=ranges, k=10)

    assert sum(given_rows) == ranges.count


@pytest.mark.parametrize("product", [*PRODUCTS, Product.AUTO])
def test_queries_of_many_callers_get_in_one_call_what_each_gets_alone(product: Product) -> None:
    """R2, R10: tenants of their own, rows that all see, some that a few see, callers who see nothing or everything."""
    codes, order = corpus(9000, 24, seed=30, largest=2)
    public = (8000, 8700)
    scopes = [RowRanges.from_pairs([(70 * place, 70 * place + 90), public]) for place in range(40)]
    scopes += [RowRanges.from_pairs([]), everything(9000), scopes[3], subset(9000, 200, seed=31)]
    queries = corpus(len(scopes), 24, seed=32, largest=2)[0]
    index = DenseIndex(codes, order, CPU, product)

    together = index.topk_each(queries, scopes=scopes, k=25)

    for query, ranges, found in zip(queries, scopes, together, strict=True):
        assert lists(found) == brute_force(codes, order, query, ranges, 25)
        assert lists(index.topk(query[None], ranges=ranges, k=25)[0]) == lists(found)


@pytest.mark.parametrize("product", [*PRODUCTS, Product.AUTO])
def test_searches_that_wait_at_once_get_what_each_gets_alone(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    """R10: other scopes, another k; several share a pass."""
    monkeypatch.setattr(dense, "GATHERED_ROWS", 1)
    codes, order = corpus(9000, 24, seed=40, largest=2)
    scopes = [subset(9000, 1 + place, seed=place) for place in range(96)]
    queries = corpus(96, 24, seed=41, largest=2)[0]
    index = DenseIndex(codes, order, CPU, product)
    passes: list[int] = []
    found = DenseIndex._found

    def counting(self: DenseIndex, together: Codes, *more: Any, **named: Any) -> Any:
        passes.append(len(together))
        return found(self, together, *more, **named)

    monkeypatch.setattr(DenseIndex, "_found", counting)

    def search(place: int) -> tuple[list[int], list[int]]:
        [ranking] = index.topk(queries[place][None], ranges=scopes[place], k=1 + place % 30)
        return lists(ranking)

    with ThreadPoolExecutor(24) as callers:
        together = list(callers.map(search, range(96)))

    assert together == [brute_force(codes, order, queries[place], scopes[place], 1 + place % 30) for place in range(96)]
    assert sum(passes) == 96
    assert max(passes) > 1


@pytest.mark.parametrize("gathers", [True, False])
def test_a_large_search_waits_in_the_common_queue_unless_that_is_switched_off(
    gathers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "GATHERED_ROWS", 100)
    codes, order = corpus(600, 24, seed=42)
    index = DenseIndex(codes, order, CPU, gathers=gathers)
    asked: list[object] = []
    ask = index._gathering.ask

    def counting(one: Any) -> Ranking:
        asked.append(one)
        return ask(one)

    monkeypatch.setattr(index._gathering, "ask", counting)

    for rows in (99, 100):
        [found] = index.topk(codes[:1], ranges=everything(rows), k=5)
        assert lists(found) == brute_force(codes, order, codes[0], everything(rows), 5)
    assert len(asked) == (1 if gathers else 0)


def test_the_compiled_loop_shares_large_work_among_threads_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.compiled_scan._PRODUCTS_PER_JOB", 100)
    codes, order = corpus(9000, 24, seed=33, largest=2)
    ranges = subset(9000, 30, seed=34)
    queries = corpus(5, 24, seed=35, largest=2)[0]
    with ThreadPoolExecutor(3) as workers:
        scan = CompiledScan(codes, order, workers, threads=3)
        shortlist = Shortlist(queries=5, k=40, order=order)
        scan.offer(queries, shared_rows([ranges] * 5), shortlist, 40, divisor=1)

    found = shortlist.rankings()
    assert [lists(each) for each in found] == [brute_force(codes, order, query, ranges, 40) for query in queries]


def test_for_few_queries_auto_takes_the_compiled_loop_and_for_many_the_proven_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, int]] = []
    for scan in (CompiledScan, TorchScan, FaissScan):
        offer = scan.offer

        def counting(self: Any, queries: Codes, *more: Any, offer: Any = offer, **named: Any) -> None:
            asked.append((type(self).__name__, len(queries)))
            offer(self, queries, *more, **named)

        monkeypatch.setattr(scan, "offer", counting)
    codes, order = corpus(600, 24, seed=36)
    index = DenseIndex(codes, order, CPU)

    for count in (1, MANY_QUERIES - 1, MANY_QUERIES):
        index.topk(codes[:count], ranges=everything(600), k=5)
    many = "TorchScan" if index.product is Product.TORCH else "FaissScan"
    assert asked == [("CompiledScan", 1), ("CompiledScan", MANY_QUERIES - 1), (many, MANY_QUERIES)]


def test_for_many_queries_over_few_rows_auto_takes_the_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    looped: list[int] = []
    offer = CompiledScan.offer

    def counting(self: CompiledScan, queries: Codes, parts: Sequence[Shared], *more: Any, **named: Any) -> None:
        looped.append(sum(part.ranges.count for part in parts))
        offer(self, queries, parts, *more, **named)

    monkeypatch.setattr(CompiledScan, "offer", counting)
    codes, order = corpus(600, 24, seed=37)
    index = DenseIndex(codes, order, CPU)

    for rows in (MANY_ROWS - 1, MANY_ROWS):
        index.topk(codes[:MANY_QUERIES], ranges=everything(rows), k=5)
    assert looped == [MANY_ROWS - 1]


@pytest.mark.parametrize("product", PRODUCTS)
def test_single_rows_score_as_in_the_ranking(product: Product) -> None:
    """R12: the union is scored in this channel too."""
    codes, order = corpus(6000, 384, seed=16)
    ranges = everything(6000)
    index = DenseIndex(codes, order, CPU, product)

    [found] = index.topk(codes[:1], ranges=ranges, k=6000)

    assert index.score_rows(codes[0], found.rows, ranges=ranges).tolist() == found.scores.tolist()


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_read_only_memory_map_serves_as_codes(product: Product, tmp_path: Path) -> None:
    codes, order = corpus(500, 16, seed=17)
    codes.tofile(tmp_path / "codes")
    mapped = np.memmap(tmp_path / "codes", dtype=np.int8, mode="r", shape=(500, 16))

    [found] = DenseIndex(mapped, order, CPU, product).topk(codes[:1], ranges=everything(500), k=5)

    assert lists(found) == brute_force(codes, order, codes[0], everything(500), 5)


def as_codes(array: npt.NDArray[np.generic]) -> Codes:
    """The array as a caller without a type checker passes it."""
    return cast("Codes", array)


def test_arrays_of_another_kind_are_refused() -> None:
    codes, order = corpus(10, 8, seed=21)

    for wrong in (codes.astype(np.float32), codes[0], codes[:, ::2]):
        with pytest.raises(ValueError, match="int8 codes, C-contiguous"):
            DenseIndex(as_codes(wrong), order, CPU)
    with pytest.raises(ValueError, match="int32 order of 10 rows"):
        DenseIndex(codes, order[:9], CPU)


def test_queries_of_another_kind_and_ranges_beyond_the_codes_are_refused() -> None:
    codes, order = corpus(10, 8, seed=22)
    index = DenseIndex(codes, order, CPU)

    for wrong in (codes[:, :4], codes.astype(np.int16), np.full((1, 8), -128, dtype=np.int8), codes[0]):
        with pytest.raises(ValueError, match=r"queries|codes lie"):
            index.topk(as_codes(wrong), ranges=everything(10), k=1)
    with pytest.raises(ValueError, match="k of at least 1"):
        index.topk(codes[:1], ranges=everything(10), k=0)
    with pytest.raises(ValueError, match="the ranges end at row 11"):
        index.topk(codes[:1], ranges=everything(11), k=1)
    with pytest.raises(ValueError, match="only usable rows are scored"):
        index.score_rows(codes[0], np.array([3, 9], dtype=np.int64), ranges=everything(9))


def test_no_queries_give_no_rankings() -> None:
    codes, order = corpus(10, 8, seed=23)

    assert DenseIndex(codes, order, CPU).topk(codes[:0], ranges=everything(10), k=3) == []


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_generation_without_rows_answers_with_none(product: Product) -> None:
    empty = DenseIndex(np.zeros((0, 8), dtype=np.int8), np.zeros(0, dtype=np.int32), CPU, product)

    [found] = empty.topk(np.ones((1, 8), dtype=np.int8), ranges=RowRanges.from_pairs([]), k=3)

    assert lists(found) == ([], [])


def test_an_index_beside_another_gives_the_rankings_of_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product was proven when the first was made, and is not proven again."""
    codes = np.random.default_rng(5).integers(-127, 128, (40, 16), dtype=np.int8)
    order = np.arange(40, dtype=np.int32)
    cpu, everything = torch.device("cpu"), RowRanges.from_pairs([(0, 20)])
    own = DenseIndex(codes[20:], order[:20], cpu).topk(codes[:3], ranges=everything, k=5)
    first = DenseIndex(codes[:20], order[:20], cpu)
    before = first.topk(codes[:3], ranges=everything, k=5)
    monkeypatch.delattr("index.dense.choose_product")

    beside = first.beside(codes[20:], order[:20])
    for found, expected in ((beside, own), (first, before)):
        rankings = found.topk(codes[:3], ranges=everything, k=5)
        assert [ranking.rows.tolist() for ranking in rankings] == [ranking.rows.tolist() for ranking in expected]
