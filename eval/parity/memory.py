"""What happens to an answer when the device has no memory left, and afterwards?

The shortage is made: the int8 products raise what a full device raises, so that the same check runs
anywhere. On CUDA memory is withheld for real besides.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from unittest import mock

import numpy as np
import torch

from eval.parity.dense import Backend
from eval.parity.finding import Finding
from eval.parity.sizes import Sizes
from index import device_scan, torch_scan
from index.dense import DenseIndex
from index.ranges import RowRanges
from index.selection import Ranking

_ROWS, _DIMENSION, _QUERIES, _K = 6_000, 64, 5, 40
_IN_A_ROW = (1, 2, 3)  # once: a smaller tile does it; thrice: the CPU answers


def shortages(backend: Backend, sizes: Sizes) -> Finding:
    """Answers are those of a device with room, the CPU answers only after two smaller tries, the next call is the
    device's again, and no tensor of a failed try is left."""
    chance = np.random.default_rng(33)
    codes = chance.integers(-127, 128, (_ROWS, _DIMENSION), dtype=np.int8)
    index = DenseIndex(codes, chance.permutation(_ROWS).astype(np.int32), backend.device, backend.product)
    queries = codes[chance.integers(0, _ROWS, _QUERIES)]
    ranges = RowRanges.from_pairs([(10, 5_000), (5_500, 5_501)])
    fallbacks: list[int] = []
    asked = index.telling(lambda: fallbacks.append(1))

    def ask() -> list[Ranking]:
        return asked.topk(queries, ranges=ranges, k=_K)

    expected = ask()
    differing = misplaced = left = met = 0
    in_a_row = cycle(_IN_A_ROW)
    while met < sizes.shortages:
        wanted = next(in_a_row)
        tensors: list[weakref.ref[torch.Tensor]] = []
        with _full(wanted, tensors.append):
            before = len(fallbacks)
            differing += not _equal(ask(), expected)
            misplaced += len(fallbacks) - before != (wanted == len(_IN_A_ROW))
        left += sum(tensor() is not None for tensor in tensors)
        met += wanted
        before = len(fallbacks)
        differing += not _equal(ask(), expected)
        misplaced += len(fallbacks) != before
    return Finding(
        name="out of memory, answers stay what they are and the device is tried again",
        place=backend.place,
        passed=not (differing or misplaced or left),
        figures={"shortages": met, "differing": differing, "by_the_wrong_one": misplaced, "tensors_left": left},
    )


def withheld(backend: Backend) -> Finding:
    """The same where a device's memory is withheld for real: from the codes, then from the tiles, then not at all."""
    chance = np.random.default_rng(34)
    codes = chance.integers(-127, 128, (200_000, 384), dtype=np.int8)
    order = chance.permutation(len(codes)).astype(np.int32)
    queries, ranges = codes[:_QUERIES], RowRanges.from_pairs([(0, len(codes))])
    expected = DenseIndex(codes, order, torch.device("cpu")).topk(queries, ranges=ranges, k=_K)
    fallbacks: list[int] = []
    differing, by_cpu = 0, []
    with _little_memory():
        index = DenseIndex(codes, order, backend.device, backend.product).telling(lambda: fallbacks.append(1))
        differing += not _equal(index.topk(queries, ranges=ranges, k=_K), expected)
    by_cpu.append(len(fallbacks))
    differing += not _equal(index.topk(queries, ranges=ranges, k=_K), expected)
    by_cpu.append(len(fallbacks))
    with _little_memory():
        differing += not _equal(index.topk(queries, ranges=ranges, k=_K), expected)
    by_cpu.append(len(fallbacks))
    differing += not _equal(index.topk(queries, ranges=ranges, k=_K), expected)
    by_cpu.append(len(fallbacks))
    return Finding(
        name="with memory withheld the CPU answers, then the device again",
        place=backend.place,
        passed=differing == 0 and by_cpu == [1, 1, 2, 2],
        figures={"answers_by_the_cpu": by_cpu[-1], "differing": differing},
    )


@contextmanager
def _little_memory() -> Iterator[None]:
    """No more memory of the CUDA device than is held now."""
    torch.cuda.empty_cache()
    held, whole = torch.cuda.memory_reserved(), torch.cuda.get_device_properties(torch.device("cuda")).total_memory
    torch.cuda.set_per_process_memory_fraction(held / whole)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@contextmanager
def _full(times: int, keep: Callable[["weakref.ref[torch.Tensor]"], None]) -> Iterator[None]:
    """For the next `times` calls the int8 products find no room. `keep` gets weak references to what they get."""
    remaining = [times]

    def scarce(real: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
        def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            if remaining[0]:
                remaining[0] -= 1
                for tensor in (left, right):
                    keep(weakref.ref(tensor))
                raise torch.OutOfMemoryError("made by the parity suite")
            return real(left, right)

        return product

    matrix, pairs = scarce(torch_scan.int8_product), scarce(device_scan.pair_products)
    with (
        mock.patch.object(torch_scan, "int8_product", matrix),
        mock.patch.multiple(device_scan, int8_product=matrix, pair_products=pairs),
    ):
        yield


def _equal(one: list[Ranking], other: list[Ranking]) -> bool:
    return all(
        np.array_equal(a.rows, b.rows) and np.array_equal(a.scores, b.scores) for a, b in zip(one, other, strict=True)
    )
