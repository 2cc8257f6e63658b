"""How do two channels become one ranking? (pure)

Useful for merging channels whose scores cannot be compared (BM25, inner products). Not useful for judging relevance:
a fused score means nothing outside its request and is never confidence (R12).

Exact: all values of one fusion are integers over one common denominator, compared before they are rounded. A channel
that is off, or offers nothing, gives every row 0 and keeps its weight: the fused score then reaches only the weight
of the others, and the ranking is theirs.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

LEXICAL, DENSE = "lexical", "dense"
RRF_K = 60  # Cormack, Clarke & Buettcher, SIGIR 2009; with ranks counted from 1
DENSE_WEIGHT = Fraction(1, 2)  # nDCG@10 .731 on SciFact, .359 on NFCorpus; RRF gave .711 and .342
FUSED_BITS = 32  # a fused score is a numerator over 2^32
FUSION_VERSION = "1"  # counts changes of the formulas below


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelScores:
    """What one channel says about the union of what all channels offer.

    offered: the channel's own first rows, best first. A row that comes again counts once, where it came first.
    scores: the channel's score of each row of the union. Rows it does not match (lexical) are absent.
    """

    offered: Sequence[int]
    scores: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """A row after fusion, with what each channel said of it (R13).

    numerator: the fused score over 2^32, rounded half to even. Order was decided before rounding.
    ranks: channel -> rank from 1 among the rows it offered; absent where it did not offer this one.
    scores: channel -> its own score; absent where it has none.
    """

    row: int
    numerator: int
    ranks: Mapping[str, int]
    scores: Mapping[str, int]


def fuse_minmax(
    channels: Mapping[str, ChannelScores], *, dense_weight: Fraction = DENSE_WEIGHT, order: npt.NDArray[np.int32]
) -> list[Fused]:
    """Weighted min-max: each channel's scores are put on 0..1 between the lowest and the highest it has in the union,
    and added with weight `dense_weight` for dense and the rest for lexical. Best first.

    A channel whose scores are all equal gives them 1. A row without a score gets 0 and counts as a score of 0 where the
    span is taken, so that the weakest match of a positive formula still stands above a non-match (nDCG@10 on NFCorpus
    .359, and .352 where the span is that of the matches alone; on its dev queries .332 and .328). Ties go to the better
    rank in any channel, then to the smaller `order`, (generation rows,) int32, the identity rank (R11).
    Raises ValueError for another channel, a weight outside 0..1, or an offered row that its channel did not score.

    >>> lexical = ChannelScores(offered=[2, 1], scores={2: 20, 1: 10})
    >>> dense = ChannelScores(offered=[0, 1], scores={0: 9, 1: 6, 2: 5})
    >>> fused = fuse_minmax({"lexical": lexical, "dense": dense}, order=np.arange(3, dtype=np.int32))
    >>> [(each.row, each.numerator / 2**32) for each in fused]
    [(0, 0.5), (2, 0.5), (1, 0.375)]
    """
    if not 0 <= dense_weight <= 1:
        raise ValueError(f"dense_weight must lie between 0 and 1, got {dense_weight}")
    weights = {LEXICAL: 1 - dense_weight, DENSE: dense_weight}
    if not channels.keys() <= weights.keys():
        raise ValueError(f"min-max has weights for {sorted(weights)}, got {sorted(channels)}")
    numerators = dict.fromkeys(_union(channels), 0)
    spans = {name: _span(channel, numerators) for name, channel in channels.items()}
    denominator = dense_weight.denominator * math.prod(high - low or 1 for low, high in spans.values())
    for name, channel in channels.items():
        low, high = spans[name]
        unit = int(weights[name] * denominator) // (high - low or 1)
        for row in numerators:
            if row in channel.scores:
                numerators[row] += unit * (channel.scores[row] - low if high > low else 1)
    return _ranked(channels, numerators, denominator, order)


def fuse_rrf(channels: Mapping[str, ChannelScores], *, rrf_k: int = RRF_K, order: npt.NDArray[np.int32]) -> list[Fused]:
    """Reciprocal rank: a row gets the sum of 1 / (rrf_k + rank) over the channels that offer it. Best first.

    Ties as in `fuse_minmax`. Raises ValueError if rrf_k < 1, or for an offered row that its channel did not score.

    >>> lexical = ChannelScores(offered=[4, 7], scores={4: 30, 7: 20})
    >>> dense = ChannelScores(offered=[7, 4], scores={4: 1, 7: 2})
    >>> [each.row for each in fuse_rrf({"lexical": lexical, "dense": dense}, order=np.arange(8, dtype=np.int32))]
    [4, 7]
    """
    if rrf_k < 1:
        raise ValueError(f"rrf_k must be at least 1, got {rrf_k}")
    depth = max((len(channel.offered) for channel in channels.values()), default=0)
    denominator = math.lcm(*range(rrf_k + 1, rrf_k + depth + 1))
    numerators = dict.fromkeys(_union(channels), 0)
    for channel in channels.values():
        for row, rank in _ranks(channel).items():
            numerators[row] += denominator // (rrf_k + rank)
    return _ranked(channels, numerators, denominator, order)


def _union(channels: Mapping[str, ChannelScores]) -> list[int]:
    return list(dict.fromkeys(row for channel in channels.values() for row in channel.offered))


def _ranks(channel: ChannelScores) -> dict[int, int]:
    return {row: rank for rank, row in enumerate(dict.fromkeys(channel.offered), start=1)}


def _span(channel: ChannelScores, union: Iterable[int]) -> tuple[int, int]:
    """Lowest and highest; the same number twice says that all scores are equal."""
    low, high = min(channel.scores.values(), default=0), max(channel.scores.values(), default=0)
    if low < high and any(row not in channel.scores for row in union):
        return min(low, 0), max(high, 0)
    return low, high


def _ranked(
    channels: Mapping[str, ChannelScores],
    numerators: Mapping[int, int],
    denominator: int,
    order: npt.NDArray[np.int32],
) -> list[Fused]:
    """Best first: the exact value, then the best channel rank, then the identity rank."""
    ranks: dict[int, dict[str, int]] = {row: {} for row in numerators}
    scores: dict[int, dict[str, int]] = {row: {} for row in numerators}
    for name, channel in channels.items():
        for row, rank in _ranks(channel).items():
            ranks[row][name] = rank
        for row in channel.scores.keys() & numerators.keys():
            scores[row][name] = channel.scores[row]
        if not all(name in scores[row] for row in channel.offered):
            raise ValueError("a channel scores every row that it offers")
    identity = dict(zip(numerators, order[list(numerators)].tolist(), strict=True))
    return [
        Fused(
            row=row,
            numerator=_rounded(numerators[row] << FUSED_BITS, denominator),
            ranks=ranks[row],
            scores=scores[row],
        )
        for row in sorted(numerators, key=lambda row: (-numerators[row], min(ranks[row].values()), identity[row]))
    ]


def _rounded(numerator: int, denominator: int) -> int:
    """The nearest integer to a ratio that is not negative, half to even."""
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1))
