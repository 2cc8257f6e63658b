"""Which short rows share a pass of a network? (pure)

A pass reads all the weights, and a short row has little work for each of them. On two AVX-512 cores a row of 16 tokens
takes 5.8 ms of processor time alone and 4.0 among eight, one of 32 tokens 8.9 alone and 7.7 among four. Longer rows
gain too little.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from models.runtime import TokenBatch

LENGTHS = (16, 32)  # of rows that share a pass
TOKENS_A_PASS = 128


def most_rows(length: int) -> int:
    """Rows of this length in a pass, at most.

    >>> [most_rows(length) for length in (16, 32, 48)]
    [8, 4, 1]
    """
    return TOKENS_A_PASS // length if length in LENGTHS else 1


def passes(batches: Sequence[TokenBatch]) -> list[tuple[int, ...]]:
    """The positions of the batches that each pass runs, passes in the order of their first ones.

    Only single rows of one length share, in the order given, as evenly as they can: nine of 16 tokens are five and
    four. Every position appears once.
    """
    by_length: dict[int, list[int]] = {}
    found: list[tuple[int, ...]] = []
    for position, batch in enumerate(batches):
        rows, length = batch.ids.shape
        if rows == 1:
            by_length.setdefault(length, []).append(position)
        else:
            found.append((position,))
    for length, positions in by_length.items():
        count = -(-len(positions) // most_rows(length))
        ends = [len(positions) * place // count for place in range(count + 1)]
        found += [tuple(positions[start:end]) for start, end in pairwise(ends)]
    return sorted(found)


def together(batches: Sequence[TokenBatch]) -> TokenBatch:
    """Batches of one length as one, in the order given."""
    if len(batches) == 1:
        return batches[0]
    return TokenBatch(
        ids=np.concatenate([batch.ids for batch in batches]),
        mask=np.concatenate([batch.mask for batch in batches]),
        types=np.concatenate([batch.types for batch in batches]),
    )
