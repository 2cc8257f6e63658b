"""Does an open generation keep its own promises? (pure)

Its digests were compared when it was opened; here the numbers must also make sense together, so that a mistake of the
program that wrote it is found too. Each problem is one line.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from index.generation import Generation
from index.generation_format import identity_order


def broken_promises(generation: Generation) -> Iterator[tuple[str, str]]:
    """(part, problem) of everything that does not hold. Costs one pass over all arrays but the codes."""
    yield from (("runs.jsonl", problem) for problem in _runs(generation))
    yield from _postings(generation)
    vocabulary = generation.postings.terms
    if not all(before < after for before, after in pairwise(vocabulary)):
        yield "terms.utf8", "terms are not in code-point order, or one is there twice"


def _runs(generation: Generation) -> Iterator[str]:
    runs = generation.runs
    ends = [0, *(run.end for run in runs)]
    if any(run.start != end or run.end < run.start for run, end in zip(runs, ends, strict=False)):
        yield "runs do not follow each other"
    elif ends[-1] != generation.rows:
        yield f"runs end at row {ends[-1]}, there are {generation.rows} rows"
    elif not np.array_equal(generation.order, identity_order(runs, generation.rows)):
        yield "the order of rows does not agree with their keys"
    if not all((a.label_digest, a.key) < (b.label_digest, b.key) for a, b in pairwise(runs)):
        yield "runs are not in the order of label and key"
    if len(generation.run_of) != len(runs):
        yield "a revision has two runs"


def _postings(generation: Generation) -> Iterator[tuple[str, str]]:
    postings, rows = generation.postings, generation.rows
    places = postings.posting_rows
    if (np.diff(postings.offsets) < 1).any():
        yield "posting_offsets.int64", "a term has no postings"
        return
    if places.size and (places.min() < 0 or places.max() >= rows):
        yield "posting_rows.int32", "a posting is in no row"
        return
    ascending = np.diff(places) > 0
    ascending[postings.offsets[1:-1] - 1] = True  # where a term ends, the next may begin anywhere
    if not ascending.all():
        yield "posting_rows.int32", "the postings of a term are not ascending"
    if (postings.frequencies < 1).any():
        yield "posting_frequencies.int32", "a term occurs less than once"
    sums = np.zeros(rows, dtype=np.int64)
    np.add.at(sums, places, postings.frequencies)
    if not np.array_equal(sums, generation.lengths):
        yield "lengths.int32", "a row's length is not the sum of its terms"
