"""Which usable units hold the words of the query, and how well? (pure)

BM25 over the usable rows alone, with integer scores in units of 2^-32 (R9). A unit that holds no query term is no
hit, whatever its score would be; a term that occurs nowhere in the scope adds nothing. A query term counts as often
as the query repeats it. Cost follows what is visible: only postings of visible rows are scored. Work memory is 8 bytes
a visible row for all hits, and does not grow with the rows for the first k.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.best_k import room_for
from index.bm25 import Curve, Variant, formula, to_fixed_point, weight
from index.compiled import compiled, read_only
from index.lexical_topk import fill_best
from index.lexical_weighing import UNMATCHED, Lists, QueryTerms, Weighing
from index.postings import Postings, build_postings, next_visible
from index.ranges import Edges, RowRanges
from index.selection import Ranking
from index.statistics import Counted, ScopeStatistics, gather
from index.vocabulary import Vocabulary, write_terms

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SmallInts = npt.NDArray[np.int32]

_NOT_HELD = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryWeights:
    """What the query's terms weigh in one scope, whichever generation holds the rows: those of its distinct terms that
    occur in the scope, in order of first appearance. Arrays are (terms,).

    repeats: in the query. idfs: of each term in the scope. bend: how repeats and length count there.
    absent: what a term adds to a hit that does not hold it: `plus` adds idf * delta, the others nothing.
    nothing_held: what all of them add to a hit that holds none, repeats counted.
    """

    terms: tuple[str, ...]
    repeats: Ints
    idfs: Floats
    absent: Ints
    nothing_held: int
    bend: Curve | None  # None where no term occurs, and nothing is weighed


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
    part = Counted(postings, lengths, ranges)
    return score_weighed(part, weigh([part], statistics, query_terms, ranges=ranges))


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
    part = Counted(postings, lengths, ranges)
    return topk_weighed(part, weigh([part], statistics, query_terms, ranges=ranges), order=order, k=k)


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
    part = Counted(postings, lengths, ranges)
    return score_rows_weighed(part, weigh([part], statistics, query_terms, ranges=ranges), rows=rows)


def weigh(
    parts: Sequence[Counted], statistics: ScopeStatistics, query_terms: Sequence[str], *, ranges: RowRanges
) -> QueryWeights:
    """The weights of a query over `ranges`, whose rows lie in `parts`. Statistics of other ranges are refused with
    ValueError, as are ranges beyond the lengths."""
    if statistics.ranges != ranges:
        raise ValueError("the statistics were gathered over other rows than those to be scored")
    asked = Counter(query_terms)
    frequencies = np.zeros(len(asked), dtype=np.int64)
    for part in parts:
        if part.ranges.count and part.ranges.ends[-1] > len(part.lengths):
            raise ValueError(f"the ranges end at row {part.ranges.ends[-1]}, the lengths at {len(part.lengths)}")
        frequencies += _frequencies(part, asked)
    occurring = [(term, frequency) for term, frequency in zip(asked, frequencies.tolist(), strict=True) if frequency]
    terms = tuple(term for term, _ in occurring)
    idfs = [statistics.idf(frequency) for _, frequency in occurring]
    lifted = statistics.formula.variant is Variant.PLUS
    absent = [to_fixed_point(idf * statistics.formula.delta) if lifted else 0 for idf in idfs]
    repeats = [asked[term] for term in terms]
    return QueryWeights(
        terms=terms,
        repeats=np.array(repeats, dtype=np.int64),
        idfs=np.array(idfs, dtype=np.float64),
        absent=np.array(absent, dtype=np.int64),
        nothing_held=sum(count * each for count, each in zip(repeats, absent, strict=True)) if lifted else 0,
        bend=statistics.bend if terms else None,
    )


def score_weighed(part: Counted, weights: QueryWeights) -> Ranking:
    """As `score`, over one part of what the weights are for, in its own rows."""
    sums, hits = _sums(part, weights, wanted=part.ranges)
    hits.sort()
    return Ranking(rows=part.ranges.rows_at(hits), scores=sums[hits])


def topk_weighed(part: Counted, weights: QueryWeights, *, order: SmallInts, k: int) -> Ranking:
    """As `topk`, over one part of what the weights are for, in its own rows."""
    weighing = weighing_of(part, weights)
    best = room_for(0 if weighing is None else max(min(k, part.ranges.count), 0))
    if weighing is None or not best.scores.size:
        return Ranking(rows=best.rows, scores=best.scores)
    found, _ = fill_best(weighing, part.ranges.edges, read_only(order), best)
    return Ranking(rows=best.rows[:found], scores=best.scores[:found])


def score_rows_weighed(part: Counted, weights: QueryWeights, *, rows: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """As `score_rows`, over one part of what the weights are for, in its own rows."""
    if not part.ranges.contains(rows).all():
        raise ValueError("only usable rows are scored: a row lies outside the ranges")
    ascending = np.argsort(rows)
    wanted = RowRanges.from_rows(rows[ascending])
    scores = np.empty(len(rows), dtype=np.int64)
    scores[ascending], _ = _sums(part, weights, wanted=wanted)
    matched = scores != UNMATCHED
    return np.where(matched, scores, 0), matched


def prepare() -> None:
    """Compile the loops now, some seconds, so that the first query does not wait for it."""
    postings, lengths = build_postings([["any"]])
    text, offsets = write_terms(["any"])
    postings = replace(postings, terms=Vocabulary(text=text, offsets=offsets))  # as a generation on disk holds them
    ranges = RowRanges.from_pairs([(0, 1)])
    statistics = gather(postings, lengths, ranges=ranges, formula=formula("lucene"))
    score(postings, lengths, statistics, ["any"], ranges=ranges)
    topk(postings, lengths, statistics, ["any"], ranges=ranges, order=np.zeros(1, dtype=np.int32), k=1)


def _sums(part: Counted, weights: QueryWeights, *, wanted: RowRanges) -> tuple[Ints, Ints]:
    """(wanted.count,) int64: the score of each wanted row in order, or UNMATCHED; and the places of those with one,
    (hits,) int64 in no order."""
    sums = np.full(wanted.count, UNMATCHED, dtype=np.int64)
    weighing = weighing_of(part, weights)
    if weighing is None:
        return sums, np.empty(0, dtype=np.int64)
    numbers, offsets = weighing.terms.numbers, part.postings.offsets
    most = int((offsets[numbers + 1] - offsets[numbers]).sum())
    found = _Found(sums=sums, hits=np.empty(min(wanted.count, most), dtype=np.int64))
    return sums, found.hits[: _add_weights(weighing, wanted.edges, found)]


def weighing_of(part: Counted, weights: QueryWeights) -> Weighing | None:
    """What the postings of the part add; None where its generation holds no term of the query."""
    postings = part.postings
    found = [postings.terms.get(term, _NOT_HELD) for term in weights.terms]
    numbers = np.array(found, dtype=np.int64)
    terms = QueryTerms(numbers=numbers, repeats=weights.repeats, idfs=weights.idfs, absent=weights.absent)
    if _NOT_HELD in found:
        held = numbers != _NOT_HELD
        terms = QueryTerms(*(array[held] for array in terms))
    if weights.bend is None or not terms.numbers.size:
        return None
    return Weighing(
        lists=Lists(
            offsets=postings.offsets,
            rows=postings.posting_rows,
            frequencies=postings.frequencies,
            lengths=read_only(part.lengths),
        ),
        terms=terms,
        bend=weights.bend,
        nothing_held=weights.nothing_held,
    )


def _frequencies(part: Counted, asked: Collection[str]) -> Ints:
    """(asked,) int64: in how many rows of the part each term occurs. As much is called for a term that its generation
    does not hold as for one that it does: other callers' texts may hold it."""
    terms = part.postings.terms
    numbers = np.array([terms.get(term, _NOT_HELD) for term in asked], dtype=np.int64)
    held = numbers != _NOT_HELD
    found = np.zeros(len(numbers), dtype=np.int64)
    found[held] = part.postings.document_frequencies(numbers[held], ranges=part.ranges)
    return found


class _Found(NamedTuple):
    """What the loop fills: the sums of `_sums`, and room for the places of all hits."""

    sums: Ints
    hits: Ints


@compiled
def _add_weights(weighing: Weighing, wanted: Edges, found: _Found) -> int:
    """Add each term to the sums of the wanted rows that hold it, and list their places; returns how many."""
    (offsets, rows, frequencies, lengths), terms, bend, nothing_held = weighing
    sums, hits = found
    count = 0
    for term in range(terms.numbers.size):
        begin, stop, index = offsets[terms.numbers[term]], offsets[terms.numbers[term] + 1], 0
        idf, absent, repeats = terms.idfs[term], terms.absent[term], terms.repeats[term]
        while begin < stop:
            first, begin, index = next_visible(rows, begin, stop, wanted, index)
            for posting in range(first, begin):
                row = rows[posting]
                place = row - wanted.starts[index] + wanted.bases[index]
                held = sums[place]
                if held == UNMATCHED:
                    held = nothing_held
                    hits[count] = place
                    count += 1
                sums[place] = held + (weight(bend, idf, frequencies[posting], lengths[row]) - absent) * repeats
    return count
