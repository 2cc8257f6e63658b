"""How close does exact filtered search come to what this device could do, at ten million rows?

The product's own index, against the time that the device needs to read the visible codes once, or to multiply them,
whichever is longer; both rates are measured on the spot. What it finds is compared with the CPU's, row by row.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from eval.bench.drawn_rows import caller_rows, publish_drawn, questions
from eval.bench.errors import AnswersDiffer
from eval.bench.generations import Asked, Searched, open_rows, recipe_of
from eval.bench.gpu.parts import Part, Row
from eval.bench.gpu.sizes import Sizes
from eval.bench.measured import percentile
from eval.bench.rounds import milliseconds
from index.dense import DenseIndex
from index.device_scan import DeviceScan
from index.ranges import RowRanges
from index.selection import Ranking
from index.sharing import shared_rows
from index.torch_scan import FEWEST_QUERIES, int8_product
from server.retrieval import Outcome
from server.schemas import Channel

K = 100
WITHIN = 1.5  # times the bound
MOST_P50_S, MOST_P99_S, LEAST_RATE = 0.005, 0.015, 2000.0
_COMPARED = 4  # queries whose rows are compared with the CPU's
_SEED = 43
_ROUNDS = 7
_DIVISORS = (1, 2, 4)  # of the tile, as `dense` tries them where memory is short
_DEPTH = 200
_QUESTIONS = 64
_PARTS = (8, 1)  # of all units, visible where words alone are looked up

Codes = npt.NDArray[np.int8]


def parts(device: torch.device, sizes: Sizes, *, folder: Path) -> list[Part]:
    """The parts, to be measured in this order. folder: for an index."""
    return [
        Part(name="exact filtered search", needs_s=30, measure=lambda: _exact(device, sizes)),
        Part(name="hybrid search", needs_s=75, measure=lambda: _hybrid(device, sizes, folder)),
    ]


def _exact(device: torch.device, sizes: Sizes) -> list[Row]:
    rng = np.random.default_rng(_SEED)
    codes = rng.integers(-64, 65, (sizes.rows, sizes.dimension), dtype=np.int8)
    queries = rng.integers(-64, 65, (max(*sizes.queries, sizes.tenants), sizes.dimension), dtype=np.int8)
    order = np.arange(sizes.rows, dtype=np.int32)
    index = DenseIndex(codes, order, device)
    reference = DenseIndex(codes, order, torch.device("cpu"))
    visible = int(sizes.rows * sizes.visible)
    filtered = caller_rows(sizes.rows, visible)
    everything = RowRanges.from_pairs([(0, sizes.rows)])
    bandwidth, products = _bytes_per_s(device, sizes), _products_per_s(device, sizes)
    rows = [_rates(device, bandwidth, products)]
    for name, ranges in ((f"{sizes.visible:.0%} visible", filtered), ("everything visible", everything)):
        _require_equal(name, index, reference, queries[:_COMPARED], ranges)
        for count in sizes.queries:
            asked = queries[:count]
            seconds = _median(lambda asked=asked, ranges=ranges: index.topk(asked, ranges=ranges, k=K))  # type: ignore[misc]  # bound now, for the loop
            read = ranges.count * sizes.dimension
            bound = max(read / bandwidth, read * max(count, FEWEST_QUERIES) / products)
            rows.append(_against(f"{sizes.rows:,} x {sizes.dimension}, {name}, {count} queries", seconds, bound))
    rows += _tiles(DeviceScan(codes, order, device), reference, queries[: max(sizes.queries)], everything)
    return [*rows, _tenants(index, reference, queries[: sizes.tenants], sizes)]


def _rates(device: torch.device, bandwidth: float, products: float) -> Row:
    return Row(
        work=f"this device ({device.type})",
        goal="",
        reached=f"reads {bandwidth / 1e9:,.0f} GB/s, {2 * products / 1e12:,.2f} TOP/s of int8",
        is_met=None,
        figures={"bytes_per_s": bandwidth, "int8_products_per_s": products},
    )


def _against(work: str, seconds: float, bound: float) -> Row:
    return Row(
        work=work,
        goal=f"within x{WITHIN} of what the device needs to read or multiply the codes",
        reached=f"{milliseconds(seconds)}, the bound is {milliseconds(bound)}: x{seconds / bound:.2f}",
        is_met=seconds <= WITHIN * bound,
        figures={"seconds": seconds, "bound_s": bound, "ratio": seconds / bound},
    )


def _tiles(scan: DeviceScan, reference: DenseIndex, queries: Codes, ranges: RowRanges) -> list[Row]:
    """What the size of a tile does to the search for GPUs, without what is around it."""
    few = queries[:_COMPARED]
    ours = scan.rankings(few, shared_rows([ranges] * len(few)), K, divisor=1)
    _require_same("on the device alone", ours, reference.topk(few, ranges=ranges, k=K))
    parts = shared_rows([ranges] * len(queries))
    rows = []
    for divisor in _DIVISORS:
        seconds = _median(lambda divisor=divisor: scan.rankings(queries, parts, K, divisor=divisor))  # type: ignore[misc]  # as above
        rows.append(
            Row(
                work=f"{ranges.count:,} rows, {len(queries)} queries, on the device alone, a tile of 1/{divisor}",
                goal="",
                reached=milliseconds(seconds),
                is_met=None,
                figures={"divisor": divisor, "seconds": seconds},
            )
        )
    return rows


def _tenants(index: DenseIndex, reference: DenseIndex, queries: Codes, sizes: Sizes) -> Row:
    """One query of each tenant, over that tenant's rows alone."""
    each = sizes.rows // len(queries)
    scopes = [RowRanges.from_pairs([(tenant * each, (tenant + 1) * each)]) for tenant in range(len(queries))]

    def ask(searched: DenseIndex, count: int) -> list[Ranking]:
        return searched.topk_each(queries[:count], scopes=scopes[:count], k=K)

    _require_same("tenants", ask(index, _COMPARED), ask(reference, _COMPARED))
    seconds = _median(lambda: ask(index, len(queries)))
    return Row(
        work=f"{len(queries):,} queries of as many tenants, {each:,} rows each",
        goal="x3 of cuVS with a bitmap, x20 of its loop",
        reached=f"{milliseconds(seconds)}, {len(queries) / seconds:,.0f} queries/s; cuVS is not here to compare with",
        is_met=None,
        figures={"seconds": seconds, "queries_per_s": len(queries) / seconds},
    )


def _hybrid(device: torch.device, sizes: Sizes, folder: Path) -> list[Row]:
    recipe = recipe_of(sizes.kind.dimension)
    directory = folder / "hybrid"
    directory.mkdir()
    segments = open_rows(directory, publish_drawn(directory, sizes.units, sizes.kind), recipe=recipe)
    searched = Searched(segments, recipe=recipe, device=device)
    reference = Searched(segments, recipe=recipe, device=torch.device("cpu"))
    eligible = searched.eligible(caller_rows(sizes.units, sizes.kind.visible))
    asked = questions(sizes.kind, _QUESTIONS)
    for query in asked[:_COMPARED]:
        ours, theirs = (
            side.ask(query, Channel.HYBRID, eligible=eligible, depth=_DEPTH) for side in (searched, reference)
        )
        if ours != theirs:
            raise AnswersDiffer("hybrid search", "the CPU gives another answer")
    latencies: list[float] = []
    with _asking(sizes.threads) as run:
        took = run(
            lambda number: searched.ask(asked[number % len(asked)], Channel.HYBRID, eligible=eligible, depth=_DEPTH),
            sizes.load_s,
            latencies,
        )
    ascending = tuple(sorted(latencies))
    rate, p50, p99 = len(ascending) / took, percentile(ascending, 50), percentile(ascending, 99)
    return [
        Row(
            work=f"hybrid, {sizes.units:,} units, {sizes.kind.visible:,} visible, {sizes.threads} threads ask",
            goal=f"p50 {MOST_P50_S * 1000:g} ms and p99 {MOST_P99_S * 1000:g} ms at {LEAST_RATE:,.0f} queries/s",
            reached=f"p50 {milliseconds(p50)}, p99 {milliseconds(p99)} at {rate:,.0f} queries/s",
            is_met=p50 <= MOST_P50_S and p99 <= MOST_P99_S and rate >= LEAST_RATE,
            figures={"p50_s": p50, "p99_s": p99, "queries_per_s": rate},
        ),
        *(_words(searched, reference, asked[:_COMPARED], sizes.units, part) for part in _PARTS),
    ]


def _words(searched: Searched, reference: Searched, asked: Sequence[Asked], units: int, part: int) -> Row:
    """BM25 over so large a scope that a GPU does it, beside this machine's CPU."""
    eligible = searched.eligible(caller_rows(units, units // part))

    def ask(side: Searched) -> list[Outcome]:
        return [side.ask(query, Channel.LEXICAL, eligible=eligible, depth=_DEPTH) for query in asked]

    if ask(searched) != ask(reference):
        raise AnswersDiffer("lexical search", "the CPU gives another answer")
    ours, theirs = (_median(lambda side=side: ask(side)) / len(asked) for side in (searched, reference))  # type: ignore[misc]  # bound now
    return Row(
        work=f"words, {eligible.ranges.count:,} of {units:,} units visible, one query",
        goal="",
        reached=f"{milliseconds(ours)} and by the CPU {milliseconds(theirs)}",
        is_met=None,
        figures={"ours_s": ours, "cpu_s": theirs, "visible": eligible.ranges.count},
    )


@contextmanager
def _asking(threads: int) -> Iterator[Callable[[Callable[[int], object], float, list[float]], float]]:
    """A function that lets threads ask for so long, adds the latency of every call to a list, and gives the seconds
    that it took. Threads never outlive the context, however it ends."""
    stopped = threading.Event()
    running: list[threading.Thread] = []

    def run(ask: Callable[[int], object], seconds: float, latencies: list[float]) -> float:
        def repeat(first: int) -> None:
            number = first
            while not stopped.is_set():
                begun = time.perf_counter()
                ask(number)
                latencies.append(time.perf_counter() - begun)
                number += threads

        begun = time.perf_counter()
        running.extend(threading.Thread(target=repeat, args=(number,)) for number in range(threads))
        for thread in running:
            thread.start()
        stopped.wait(seconds)
        stopped.set()
        for thread in running:
            thread.join()
        return time.perf_counter() - begun

    try:
        yield run
    finally:
        stopped.set()
        for thread in running:
            thread.join()


def _bytes_per_s(device: torch.device, sizes: Sizes) -> float:
    """What the device reads a second, by a copy, which reads and writes."""
    size = min(sizes.rows * sizes.dimension, 2**30) // 8 * 8
    source = torch.ones(size // 8, dtype=torch.int64, device=device)
    target = torch.empty_like(source)

    def copy() -> None:
        target.copy_(source)
        _wait(device)

    return 2 * size / _median(copy)


def _products_per_s(device: torch.device, sizes: Sizes) -> float:
    """How many int8 products the device multiplies and adds a second, in a shape that suits it."""
    lines, depth = (4096, 4096) if device.type == "cuda" else (256, 512)
    left = torch.ones((lines, depth), dtype=torch.int8, device=device)
    right = torch.ones((min(sizes.rows // 8 * 8, lines), depth), dtype=torch.int8, device=device)

    def multiply() -> None:
        int8_product(left, right)
        _wait(device)

    return len(left) * len(right) * depth / _median(multiply)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _median(call: Callable[[], object]) -> float:
    """Seconds of a call, after one that warms up."""
    call()
    seconds = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


def _require_equal(name: str, index: DenseIndex, reference: DenseIndex, queries: Codes, ranges: RowRanges) -> None:
    ours, theirs = (one.topk(queries, ranges=ranges, k=K) for one in (index, reference))
    _require_same(name, ours, theirs)


def _require_same(name: str, ours: list[Ranking], theirs: list[Ranking]) -> None:
    for found, expected in zip(ours, theirs, strict=True):
        if not (np.array_equal(found.rows, expected.rows) and np.array_equal(found.scores, expected.scores)):
            raise AnswersDiffer(name, "the CPU finds other rows")
