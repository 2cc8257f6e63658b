"""Which k hits come first, where the postings lie on a GPU?

Every visible posting is weighed at once, and nothing is passed over: for scopes so large that a GPU weighs all sooner
than a CPU weighs what it must. Each step of the formula is a float64 operation of its own, rounded as on a CPU, and
what is added up are integers, in any order: scores are those of `lexical`, bit by bit (R9, R11).

The same code runs on a CPU, for tests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch

from index.bm25 import SCORE_BITS, Curve
from index.device_blocks import sent
from index.lexical_weighing import UNMATCHED, Floats, Ints, SmallInts, Weighing
from index.postings import Postings
from index.ranges import RowRanges
from index.selection import Ranking, first_of
from index.torch_scan import on

LARGE_SCOPE = 2**20  # rows; by an estimate of some 40 launches against what a CPU passes over, and not yet measured

_SPARE = 32  # hits more than k; where even these tie with the k-th, ties are looked at by themselves


class Placed(NamedTuple):
    """On the device, int32: `Postings`, and of every row of the generation its length and its identity rank."""

    rows: torch.Tensor
    frequencies: torch.Tensor
    lengths: torch.Tensor
    order: torch.Tensor


class DeviceLexical:
    """The postings of one generation, for one device. Safe for threads.

    lengths, order: (rows,) int32. All is copied to the device once, by the first call that finds room for it.
    """

    def __init__(self, postings: Postings, lengths: SmallInts, order: SmallInts, device: torch.device) -> None:
        self._arrays = (postings.posting_rows, postings.frequencies, lengths, order)
        self._device = device
        self._placing = Lock()
        self._placed: Placed | None = None

    def place(self) -> Placed:
        """The arrays on the device. Raises torch.OutOfMemoryError where it has no room for them."""
        with self._placing:
            if self._placed is None:
                self._placed = Placed(*(on(array, self._device) for array in self._arrays))
            return self._placed

    def topk(self, weighing: Weighing, ranges: RowRanges, *, k: int) -> Ranking:
        """The first `k` hits in `ranges`: score descending, then identity. weighing: of this generation's postings.

        Raises torch.OutOfMemoryError.
        """
        placed = self.place()
        sums = self._sums(placed, weighing, ranges)
        top = sums.topk(min(k + _SPARE, ranges.count))
        scores, places = torch.stack([top.values, top.indices]).cpu().numpy()
        last = scores[min(k, len(scores)) - 1]
        if last == scores[-1] and last != UNMATCHED and len(scores) < ranges.count:
            tied = self._tied(placed, sums, int(last), ranges, k=k)
            places = np.concatenate([places[scores > last], tied])
            scores = np.concatenate([scores[scores > last], np.full(len(tied), last)])
        places, scores = places[scores != UNMATCHED], scores[scores != UNMATCHED]
        rows = ranges.rows_at(places)
        return first_of(rows, scores, ranks=self._arrays[3][rows], k=k)

    def _sums(self, placed: Placed, weighing: Weighing, ranges: RowRanges) -> torch.Tensor:
        """(ranges.count,) int64: the score of each row of the ranges in order, or UNMATCHED."""
        slices = _visible(weighing, ranges)
        before = np.cumsum(slices.sizes) - slices.sizes
        total = int(slices.sizes.sum())
        term, first, shift, size = sent(
            [slices.terms, slices.firsts - before, slices.shifts, slices.sizes], self._device
        )
        piece = torch.repeat_interleave(size, output_size=total)
        posting = torch.arange(total, device=self._device) + first[piece]
        rows, terms = placed.rows[posting].to(torch.int64), term[piece]
        weights = _weights(
            weighing.bend,
            idfs=self._of(weighing.terms.idfs)[terms],
            frequencies=placed.frequencies[posting].to(torch.float64),
            factors=self._of(weighing.bend.factors)[placed.lengths[rows].to(torch.int64)],
        )
        gains = (weights - self._of(weighing.terms.absent)[terms]) * self._of(weighing.terms.repeats)[terms]
        places = rows + shift[piece]
        sums = torch.full((ranges.count,), weighing.nothing_held, dtype=torch.int64, device=self._device)
        sums.index_add_(0, places, gains)  # integers: the same sum in any order
        is_hit = torch.zeros(ranges.count, dtype=torch.bool, device=self._device)
        is_hit[places] = True
        return torch.where(is_hit, sums, UNMATCHED)

    def _tied(self, placed: Placed, sums: torch.Tensor, score: int, ranges: RowRanges, *, k: int) -> Ints:
        """The places of the first k hits by identity among those with this score."""
        starts, ends, bases = ranges.starts, ranges.ends, ranges.edges.bases
        shift, size = sent([starts - bases, ends - starts], self._device)
        shifts = torch.repeat_interleave(shift, size, output_size=ranges.count)
        ranks = placed.order[torch.arange(ranges.count, device=self._device) + shifts]
        ranks = torch.where(sums == score, ranks, torch.iinfo(torch.int32).max)
        found = ranks.topk(min(k, ranges.count), largest=False).indices
        places: Ints = found[sums[found] == score].cpu().numpy()
        return places

    def _of(self, array: Ints | Floats) -> torch.Tensor:
        return on(array, self._device)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LargeScopes:
    """A device for scopes of LARGE_SCOPE rows and more, for one request. on_fallback: hears of each search that is left
    to the CPU because the device has no memory left (R15)."""

    scan: DeviceLexical
    on_fallback: Callable[[], None]

    def topk(self, weighing: Weighing, ranges: RowRanges, *, k: int) -> Ranking | None:
        """As of the scan, or None where it is for the CPU to find."""
        if ranges.count < LARGE_SCOPE:
            return None
        try:
            return self.scan.topk(weighing, ranges, k=k)
        except torch.OutOfMemoryError:
            pass
        # Outside the except: its traceback would hold the tensors.
        torch.cuda.empty_cache()
        self.on_fallback()
        return None


class _Slices(NamedTuple):
    """Visible postings, (slices,) each: of which term, from which posting on, how many, and from a row to its place."""

    terms: Ints
    firsts: Ints
    sizes: Ints
    shifts: Ints


def _visible(weighing: Weighing, ranges: RowRanges) -> _Slices:
    """Those of the query's terms in the ranges: two searches a range and term, whatever other rows hold."""
    starts, ends = ranges.starts.astype(np.int32), ranges.ends.astype(np.int32)  # as the postings: none are copied
    firsts, lasts = [], []
    for number in weighing.terms.numbers.tolist():
        begin, stop = weighing.lists.offsets[number : number + 2].tolist()
        held = weighing.lists.rows[begin:stop]
        firsts.append(begin + np.searchsorted(held, starts))
        lasts.append(begin + np.searchsorted(held, ends))
    first, size = np.stack(firsts), np.stack(lasts) - np.stack(firsts)
    term, index = size.nonzero()
    shift = (ranges.edges.bases - ranges.starts)[index]
    return _Slices(terms=term, firsts=first[term, index], sizes=size[term, index], shifts=shift)


def _weights(bend: Curve, *, idfs: torch.Tensor, frequencies: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """(postings,) int64: as `bm25.weight`, operation by operation. Tensors are divided by tensors alone: torch
    multiplies by the reciprocal of a number, which rounds otherwise."""
    if bend.is_l:
        lifted = frequencies / factors
        scores = idfs * frequencies * (bend.k1 + 1) * (lifted + bend.delta) / (lifted + bend.k1 + bend.delta)
    else:
        scores = idfs * (frequencies * (bend.k1 + 1) / (factors + frequencies) + bend.delta)
    return torch.round(scores * float(2**SCORE_BITS)).to(torch.int64)
