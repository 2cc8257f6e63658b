"""What is ready to be searched?

The rows of a pinned state, the published generation and what came after it, with their dense indexes and the
statistics of recent scopes.
"""

import threading
from dataclasses import dataclass

import torch

from index.bm25 import Formula
from index.channels import Dense, count
from index.dense import DenseIndex, Product
from index.generation import Generation
from index.ranges import RowRanges
from index.recent import Recent
from index.segments import Segments
from index.statistics import ScopeStatistics

SCOPES_KEPT = 256  # statistics of the most recently used scopes; a few numbers each
GENERATIONS_KEPT = 2  # of each kind: the current one, and the one that requests under way may still read


@dataclass(frozen=True, slots=True, kw_only=True)
class Searchable:
    """One row space, as the channels search it."""

    segments: Segments
    dense: Dense


class SearchableRows:
    """Makes each generation searchable once, and keeps scope statistics. Shared by the threads of a process."""

    def __init__(self, *, formula: Formula, device: torch.device, product: str) -> None:
        self._formula = formula
        self._device = device
        self._product = product
        self._making = threading.Lock()
        self._served: Product | None = None
        self._published: Recent[str, DenseIndex] = Recent(GENERATIONS_KEPT)
        self._deltas: Recent[str, DenseIndex] = Recent(GENERATIONS_KEPT)
        self._statistics: Recent[tuple[str, str], ScopeStatistics] = Recent(SCOPES_KEPT)

    def of(self, segments: Segments) -> Searchable:
        """The rows with their dense indexes. That of the published generation is made once, whatever comes after it."""
        base, delta = segments.base, segments.delta
        with self._making:
            older = self._published.get_or_make(base.name, lambda: self._make(base))
            newer = None
            if delta is not None:
                newer = self._deltas.get_or_make(delta.name, lambda: older.beside(delta.codes, delta.order))
        return Searchable(segments=segments, dense=Dense(segments=segments, older=older, newer=newer))

    def statistics(self, segments: Segments, ranges: RowRanges) -> ScopeStatistics:
        """N, lengths and what else BM25 needs of exactly these rows (R9)."""
        return self._statistics.get_or_make(
            (segments.name, ranges.digest()), lambda: count(segments, ranges, formula=self._formula)
        )

    @property
    def fallback(self) -> str | None:
        """What serves in place of the first choice without changing an answer, for the `run` block."""
        if self._served is Product.FAISS and self._product == Product.AUTO:
            return "dense scores by faiss: the int8 product is not exact on this processor"
        return None

    def _make(self, generation: Generation) -> DenseIndex:
        dense = DenseIndex(generation.codes, generation.order, self._device, self._product)
        self._served = dense.product
        return dense
