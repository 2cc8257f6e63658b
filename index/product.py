"""Who multiplies codes on this machine, and is it proven exact before it serves?

Three products give the same integers (R10). `torch` multiplies int8 tiles (`torch._int_mm`) by the same code on CPU and
CUDA; on CPUs without VNNI it saturates. `faiss` adds up in float32. Both serve only after a self-test with codes that
provoke their faults. `compiled` adds int32 and needs no proof.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import cache

import numpy as np
import numpy.typing as npt
import torch

from index.faiss_scan import faiss_index
from index.torch_scan import FEWEST_QUERIES, int8_product, on

Codes = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

LARGEST_CODE = 127  # -128 is not a code: the quantizer is symmetric


class Product(StrEnum):
    """Who multiplies. `AUTO` on CUDA: torch. On a CPU: the compiled loop for few queries at once, for many torch where
    its self-test holds, else faiss."""

    AUTO = "auto"
    TORCH = "torch"
    FAISS = "faiss"
    COMPILED = "compiled"


DIMENSIONS = {
    Product.TORCH: (2**31 - 1) // LARGEST_CODE**2,  # 133,144: int32 holds every sum
    Product.FAISS: 2**24 // LARGEST_CODE**2,  # 1040: every partial sum is an integer that float32 holds exactly
    Product.COMPILED: (2**31 - 1) // LARGEST_CODE**2,
}
"""The most dimensions at which each is exact."""


@cache
def choose_product(device: torch.device, asked: Product = Product.AUTO) -> Product:
    """Who multiplies for many queries, proven exact on this machine, once in a process (30 ms): what was asked for, or
    with `AUTO` the first of TORCH, FAISS and COMPILED that is. Raises RuntimeError when what was asked for is not."""
    if asked in (Product.AUTO, Product.TORCH) and product_self_test(device):
        return Product.TORCH
    if asked in (Product.AUTO, Product.FAISS) and faiss_self_test():
        return Product.FAISS
    if asked in (Product.AUTO, Product.COMPILED):
        return Product.COMPILED
    raise RuntimeError(f"the int8 product `{asked}` does not compute exactly on {device}")


def product_self_test(device: torch.device) -> bool:
    """Whether the int8 product on `device` equals integer arithmetic where instructions without VNNI saturate."""
    try:
        return all(
            np.array_equal(int8_product(on(queries, device), on(rows, device)).cpu().numpy(), expected)
            for queries, rows, expected in _provoking_codes()
        )
    except torch.OutOfMemoryError:  # says nothing about the product
        raise
    except RuntimeError:  # the device has no int8 product
        return False


def faiss_self_test() -> bool:
    """Whether this build of faiss returns exact inner products of 8-bit codes, best first."""
    for queries, rows, expected in _provoking_codes():
        scores, places = faiss_index(rows).search(queries.astype(np.float32), len(rows))
        if not np.array_equal(scores, -np.sort(-expected)) or not np.array_equal(
            np.take_along_axis(expected, places, axis=1), scores
        ):
            return False
    return True


def _provoking_codes() -> Sequence[tuple[Codes, Codes, Ints]]:
    """Queries, rows and their inner products: codes of +-127 at random, and rows and queries of one sign throughout."""
    cases = []
    for dimension, size in ((64, 64), (384, 512), (1040, 256)):
        signs = np.random.default_rng(dimension).integers(0, 2, (FEWEST_QUERIES + size, dimension), dtype=np.int8)
        signs[::5], signs[1::5] = 0, 1
        codes = (signs * 2 - 1) * np.int8(LARGEST_CODE)
        queries, rows = codes[:FEWEST_QUERIES], codes[FEWEST_QUERIES:]
        cases.append((queries, rows, queries.astype(np.int64) @ rows.astype(np.int64).T))
    return cases
