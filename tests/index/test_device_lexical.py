"""Tests of index/device_lexical.py on a CPU: the hits of `lexical`, bit by bit (R9, R11)."""

import weakref

import numpy as np
import pytest
import torch

from index import bm25, device_lexical, lexical
from index.device_lexical import DeviceLexical, LargeScopes
from index.ranges import RowRanges
from index.statistics import Counted
from tests.index.dense_corpus import CPU, subset
from tests.index.lexical_corpus import VARIANTS, Corpus, corpus, mixed_corpus

QUERIES = [["w0"], ["w1", "w0", "w1", "nowhere"], ["w200", "語3", "сло1", "w2"], ["w0", "w1", "w2", "w3", "w4", "w5"]]


def both(texts: Corpus, query: list[str], ranges: RowRanges, k: int, variant: str) -> tuple[object, object]:
    """Rows and scores as on a GPU, and by the compiled loops."""
    part = Counted(texts.postings, texts.lengths, ranges)
    weights = lexical.weigh([part], texts.statistics(ranges, variant), query, ranges=ranges)
    weighing = lexical.weighing_of(part, weights)
    expected = texts.topk(query, ranges, k, variant)
    if weighing is None:
        return ([], []), (expected.rows.tolist(), expected.scores.tolist())
    scan = DeviceLexical(texts.postings, texts.lengths, texts.order, CPU)
    found = scan.topk(weighing, ranges, k=k)
    return (found.rows.tolist(), found.scores.tolist()), (expected.rows.tolist(), expected.scores.tolist())


@pytest.mark.parametrize("variant", VARIANTS)
def test_hits_are_those_of_the_compiled_loops_over_every_scope(variant: str) -> None:
    """Single rows, stretches, everything; more asked for than there are."""
    texts, runs = mixed_corpus(71)
    count = len(texts.texts)
    scopes = [
        RowRanges.from_pairs([(0, count)]),
        RowRanges.from_pairs(runs[::3]),
        RowRanges.from_rows(np.arange(0, count, 7)),
        subset(count, 40, seed=72),
        RowRanges.from_pairs([(5, 6)]),
    ]

    for ranges in scopes:
        for query in QUERIES:
            for k in (1, 20, 1000):
                found, expected = both(texts, query, ranges, k, variant)
                assert found == expected


def test_hits_that_tie_come_by_identity_however_many_there_are() -> None:
    """900 units of one word, among others, in an order that is not theirs."""
    made = corpus([["a"] if row % 3 else ["a", "b", "a"] for row in range(1350)])
    order = np.random.default_rng(73).permutation(1350).astype(np.int32)
    texts = Corpus(texts=made.texts, postings=made.postings, lengths=made.lengths, order=order)

    found, expected = both(texts, ["a"], RowRanges.from_pairs([(3, 1340)]), 500, "lucene")

    assert found == expected


def test_small_scopes_are_left_to_the_cpu_and_so_is_a_device_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """R15: the latter is told, and no tensor is left."""
    texts, runs = mixed_corpus(74)
    ranges = RowRanges.from_pairs(runs)
    part = Counted(texts.postings, texts.lengths, ranges)
    weighing = lexical.weighing_of(part, lexical.weigh([part], texts.statistics(ranges, "l"), ["w0"], ranges=ranges))
    assert weighing is not None
    told: list[int] = []
    given: list[weakref.ref[torch.Tensor]] = []
    scan = DeviceLexical(texts.postings, texts.lengths, texts.order, CPU)
    large = LargeScopes(scan=scan, on_fallback=lambda: told.append(1))

    def full(_: bm25.Curve, **arrays: torch.Tensor) -> torch.Tensor:
        given.extend(weakref.ref(array) for array in arrays.values())
        raise torch.OutOfMemoryError

    assert (large.topk(weighing, ranges, k=3), told) == (None, [])
    monkeypatch.setattr(device_lexical, "LARGE_SCOPE", ranges.count)
    assert large.topk(weighing, ranges, k=3) is not None
    monkeypatch.setattr(device_lexical, "_weights", full)
    assert (large.topk(weighing, ranges, k=3), told) == (None, [1])
    assert [array() for array in given] == [None] * 3


def test_no_posting_of_an_invisible_row_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: as many are weighed as visible rows hold the terms."""
    weighed: list[int] = []
    real = device_lexical._weights

    def counting(bend: bm25.Curve, **arrays: torch.Tensor) -> torch.Tensor:
        weighed.append(len(arrays["idfs"]))
        return real(bend, **arrays)

    monkeypatch.setattr(device_lexical, "_weights", counting)
    texts, runs = mixed_corpus(75)
    ranges = RowRanges.from_pairs(runs[1::2])
    query = QUERIES[3]

    both(texts, query, ranges, 10, "lucene")

    assert weighed == [sum(term in texts.texts[row] for row in ranges.rows() for term in query)]
