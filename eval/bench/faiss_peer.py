"""How does faiss, at its best, search the rows that a caller may see?

Of this package the only module that imports faiss: as a peer to be measured, while `index/faiss_scan.py` has it as a
part.
Both indexes hold the same numbers as ours, so that inner products are integers that float32 holds exactly.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_NEVER = 1 << 20  # queries from which on BLAS multiplies


class Kind(StrEnum):
    """Which of faiss's exact indexes."""

    FLAT = "faiss flat fp32"
    EIGHT_BIT = "faiss 8-bit direct signed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """The rows that a search may find, as faiss takes them. Made by `FaissPeer.visible`.

    parameters: None where all may be found. bits: what the selector reads in place.
    """

    parameters: Any
    bits: npt.NDArray[np.uint8]


class FaissPeer:
    """An index of all rows; bitmaps of the visible ones are made beforehand.

    codes: (n, d) int8. on_gpu: the flat one only, where this build and machine have a GPU.
    """

    def __init__(self, kind: Kind, codes: Codes, *, on_gpu: bool = False) -> None:
        self.kind = kind
        self.rows = len(codes)
        self._index: faiss.Index = _flat(codes) if kind is Kind.FLAT else _eight_bit(codes)
        if on_gpu:
            self._resources = faiss.StandardGpuResources()  # must live as long as the index
            self._index = faiss.index_cpu_to_gpu(self._resources, 0, self._index)

    def visible(self, rows: npt.NDArray[np.bool_]) -> Visible:
        """A bitmap of these rows, (n,) bool; none where all are visible."""
        bits = np.packbits(rows, bitorder="little")
        parameters = None
        if not rows.all():
            parameters = faiss.SearchParameters()
            parameters.sel = faiss.IDSelectorBitmap(len(bits), faiss.swig_ptr(bits))
        return Visible(parameters=parameters, bits=bits)

    def search(self, queries: Floats, k: int, visible: Visible) -> tuple[Floats, Ints]:
        """Scores and rows of the best k, each (queries, k); -1 where there are fewer."""
        scores, rows = self._index.search(queries, k, params=visible.parameters)
        return scores, rows


def has_gpu() -> bool:
    """Whether this build of faiss can use a GPU, and there is one."""
    return hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus() > 0


@contextmanager
def tuned_for(search: Callable[[], object]) -> Iterator[None]:
    """faiss's own loop or BLAS for many queries, whichever is faster for `search` here: as shipped it is BLAS, 2,000
    against 488 ms for 64 queries on two AVX-512 cores."""
    shipped = faiss.cvar.distance_compute_blas_threshold
    try:
        seconds = {threshold: _seconds(search, threshold) for threshold in (shipped, _NEVER)}
        faiss.cvar.distance_compute_blas_threshold = min(seconds, key=lambda threshold: seconds[threshold])
        yield
    finally:
        faiss.cvar.distance_compute_blas_threshold = shipped


def _seconds(search: Callable[[], object], threshold: int) -> float:
    faiss.cvar.distance_compute_blas_threshold = threshold
    search()
    begun = time.perf_counter()
    search()
    return time.perf_counter() - begun


def _flat(codes: Codes) -> faiss.IndexFlatIP:
    index = faiss.IndexFlatIP(codes.shape[1])
    index.add(codes.astype(np.float32))
    return index


def _eight_bit(codes: Codes) -> faiss.IndexScalarQuantizer:
    index = faiss.IndexScalarQuantizer(
        codes.shape[1], faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    )
    index.add_sa_codes(codes.view(np.uint8) ^ np.uint8(128))  # the code c is stored as c + 128
    return index
