"""Tests of `index/segments.py` and `index/channels.py`: two generations as one row space."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from evidence.identity import PUBLIC, RevisionKey, UnitKey
from index.bm25 import DEFAULTS, formula
from index.channels import Dense, Lexical, count
from index.dense import DenseIndex
from index.generation import Generation
from index.generation_format import RevisionRun, identity_order
from index.postings import build_postings
from index.ranges import RowRanges
from index.segments import Places, Segments

DIMENSION = 8
WORDS = "abcdefgh"


def generation(name: str, units: Sequence[tuple[str, str]], *, digest: str = "x") -> Generation:
    """A generation of revisions `(source_id, letters)` in this order: each letter of a revision is the term of a unit
    of its own, which has the letter as often as its place says."""
    runs, documents, start = [], [], 0
    for source_id, letters in units:
        documents += [[letter] * (place + 1) for place, letter in enumerate(letters)]
        key = RevisionKey(PUBLIC, source_id, "1")
        runs.append(RevisionRun(key=key, facts_digest=digest, label_digest="", start=start, end=start + len(letters)))
        start += len(letters)
    postings, lengths = build_postings(documents)
    codes = [[ord(letter) % 5 + place for place in range(DIMENSION)] for _, letters in units for letter in letters]
    return Generation(
        name=name,
        recipe_digest="",
        rows=start,
        dimension=DIMENSION,
        codes=np.array(codes, dtype=np.int8).reshape(-1, DIMENSION),
        lengths=lengths,
        order=identity_order(runs, start),
        postings=postings,
        runs=tuple(runs),
        run_starts=np.array([run.start for run in runs], dtype=np.int64),
        run_of={run.key: place for place, run in enumerate(runs)},
    )


def joined(base: Generation, delta: Generation) -> Segments:
    return Segments.joined(base, delta, places=Places(base))


def some(dice: random.Random, names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, "".join(dice.choices(WORDS, k=dice.randint(0, 4)))) for name in names]


def halves(seed: int) -> tuple[Segments, Segments]:
    """Some units in one generation, and the same in two."""
    dice = random.Random(seed)
    units = some(dice, [f"s{number}" for number in dice.sample(range(100), 12)])
    return Segments.alone(generation("all", units)), joined(generation("old", units[:8]), generation("new", units[8:]))


def rows_of(segments: Segments, sources: Sequence[str]) -> RowRanges:
    places = [segments.rows_of(RevisionKey(PUBLIC, name, "1")) for name in sources]
    return RowRanges.from_pairs((rows.start, rows.stop) for rows in places)


def dense(segments: Segments) -> Dense:
    def index(part: Generation) -> DenseIndex:
        return DenseIndex(part.codes, part.order, torch.device("cpu"))

    delta = segments.delta
    return Dense(segments=segments, older=index(segments.base), newer=None if delta is None else index(delta))


@pytest.mark.parametrize("seed", range(8))
def test_ranks_order_rows_as_their_keys_do(seed: int) -> None:
    """R11: whichever generation holds them."""
    _, segments = halves(seed)
    rows = np.random.default_rng(seed).permutation(segments.rows)

    by_rank = rows[np.argsort(segments.ranks(rows))]
    assert segments.keys_of(by_rank) == sorted(segments.keys_of(rows))


def test_rows_of_the_delta_follow_those_of_the_generation() -> None:
    segments = joined(generation("old", [("b", "xy")]), generation("new", [("a", "z"), ("c", "xx")]))

    assert segments.rows == 5
    assert [key.source_id for key in segments.keys_of(range(5))] == ["b", "b", "a", "c", "c"]
    assert segments.rows_of(RevisionKey(PUBLIC, "c", "1")) == range(3, 5)
    assert segments.rows_of(RevisionKey(PUBLIC, "d", "1")) == range(0)
    assert segments.keys_of([4, 0]) == [UnitKey(PUBLIC, "c", "1", 1), UnitKey(PUBLIC, "b", "1", 0)]


def test_a_revision_with_other_content_lies_where_that_content_is() -> None:
    """A key may be deleted and come again with other bytes; its old rows are still in the generation."""
    segments = joined(generation("old", [("a", "xyz")], digest="old"), generation("new", [("a", "z")], digest="new"))
    key = RevisionKey(PUBLIC, "a", "1")

    def placed(digest: str) -> tuple[list[int], int]:
        found = segments.place([key], digests={key: digest})
        return found.ranges.rows().tolist(), len(found.missing)

    assert (placed("old"), placed("new"), placed("newer")) == (([0, 1, 2], 0), ([3], 0), ([], 1))
    assert segments.rows_of(key) == range(3, 4)


def test_ranges_across_the_border_are_split_there() -> None:
    segments = joined(generation("old", [("a", "xyz")]), generation("new", [("b", "xyz")]))

    parts = segments.split(RowRanges.from_pairs([(1, 5)]))
    assert [(part.first, part.ranges.rows().tolist()) for part in parts] == [(0, [1, 2]), (3, [0, 1])]
    assert [part.first for part in segments.split(RowRanges.from_pairs([(4, 5)]))] == [3]
    with pytest.raises(ValueError, match="the rows at 6"):
        segments.split(RowRanges.from_pairs([(4, 7)]))


def test_a_generation_alone_is_searched_as_it_is() -> None:
    base = generation("old", [("a", "xyz")])
    ranges = RowRanges.from_pairs([(0, 2)])

    (part,) = Segments.alone(base).split(ranges)
    assert part.generation is base
    assert part.ranges is ranges


@pytest.mark.parametrize("variant", list(DEFAULTS))
@pytest.mark.parametrize("seed", range(6))
def test_both_channels_answer_as_over_one_generation(seed: int, variant: str) -> None:
    """R9-R12: scores, order and statistics, over a part of what there is."""
    whole, split = halves(seed)
    dice = random.Random(seed)
    sources = dice.sample([run.key.source_id for run in whole.base.runs], 9)
    terms = dice.choices([*WORDS, "absent"], k=4)
    code = np.arange(DIMENSION, dtype=np.int8)

    def answers(segments: Segments) -> list[object]:
        ranges = rows_of(segments, sources)
        statistics = count(segments, ranges, formula=formula(variant))
        words = Lexical.read(segments, statistics, terms, ranges=ranges)
        found: list[object] = [(statistics.units, statistics.total_length, statistics.longest, statistics.mean_idf)]
        for k in (1, 4, 99):
            rankings = (words.topk(k), dense(segments).topk(code, ranges=ranges, k=k))
            found += [(segments.keys_of(best.rows), best.scores.tolist()) for best in rankings]
        rows = ranges.rows()[np.argsort(segments.ranks(ranges.rows()))]
        scores, hits = words.score_rows(rows)
        found += [scores.tolist(), hits.tolist(), dense(segments).score_rows(code, rows, ranges=ranges).tolist()]
        found.append([segments.holds(term, rows).tolist() for term in terms])
        every = words.score()
        found.append(sorted(zip(segments.keys_of(every.rows), every.scores.tolist(), strict=True)))
        return found

    assert answers(split) == answers(whole)


def test_a_row_outside_the_ranges_is_never_scored() -> None:
    """R2."""
    segments = joined(generation("old", [("a", "xy")]), generation("new", [("b", "xy")]))
    ranges = RowRanges.from_pairs([(0, 1), (3, 4)])
    words = Lexical.read(segments, count(segments, ranges, formula=formula("lucene")), ["x"], ranges=ranges)

    for outside in (1, 2):
        rows = np.array([0, outside], dtype=np.int64)
        with pytest.raises(ValueError, match="only usable rows"):
            words.score_rows(rows)
        with pytest.raises(ValueError, match="only usable rows"):
            dense(segments).score_rows(np.ones(DIMENSION, dtype=np.int8), rows, ranges=ranges)


def test_statistics_of_other_rows_are_refused() -> None:
    segments = joined(generation("old", [("a", "xy")]), generation("new", [("b", "xy")]))
    other = count(segments, RowRanges.from_pairs([(0, 4)]), formula=formula("lucene"))

    with pytest.raises(ValueError, match="other rows"):
        Lexical.read(segments, other, ["x"], ranges=RowRanges.from_pairs([(0, 3)]))
