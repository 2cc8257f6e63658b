"""What is ready to be searched?

A pinned generation with its dense index and the statistics of recent scopes.
"""

import threading
from dataclasses import dataclass

import torch

from index.bm25 import Formula
from index.dense import DenseIndex, Product
from index.generation import Generation
from index.ranges import RowRanges
from index.recent import Recent
from index.statistics import ScopeStatistics, gather

SCOPES_KEPT = 256  # statistics of the most recently used scopes; a few numbers each
GENERATIONS_KEPT = 2  # the current one, and the one that requests under way may still read


@dataclass(frozen=True, slots=True, kw_only=True)
class Searchable:
    """One generation, as the channels search it."""

    generation: Generation
    dense: DenseIndex


class SearchableRows:
    """Makes each generation searchable once, and keeps scope statistics. Shared by the threads of a process."""

    def __init__(self, *, formula: Formula, device: torch.device, product: str) -> None:
        self._formula = formula
        self._device = device
        self._product = product
        self._making = threading.Lock()
        self._served: Product | None = None
        self._kept: Recent[str, Searchable] = Recent(GENERATIONS_KEPT)
        self._statistics: Recent[tuple[str, str], ScopeStatistics] = Recent(SCOPES_KEPT)

    def of(self, generation: Generation) -> Searchable:
        """The generation with its dense index."""
        with self._making:
            return self._kept.get_or_make(generation.name, lambda: self._make(generation))

    def statistics(self, generation: Generation, ranges: RowRanges) -> ScopeStatistics:
        """N, lengths and what else BM25 needs of exactly these rows (R9)."""
        return self._statistics.get_or_make(
            (generation.name, ranges.digest()),
            lambda: gather(generation.postings, generation.lengths, ranges=ranges, formula=self._formula),
        )

    @property
    def fallback(self) -> str | None:
        """What serves in place of the first choice without changing an answer, for the `run` block."""
        if self._served is Product.FAISS and self._product == Product.AUTO:
            return "dense scores by faiss: the int8 product is not exact on this processor"
        return None

    def _make(self, generation: Generation) -> Searchable:
        dense = DenseIndex(generation.codes, generation.order, self._device, self._product)
        self._served = dense.product
        return Searchable(generation=generation, dense=dense)
