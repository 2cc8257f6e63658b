"""What is ready to be searched?

The rows of a pinned state, the published generation and what came after it, with their dense indexes and the
statistics of recent scopes.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import structlog
import torch

from index.approximate import Approximation, Narrowing, Signs
from index.bm25 import Formula
from index.channels import Approximate, Dense, count
from index.dense import DenseIndex
from index.device_lexical import DeviceLexical, LargeScopes
from index.generation import Generation
from index.product import Product
from index.ranges import RowRanges
from index.recent import Recent
from index.segments import Segments
from index.statistics import ScopeStatistics

SCOPES_KEPT = 256  # statistics of the most recently used scopes; a few numbers each
NO_MEMORY = "dense scores on the CPU: the device had no memory left"
NO_MEMORY_FOR_WORDS = "lexical scores on the CPU: the device had no memory left"
NO_PRODUCT = "many dense queries at once by faiss: the int8 product is not exact on this processor"
GENERATIONS_KEPT = 2  # of each kind: the current one, and the one that requests under way may still read


@dataclass(frozen=True, slots=True, kw_only=True)
class Searchable:
    """One row space, as the channels search it. large: where words are looked up in large scopes, None for the CPU."""

    segments: Segments
    dense: Dense
    large: LargeScopes | None


class SearchableRows:
    """Makes each generation searchable once, and keeps scope statistics. Shared by the threads of a process.

    approximation: when dense search scores only some of the usable rows; None for never.
    """

    def __init__(
        self,
        *,
        formula: Formula,
        device: torch.device,
        product: str,
        gathers: bool = True,
        approximation: Approximation | None = None,
    ) -> None:
        self._formula = formula
        self._device = device
        self._product = product
        self._gathers = gathers
        self._narrowing = None if approximation is None else Narrowing(approximation, threads=torch.get_num_threads())
        self._making = threading.Lock()
        self._served: DenseIndex | None = None
        self._published: Recent[str, DenseIndex] = Recent(GENERATIONS_KEPT)
        self._postings: Recent[str, DeviceLexical | None] = Recent(GENERATIONS_KEPT)
        self._deltas: Recent[str, DenseIndex] = Recent(GENERATIONS_KEPT)
        self._signs: Recent[str, Signs] = Recent(2 * GENERATIONS_KEPT)
        self._statistics: Recent[tuple[str, str], ScopeStatistics] = Recent(SCOPES_KEPT)
        self._log = structlog.get_logger("muniment.searchable")

    def of(self, segments: Segments, *, fell_back: Callable[[str], None] = lambda _: None) -> Searchable:
        """The rows with their dense indexes, for one request. That of the published generation is made once, whatever
        comes after it. fell_back: hears of each search that the CPU answered because the device had no memory left, in
        words for the `run` block (R15).
        """

        def on_fallback() -> None:
            self._log.warning("the device had no memory left: dense scores on the CPU")
            fell_back(NO_MEMORY)

        def on_fallback_for_words() -> None:
            self._log.warning("the device had no memory left: lexical scores on the CPU")
            fell_back(NO_MEMORY_FOR_WORDS)

        base, delta = segments.base, segments.delta
        with self._making:
            older = self._published.get_or_make(base.name, lambda: self._make(base))
            postings = self._postings.get_or_make(base.name, lambda: self._make_postings(base))
            newer = None
            if delta is not None:
                newer = self._deltas.get_or_make(delta.name, lambda: older.beside(delta.codes, delta.order))
            approximate = self._approximate(segments)
        return Searchable(
            segments=segments,
            dense=Dense(
                segments=segments,
                older=older.telling(on_fallback),
                newer=None if newer is None else newer.telling(on_fallback),
                approximate=approximate,
            ),
            large=None if postings is None else LargeScopes(scan=postings, on_fallback=on_fallback_for_words),
        )

    def statistics(self, segments: Segments, ranges: RowRanges) -> ScopeStatistics:
        """N, lengths and what else BM25 needs of exactly these rows (R9)."""
        return self._statistics.get_or_make(
            (segments.name, ranges.digest()), lambda: count(segments, ranges, formula=self._formula)
        )

    @property
    def fallback(self) -> str | None:
        """What serves all requests in place of the first choice without changing an answer, for the `run` block."""
        served = self._served
        if served is None:
            return None
        if served.product is Product.FAISS and self._product == Product.AUTO:
            return NO_PRODUCT
        if served.product is Product.TORCH and served.device.type != self._device.type:
            return NO_MEMORY
        return None

    def _make(self, generation: Generation) -> DenseIndex:
        dense = DenseIndex(generation.codes, generation.order, self._device, self._product, gathers=self._gathers)
        self._served = dense
        return dense

    def _approximate(self, segments: Segments) -> Approximate | None:
        if self._narrowing is None:
            return None
        delta = segments.delta
        return Approximate(
            narrowing=self._narrowing,
            older=self._signs_of(segments.base),
            newer=None if delta is None else self._signs_of(delta),
        )

    def _signs_of(self, generation: Generation) -> Signs:
        return self._signs.get_or_make(generation.name, lambda: self._take_signs(generation))

    def _take_signs(self, generation: Generation) -> Signs:
        signs = Signs(generation.codes)
        self._log.debug("took the signs of a generation", rows=signs.rows, bytes=signs.tiles.nbytes)
        return signs

    def _make_postings(self, generation: Generation) -> DeviceLexical | None:
        """For a GPU, to which they are copied by the first large search; on a CPU there is nothing to make."""
        if self._device.type != "cuda":
            return None
        return DeviceLexical(generation.postings, generation.lengths, generation.order, self._device)
