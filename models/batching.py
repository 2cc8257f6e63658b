"""Which rows are encoded together, at which padded length? (pure)

A row's bucket is the next multiple of 16 tokens, up to the window. Rows of one bucket share a batch, and a batch has
one of the sizes its runtime qualified for and no other (R10): what is left over is filled up with repeats.
"""

from collections.abc import Sequence
from dataclasses import dataclass

BUCKET_TOKENS = 16
ONE_BY_ONE = (1,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows to run together. `positions`: where they stand in the call, at most `rows` of them; the rest of the batch
    is filled up. `length`: tokens each row is padded to."""

    positions: tuple[int, ...]
    rows: int
    length: int


def bucket(tokens: int, *, window: int) -> int:
    """The padded length of a row of `tokens` tokens; at least one bucket, for rows without any.

    >>> [bucket(tokens, window=250) for tokens in (0, 16, 17, 250)]
    [16, 16, 32, 250]
    """
    return min(-(-max(tokens, 1) // BUCKET_TOKENS) * BUCKET_TOKENS, window)


def plan(lengths: Sequence[int], *, window: int, batch_sizes: Sequence[int]) -> list[Batch]:
    """Batches over rows of these lengths (tokens): shorter buckets first, rows of a bucket in the order given.

    `batch_sizes`: the sizes allowed, 1 among them. A bucket is cut into the largest size; what remains goes into the
    smallest size that holds it. Every position appears once.
    """
    sizes = sorted(batch_sizes)
    by_bucket: dict[int, list[int]] = {}
    for position, tokens in enumerate(lengths):
        by_bucket.setdefault(bucket(tokens, window=window), []).append(position)
    batches = []
    for length, positions in sorted(by_bucket.items()):
        for start in range(0, len(positions), sizes[-1]):
            part = tuple(positions[start : start + sizes[-1]])
            rows = next(size for size in sizes if size >= len(part))
            batches.append(Batch(positions=part, rows=rows, length=length))
    return batches


def halve(batch: Batch, *, batch_sizes: Sequence[int]) -> list[Batch]:
    """The same rows in batches of the largest allowed size up to half of this one; empty when there is none."""
    smaller = [size for size in batch_sizes if size * 2 <= batch.rows]
    if not smaller:
        return []
    rows = max(smaller)
    return [
        Batch(positions=batch.positions[start : start + rows], rows=rows, length=batch.length)
        for start in range(0, len(batch.positions), rows)
    ]
