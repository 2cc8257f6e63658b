"""Which usable units hold the words of the query, and how well? (pure)

BM25 over the usable rows alone, with integer scores in units of 2^-32 (R9). A unit that holds no query term is no
hit, whatever its score would be; a term that occurs nowhere in the scope adds nothing. A query term counts as often
as the query repeats it. Cost follows what is visible: work memory is 8 bytes a visible row, and only postings of
visible rows are scored.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.bm25 import Curve, Variant, curve, formula, to_fixed_point, weight
from index.compiled import compiled, read_only
from index.postings import Postings, build_postings, next_visible
from index.ranges import Edges, RowRanges
from index.selection import Ranking, first_k
from index.statistics import ScopeStatistics, gather

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SmallInts = npt.NDArray[np.int32]

_UNMATCHED = np.iinfo(np.int64).min


def score(
    postings: Postings,
    lengths: SmallInts,
    statistics: ScopeStatistics,
    query_terms: Sequence[str],
    *,
    ranges: RowRanges,
) -> Ranking:
    """Every hit in `ranges`, in row order.

    lengths: (rows,) int32, terms per row of the generation. statistics: gathered over the same `ranges`; other ones
    are refused with ValueError. query_terms: analyzed as the units were, repeats included.
    """
    sums, hits = _sums(postings, lengths, statistics, query_terms, scope=ranges, wanted=ranges)
    hits.sort()
    return Ranking(rows=ranges.rows_at(hits), scores=sums[hits])


def topk(
    postings: Postings,
    lengths: SmallInts,
    statistics: ScopeStatistics,
    query_terms: Sequence[str],
    *,
    ranges: RowRanges,
    order: SmallInts,
    k: int,
) -> Ranking:
    """The first `k` hits: score descending, then `order` (the identity rank of every row) ascending (R11)."""
    sums, hits = _sums(postings, lengths, statistics, query_terms, scope=ranges, wanted=ranges)
    return first_k(ranges.rows_at(hits), sums[hits], order=order, k=k)


def score_rows(
    postings: Postings,
    lengths: SmallInts,
    statistics: ScopeStatistics,
    query_terms: Sequence[str],
    *,
    ranges: RowRanges,
    rows: Ints,
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The scores of `rows` (any order, none twice, all in `ranges`) and which are hits, both (len(rows),).

    A row that is no hit has score 0. Scores equal those of `score`. Raises ValueError for a row outside `ranges`.
    """
    if not ranges.contains(rows).all():
        raise ValueError("only usable rows are scored: a row lies outside the ranges")
    ascending = np.argsort(rows)
    wanted = RowRanges.from_rows(rows[ascending])
    scores = np.empty(len(rows), dtype=np.int64)
    scores[ascending], _ = _sums(postings, lengths, statistics, query_terms, scope=ranges, wanted=wanted)
    matched = scores != _UNMATCHED
    return np.where(matched, scores, 0), matched


def prepare() -> None:
    """Compile the loops now, about two seconds, so that the first query does not wait for it."""
    postings, lengths = build_postings([["any"]])
    ranges = RowRanges.from_pairs([(0, 1)])
    score(
        postings, lengths, gather(postings, lengths, ranges=ranges, formula=formula("lucene")), ["any"], ranges=ranges
    )


def _sums(
    postings: Postings,
    lengths: SmallInts,
    statistics: ScopeStatistics,
    query_terms: Sequence[str],
    *,
    scope: RowRanges,
    wanted: RowRanges,
) -> tuple[Ints, Ints]:
    """(wanted.count,) int64: the score of each wanted row in order, or _UNMATCHED; and the places of those with one,
    (hits,) int64 in no order. `wanted` lies within `scope`."""
    if statistics.ranges != scope:
        raise ValueError("the statistics were gathered over other rows than those to be scored")
    if scope.count and scope.ends[-1] > len(lengths):
        raise ValueError(f"the ranges end at row {scope.ends[-1]}, the lengths at {len(lengths)}")
    sums = np.full(wanted.count, _UNMATCHED, dtype=np.int64)
    terms = _weigh(postings, statistics, query_terms)
    if not terms.numbers.size:
        return sums, np.empty(0, dtype=np.int64)
    hits = np.empty(min(wanted.count, int(terms.frequencies.sum())), dtype=np.int64)
    lists = _Lists(
        offsets=postings.offsets,
        rows=postings.posting_rows,
        frequencies=postings.frequencies,
        lengths=read_only(lengths),
    )
    bend = curve(statistics.formula, longest=statistics.longest, average_length=statistics.average_length)
    found = _add_weights(lists, terms, bend, wanted.edges, _Found(sums=sums, hits=hits))
    return sums, hits[:found]


class _Lists(NamedTuple):
    """`Postings` and the lengths of all rows, as a compiled loop takes them."""

    offsets: Ints
    rows: SmallInts
    frequencies: SmallInts
    lengths: SmallInts


class _QueryTerms(NamedTuple):
    """The query's distinct terms that occur in the scope, in order of first appearance. Arrays are (terms,).

    frequencies: document frequencies in the scope. repeats: in the query.
    absent: what a term adds to a hit that does not hold it: `plus` adds idf * delta, the others nothing.
    """

    numbers: Ints
    frequencies: Ints
    repeats: Ints
    idfs: Floats
    absent: Ints


class _Found(NamedTuple):
    """What the loop fills: the sums of `_sums`, and room for the places of all hits."""

    sums: Ints
    hits: Ints


def _weigh(postings: Postings, statistics: ScopeStatistics, query_terms: Sequence[str]) -> _QueryTerms:
    known = Counter(term for term in query_terms if term in postings.terms)
    numbers = postings.numbers(known)
    frequencies = postings.document_frequencies(numbers, ranges=statistics.ranges)
    present = frequencies > 0
    idfs = [statistics.idf(frequency) for frequency in frequencies[present].tolist()]
    lift = statistics.formula.delta if statistics.formula.variant is Variant.PLUS else 0.0
    return _QueryTerms(
        numbers=numbers[present],
        frequencies=frequencies[present],
        repeats=np.array(list(known.values()), dtype=np.int64)[present],
        idfs=np.array(idfs, dtype=np.float64),
        absent=np.array([to_fixed_point(idf * lift) for idf in idfs], dtype=np.int64),
    )


@compiled
def _add_weights(lists: _Lists, terms: _QueryTerms, bend: Curve, wanted: Edges, found: _Found) -> int:
    """Add each term's weight to the sums of the wanted rows that hold it, and list their places; returns how many.

    A row's first match starts from what all terms add to a hit without them; a match adds the difference.
    """
    nothing_held = (terms.repeats * terms.absent).sum()
    hits = 0
    for at in range(terms.numbers.size):
        begin, stop = lists.offsets[terms.numbers[at]], lists.offsets[terms.numbers[at] + 1]
        index = 0
        while begin < stop:
            first, begin, index = next_visible(lists.rows, begin, stop, wanted, index)
            for posting in range(first, begin):
                row = lists.rows[posting]
                gain = weight(bend, terms.idfs[at], lists.frequencies[posting], lists.lengths[row]) - terms.absent[at]
                place = row - wanted.starts[index] + wanted.bases[index]
                held = found.sums[place]
                if held == _UNMATCHED:
                    held = nothing_held
                    found.hits[hits] = place
                    hits += 1
                found.sums[place] = held + gain * terms.repeats[at]
    return hits
