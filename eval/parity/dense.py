"""Are dense scores the same integers whoever multiplies, and is every row found a usable one?

R2, R10 and R11, on one product on one device at a time.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from eval.parity.dense_cases import DenseCase
from eval.parity.finding import Finding
from eval.parity.sizes import Sizes
from index.dense import DenseIndex
from index.device_scan import DeviceScan
from index.product import Product, faiss_self_test, product_self_test
from index.ranges import RowRanges
from index.sharing import shared_rows

_CPU = torch.device("cpu")
_DIMENSION = 64  # of the rows that scopes are cut from
_POISONED_ROWS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One way to multiply codes: a product, and where it runs."""

    product: Product
    device: torch.device

    @property
    def place(self) -> str:
        """As findings name it."""
        return f"{self.product} on {self.device.type}"

    def index(self, case: DenseCase) -> DenseIndex:
        """The codes of a case, ready to be searched."""
        return DenseIndex(case.codes, case.order, self.device, self.product)


def backends(devices: Iterable[torch.device]) -> list[Backend]:
    """The products that prove exact here: torch's on each device, and two that multiply on the CPU."""
    found = [Backend(product=Product.TORCH, device=device) for device in devices if product_self_test(device)]
    if faiss_self_test():
        found.append(Backend(product=Product.FAISS, device=_CPU))
    return [*found, Backend(product=Product.COMPILED, device=_CPU)]


def integers(backend: Backend, prepared: Sequence[DenseCase]) -> Finding:
    """Rows, scores and order are those of int64 arithmetic, alone and in a batch, over every scope, at every k."""
    compared = differing = scored = 0
    seen = hashlib.sha256()
    for case in prepared:
        index = backend.index(case)
        for ranges in case.scopes.values():
            for k in case.ks:
                batch = index.topk(case.queries, ranges=ranges, k=k)
                alone = index.topk(case.queries[:1], ranges=ranges, k=k)
                for query, found in [*enumerate(batch), (0, alone[0])]:
                    rows, scores = case.expected(query, ranges, k)
                    compared += 1
                    scored += len(rows)
                    differing += not (np.array_equal(found.rows, rows) and np.array_equal(found.scores, scores))
                    seen.update(found.rows.astype("<i8").tobytes() + found.scores.astype("<i8").tobytes())
            rows = ranges.rows()[:: max(ranges.count // 500, 1)]
            single = index.score_rows(case.queries[-1], rows, ranges=ranges)
            differing += not np.array_equal(single, case.scores[rows, -1])
    return Finding(
        name="dense scores are those of int64 arithmetic",
        place=backend.place,
        passed=differing == 0,
        figures={
            "rankings": compared,
            "scores": scored,
            "differing": differing,
            "digest": f"sha256:{seen.hexdigest()}",
        },
    )


def at_once(device: torch.device, prepared: Sequence[DenseCase]) -> Finding:
    """The search that serves on a GPU finds, in one call, for queries each of which has another scope, the rows and
    scores of int64 arithmetic. It runs on a CPU too."""
    compared = differing = 0
    for case in prepared:
        scan, scopes = DeviceScan(case.codes, case.order, device), list(case.scopes.values())
        each = [scopes[query % len(scopes)] for query in range(len(case.queries))]
        for asked, ks in ((each, case.ks[:3]), ([scopes[0]] * len(each), case.ks[:1])):
            for k in ks:
                found = scan.rankings(case.queries, shared_rows(asked), k, divisor=1)
                for query, (ranges, ranking) in enumerate(zip(asked, found, strict=True)):
                    rows, scores = case.expected(query, ranges, k)
                    compared += 1
                    differing += not (np.array_equal(ranking.rows, rows) and np.array_equal(ranking.scores, scores))
    return Finding(
        name="the search for GPUs gives many scopes at once the rows of int64 arithmetic",
        place=device.type,
        passed=differing == 0 and compared > 0,
        figures={"rankings": compared, "differing": differing},
    )


def usable(backend: Backend, sizes: Sizes) -> Finding:
    """Over random scopes every row found is one of them, as many as there are come, and what lies outside, made the
    best answer that there could be, moves nothing."""
    chance = np.random.default_rng(32)
    codes = chance.integers(-90, 91, (_POISONED_ROWS, _DIMENSION), dtype=np.int8)
    queries = chance.integers(-127, 128, (sizes.queries, _DIMENSION), dtype=np.int8)
    order = chance.permutation(_POISONED_ROWS).astype(np.int32)
    pairs = ineligible = wrong = moved = 0
    for _ in range(sizes.filters):
        visible = _some(chance)
        ranges = RowRanges.from_rows(np.flatnonzero(visible))
        poisoned = np.where(visible[:, None], codes, np.sign(queries[0]) * np.int8(127))
        k = int(chance.choice([1, 7, 50, _POISONED_ROWS]))
        plain, other = (
            DenseIndex(each, order, backend.device, backend.product).topk(queries, ranges=ranges, k=k)
            for each in (codes, poisoned)
        )
        for one, two in zip(plain, other, strict=True):
            pairs += 1
            ineligible += int((~visible[one.rows]).sum()) + int((~visible[two.rows]).sum())
            wrong += len(one.rows) != min(k, int(visible.sum()))
            moved += not (np.array_equal(one.rows, two.rows) and np.array_equal(one.scores, two.scores))
    return Finding(
        name="every row found is usable, and no other moves it",
        place=backend.place,
        passed=not (ineligible or wrong or moved),
        figures={"pairs": pairs, "ineligible": ineligible, "of_wrong_length": wrong, "moved": moved},
    )


def _some(chance: np.random.Generator) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """(rows,) bool: none, one, all, a share at random, or stretches."""
    visible = np.zeros(_POISONED_ROWS, dtype=np.bool_)
    match int(chance.integers(0, 5)):
        case 0:
            visible[: int(chance.integers(0, 2))] = True
        case 1:
            visible[:] = True
        case 2:
            visible = chance.random(_POISONED_ROWS) < chance.choice([0.001, 0.02, 0.5, 0.99])
        case _:
            cuts = np.sort(chance.choice(_POISONED_ROWS, size=2 * int(chance.integers(1, 40)), replace=False))
            for start, end in zip(cuts[::2], cuts[1::2], strict=True):
                visible[start:end] = True
    return visible
