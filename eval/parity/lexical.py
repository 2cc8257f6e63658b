"""Are BM25 scores the same integers in compiled loops and in plain Python, whole and in two generations?

R9 and R11. Beside a GPU large scopes are scored there: the same integers.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from eval.parity.dense_cases import scopes
from eval.parity.finding import Finding
from eval.parity.plain_bm25 import PlainBm25
from eval.parity.sizes import Sizes
from index import lexical
from index.bm25 import DEFAULTS
from index.device_lexical import DeviceLexical
from index.postings import Postings, build_postings
from index.ranges import RowRanges
from index.statistics import Counted, gather, gather_all

Texts = Sequence[Sequence[str]]
Made = tuple[Postings, npt.NDArray[np.int32]]

_WORDS = 400
_QUERIES = 6
_K = 50


def integers(sizes: Sizes) -> Finding:
    """All hits, the first k and single rows have the scores of plain Python, and two generations those of one."""
    texts, queries = _drawn(sizes.units)
    order = np.random.default_rng(36).permutation(sizes.units).astype(np.int32)
    postings, lengths = build_postings(texts)
    border = sizes.units // 3
    generations = [(0, build_postings(texts[:border])), (border, build_postings(texts[border:]))]
    rankings = scored = differing = 0
    seen = hashlib.sha256()
    for formula in DEFAULTS.values():
        for ranges in scopes(sizes.units).values():
            statistics = gather(postings, lengths, ranges=ranges, formula=formula)
            plain = PlainBm25([texts[row] for row in ranges.rows()], formula)
            parts = [_part(first, made, ranges) for first, made in generations]
            joined = gather_all(parts, ranges=ranges, formula=formula)
            for query in queries:
                expected = plain.scores(query)
                rows = ranges.rows()[expected.hits]
                found = lexical.score(postings, lengths, statistics, query, ranges=ranges)
                best = lexical.topk(postings, lengths, statistics, query, ranges=ranges, order=order, k=_K)
                single, _ = lexical.score_rows(postings, lengths, statistics, query, ranges=ranges, rows=rows)
                weights = lexical.weigh(parts, joined, query, ranges=ranges)
                halves = [lexical.score_weighed(part, weights) for part in parts]
                first = np.lexsort((order[rows], -expected.sums))[:_K]
                differing += not (
                    np.array_equal(found.rows, rows)
                    and np.array_equal(found.scores, expected.sums)
                    and np.array_equal(single, expected.sums)
                    and np.array_equal(np.concatenate([half.scores for half in halves]), expected.sums)
                    and np.array_equal(best.rows, rows[first])
                    and np.array_equal(best.scores, expected.sums[first])
                )
                rankings, scored = rankings + 1, scored + len(rows)
                seen.update(found.rows.astype("<i8").tobytes() + found.scores.astype("<i8").tobytes())
    return Finding(
        name="BM25 scores are those of plain Python",
        place="numba on cpu",
        passed=differing == 0 and scored > 0,
        figures={
            "rankings": rankings,
            "scores": scored,
            "differing": differing,
            "digest": f"sha256:{seen.hexdigest()}",
        },
    )


def on_device(device: torch.device, sizes: Sizes) -> Finding:
    """The first k hits found by torch on a device are those of the compiled loops on the CPU, scores too."""
    texts, queries = _drawn(sizes.units)
    order = np.random.default_rng(37).permutation(sizes.units).astype(np.int32)
    postings, lengths = build_postings(texts)
    scan = DeviceLexical(postings, lengths, order, device)
    rankings = scored = differing = 0
    for formula in DEFAULTS.values():
        for ranges in scopes(sizes.units).values():
            part = Counted(postings, lengths, ranges)
            statistics = gather(postings, lengths, ranges=ranges, formula=formula)
            for query in queries:
                weights = lexical.weigh([part], statistics, query, ranges=ranges)
                weighing = lexical.weighing_of(part, weights)
                if weighing is None:
                    continue
                expected = lexical.topk_weighed(part, weights, order=order, k=_K)
                found = scan.topk(weighing, ranges, k=_K)
                differing += not (
                    np.array_equal(found.rows, expected.rows) and np.array_equal(found.scores, expected.scores)
                )
                rankings, scored = rankings + 1, scored + len(expected.rows)
    return Finding(
        name="BM25 scores for GPUs are those of the CPU",
        place=device.type,
        passed=differing == 0 and scored > 0,
        figures={"rankings": rankings, "scores": scored, "differing": differing},
    )


def _part(first: int, made: Made, ranges: RowRanges) -> Counted:
    """Those of `ranges` that lie in a generation whose first row is row `first` of all."""
    postings, lengths = made
    starts, ends = np.clip(ranges.starts - first, 0, len(lengths)), np.clip(ranges.ends - first, 0, len(lengths))
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return Counted(postings=postings, lengths=lengths, ranges=RowRanges.from_pairs(pairs))


def _drawn(units: int) -> tuple[Texts, Texts]:
    """Texts by Zipf's law, some of them empty; queries with repeats, common words and one that is nowhere."""
    chance = np.random.default_rng(35)
    odds = 1 / np.arange(1, _WORDS + 1)
    words = [f"w{number}" for number in range(_WORDS)]
    lengths = chance.poisson(12, units) * (chance.random(units) < 0.95)
    texts = [[words[at] for at in chance.choice(_WORDS, size=length, p=odds / odds.sum())] for length in lengths]
    drawn = [[words[at] for at in chance.integers(0, _WORDS, 4)] for _ in range(_QUERIES - 2)]
    return texts, [*drawn, ["w0", "w1", "w0", "nowhere"], ["nowhere"]]
