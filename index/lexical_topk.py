"""Which k hits come first, without weighing every posting? (pure)

Rows are taken in blocks whose sums fit the cache, and the best k so far are kept. Once there are k, a row that holds
only the terms that weigh least cannot come among them any more: such terms are looked up for the rows that the others
have brought in, and the rest of their postings is passed over (MaxScore: Turtle & Flood 1995). What a term can weigh
at most follows from the scope's formula and its longest unit; nothing is known beforehand of any row. A bound changes
the cost and never an answer: a row is left out only when its score is below that of k others.
"""

from typing import NamedTuple

import numpy as np

from index.best_k import BestK, offer, put_in_order
from index.bm25 import highest, weight
from index.compiled import compiled
from index.lexical_weighing import UNMATCHED, Ints, QueryTerms, SmallInts, Weighing
from index.postings import first_at_least, next_visible
from index.ranges import Edges

BLOCK = 16_384  # rows; their sums are 128 KiB
_PROBE_COST = 16  # postings are passed over in the time that one is searched for
_MOST = 2.0**62  # a sum of bounds counts as no more, so that a score can be added to it


class _Walk(NamedTuple):
    """Where the visible postings of the terms lie, and how far each term has come.

    Those of term t are the slices `[bounds[t], bounds[t + 1])`, each `[firsts[s], lasts[s])` in one range. A row plus
    `shifts[s]` is its place, counted over the visible rows. slices, postings: where each term is, (terms,).
    """

    wanted: Edges
    bounds: Ints
    firsts: Ints
    lasts: Ints
    shifts: Ints
    slices: Ints
    postings: Ints


class _Block(NamedTuple):
    """The places from `first` on, as many as there are sums. hits: those that have a sum, less `first`, in no order."""

    first: int
    sums: Ints
    hits: SmallInts


@compiled
def fill_best(weighing: Weighing, wanted: Edges, order: SmallInts, best: BestK) -> tuple[int, int]:
    """Put the first hits of the wanted rows into `best`, in order; returns how many, and how many postings were
    weighed. There is at least one wanted row, and room for at least one hit. order: the identity rank of every row."""
    weighing, rest = _by_bound(weighing)
    walk = _start(weighing, wanted)
    count = wanted.bases[-1] + wanted.ends[-1] - wanted.starts[-1]
    sums = np.full(min(BLOCK, count), UNMATCHED, dtype=np.int64)
    hits = np.empty(sums.size + 1, dtype=np.int32)
    bringing = rest.size  # only terms before this one bring rows in
    held = weighed = 0
    for first in range(0, count, BLOCK):
        block = _Block(first, sums, hits)
        found = 0
        for term in range(bringing):
            found, seen = _add(weighing, walk, block, found, term)
            weighed += seen
        for term in range(bringing, rest.size):
            found = _keep(block, found, best.scores[0] - rest[term])
            if found:
                weighed += _look_up(weighing, walk, block, found, term)
        for at in range(found):
            score = sums[hits[at]]
            sums[hits[at]] = UNMATCHED
            if held < best.scores.size or score >= best.scores[0]:
                row = _row_at(wanted, first + hits[at])
                held = offer(best, held, score, row, order[row])
        if held == best.scores.size:
            while bringing and weighing.nothing_held + rest[bringing - 1] < best.scores[0]:
                bringing -= 1
    put_in_order(best, held)
    return held, weighed


@compiled
def _by_bound(weighing: Weighing) -> tuple[Weighing, Ints]:
    """The terms by the most that each can add to a row, descending; and what each can add at most together with all
    behind it, (terms,) int64."""
    terms = weighing.terms
    bounds = np.empty(terms.numbers.size, dtype=np.float64)
    chosen = np.empty(terms.numbers.size, dtype=np.int64)
    for term in range(bounds.size):
        bound = max(0.0, highest(weighing.bend, terms.idfs[term]) - terms.absent[term]) * terms.repeats[term]
        place = term
        while place > 0 and bounds[place - 1] < bound:
            bounds[place], chosen[place] = bounds[place - 1], chosen[place - 1]
            place -= 1
        bounds[place], chosen[place] = bound, term
    rest = np.empty(bounds.size, dtype=np.int64)
    most = 0.0
    for place in range(bounds.size - 1, -1, -1):
        most = min(most + bounds[place], _MOST)
        rest[place] = int(np.ceil(most))
    sorted_terms = QueryTerms(terms.numbers[chosen], terms.repeats[chosen], terms.idfs[chosen], terms.absent[chosen])
    return Weighing(weighing.lists, sorted_terms, weighing.bend, weighing.nothing_held), rest


@compiled
def _start(weighing: Weighing, wanted: Edges) -> _Walk:
    """Find the visible postings of each term, and stand before the first."""
    offsets, numbers = weighing.lists.offsets, weighing.terms.numbers
    room = 0
    for term in range(numbers.size):
        room += min(wanted.starts.size, offsets[numbers[term] + 1] - offsets[numbers[term]])
    walk = _Walk(
        wanted,
        np.zeros(numbers.size + 1, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(numbers.size, dtype=np.int64),
        np.zeros(numbers.size, dtype=np.int64),
    )
    found = 0
    for term in range(numbers.size):
        begin, stop, index = offsets[numbers[term]], offsets[numbers[term] + 1], 0
        walk.slices[term] = walk.bounds[term] = found
        while begin < stop:
            first, begin, index = next_visible(weighing.lists.rows, begin, stop, wanted, index)
            if first < begin:
                walk.firsts[found], walk.lasts[found] = first, begin
                walk.shifts[found] = wanted.bases[index] - wanted.starts[index]
                found += 1
        walk.bounds[term + 1] = found
        if walk.slices[term] < found:
            walk.postings[term] = walk.firsts[walk.slices[term]]
    return walk


@compiled
def _add(weighing: Weighing, walk: _Walk, block: _Block, found: int, term: int) -> tuple[int, int]:
    """Add the term to all rows of the block that hold it; returns how many hits there are then, and how many postings
    were weighed."""
    (_, rows, frequencies, lengths), terms, bend, nothing_held = weighing
    first, sums, hits = block
    idf, absent, repeats = terms.idfs[term], terms.absent[term], terms.repeats[term]
    at, posting = walk.slices[term], walk.postings[term]
    weighed = 0
    while at < walk.bounds[term + 1]:
        begin, last, shift = posting, walk.lasts[at], walk.shifts[at] - first
        while posting < last:
            row = rows[posting]
            place = row + shift
            if place >= sums.size:
                break
            held = sums[place]
            gain = (weight(bend, idf, frequencies[posting], lengths[row]) - absent) * repeats
            sums[place] = (nothing_held if held == UNMATCHED else held) + gain
            hits[found] = place  # written over by the next one unless it is new: no branch to guess
            found += held == UNMATCHED
            posting += 1
        weighed += posting - begin
        if posting < last:
            break
        at += 1
        if at < walk.bounds[term + 1]:
            posting = walk.firsts[at]
    walk.slices[term], walk.postings[term] = at, posting
    return found, weighed


@compiled
def _keep(block: _Block, found: int, least: int) -> int:
    """Forget the hits whose sum is below `least`; returns how many are left."""
    _, sums, hits = block
    kept = 0
    for at in range(found):
        place = hits[at]
        if sums[place] >= least:
            hits[kept] = place
            kept += 1
        else:
            sums[place] = UNMATCHED
    return kept


@compiled
def _look_up(weighing: Weighing, walk: _Walk, block: _Block, found: int, term: int) -> int:
    """Add the term to those hits of the block that hold it; returns how many postings were weighed."""
    rows = weighing.lists.rows
    _catch_up(rows, walk, block.first, term)
    if _has_more(rows, walk, block, term, found * _PROBE_COST):
        return _search(weighing, walk, block, found, term)
    return _pass_over(weighing, walk, block, term)


@compiled
def _catch_up(rows: SmallInts, walk: _Walk, first: int, term: int) -> None:
    """Let the term come to its first posting at place `first` or behind it."""
    at, posting, stop = walk.slices[term], walk.postings[term], walk.bounds[term + 1]
    while at < stop and rows[walk.lasts[at] - 1] + walk.shifts[at] < first:
        at += 1
        if at < stop:
            posting = walk.firsts[at]
    if at < stop:
        posting = first_at_least(rows, posting, walk.lasts[at], first - walk.shifts[at])
    walk.slices[term], walk.postings[term] = at, posting


@compiled
def _search(weighing: Weighing, walk: _Walk, block: _Block, found: int, term: int) -> int:
    """`_look_up` by a search for each hit."""
    (_, rows, frequencies, lengths), terms, bend, _ = weighing
    idf, absent, repeats = terms.idfs[term], terms.absent[term], terms.repeats[term]
    wanted, begin, last = walk.wanted, walk.postings[term], walk.lasts[walk.bounds[term + 1] - 1]
    weighed = 0
    for at in range(found):
        row = _row_at(wanted, block.first + block.hits[at])
        posting = first_at_least(rows, begin, last, row)
        if posting < last and rows[posting] == row:
            block.sums[block.hits[at]] += (weight(bend, idf, frequencies[posting], lengths[row]) - absent) * repeats
            weighed += 1
    return weighed


@compiled
def _pass_over(weighing: Weighing, walk: _Walk, block: _Block, term: int) -> int:
    """`_look_up` by a look at the row of each posting in the block."""
    (_, rows, frequencies, lengths), terms, bend, _ = weighing
    first, sums, _ = block
    idf, absent, repeats = terms.idfs[term], terms.absent[term], terms.repeats[term]
    at, posting = walk.slices[term], walk.postings[term]
    weighed = 0
    while at < walk.bounds[term + 1]:
        last, shift = walk.lasts[at], walk.shifts[at] - first
        while posting < last:
            row = rows[posting]
            place = row + shift
            if place >= sums.size:
                return weighed
            if sums[place] != UNMATCHED:
                sums[place] += (weight(bend, idf, frequencies[posting], lengths[row]) - absent) * repeats
                weighed += 1
            posting += 1
        at += 1
        if at < walk.bounds[term + 1]:
            posting = walk.firsts[at]
    return weighed


@compiled
def _has_more(rows: SmallInts, walk: _Walk, block: _Block, term: int, than: int) -> bool:
    """Whether more than so many postings of the term lie in the rest of the block."""
    at, posting = walk.slices[term], walk.postings[term]
    count = 0
    while at < walk.bounds[term + 1]:
        stop = first_at_least(rows, posting, walk.lasts[at], block.first + block.sums.size - walk.shifts[at])
        count += stop - posting
        if stop < walk.lasts[at] or count > than:
            break
        at += 1
        if at < walk.bounds[term + 1]:
            posting = walk.firsts[at]
    return count > than


@compiled
def _row_at(wanted: Edges, place: int) -> int:
    """The wanted row with so many before it."""
    starts, _, bases = wanted
    index = first_at_least(bases, 0, bases.size, place + 1) - 1
    row: int = place - bases[index] + starts[index]
    return row
