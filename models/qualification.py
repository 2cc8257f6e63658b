"""Which runtime gives a text the same code alone and among any others, and which of those is the fastest?

A recipe fixes one runtime when its catalog is made (R10). A batch size qualifies when every sampled text, at every
bucket, gets the codes that it gets in a call of its own; size 1 qualifies when it does so among others in one call, of
which a runtime may take several at once, and in interleaved calls.

OpenVINO f32 gives 0 differing codes. torch float32 adds up a few rows in another order than many: not
padded, texts of 3 tokens get other floats in every batch and 0.5% of them other codes; padded to 16 tokens none did on
the CPU that `docs/benchmarks/qualification.json` is of.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.batching import BUCKET_TOKENS, ONE_BY_ONE, bucket
from models.encoder import Encoder
from models.errors import NoneQualifies
from models.quantize import quantize
from models.short_rows import LENGTHS
from models.tokenizer import Tokenizer, TokenRow

TEXTS_PER_BUCKET = 2000  # differing texts were 1% at worst and 0.05% more often; 2,000 see the latter with 63%
SHORT_TEXTS_PER_BUCKET = 6  # about a second for each runtime that encodes one by one
_SHORT_BUCKETS = 4
_SEED = 20  # any; fixed so that every machine samples the same texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualification:
    """What a runtime was seen to do with sampled texts of every bucket.

    `batch_sizes`: the sizes tried that qualify, ascending. `differing`: (bucket, batch size, texts whose codes
    differ) where any did. `tokens_per_second`: at the fastest size that qualifies, padding not counted; 0 without.
    """

    runtime: str
    batch_sizes: tuple[int, ...]
    texts_per_bucket: int
    differing: tuple[tuple[int, int, int], ...]
    tokens_per_second: int

    @property
    def qualifies(self) -> bool:
        """Whether the runtime can be used at all: one by one at least."""
        return 1 in self.batch_sizes


def qualify(
    encoder: Encoder, *, buckets: Sequence[int], batch_sizes: Sequence[int], texts_per_bucket: int
) -> Qualification:
    """Sample texts at each bucket and compare their codes alone with those at every batch size, 1 among them."""
    samples = {length: sample_rows(encoder.counter, bucket=length, count=texts_per_bucket) for length in buckets}
    alone = {
        length: np.concatenate([_codes(encoder, [row], size=1) for row in rows]) for length, rows in samples.items()
    }
    tokens = sum(len(row.ids) for rows in samples.values() for row in rows)
    differing: list[tuple[int, int, int]] = []
    rates: dict[int, float] = {}
    for size in sorted({1, *batch_sizes}):
        started = time.perf_counter()
        found = _batched(encoder, samples, alone, size)
        rate = tokens / (time.perf_counter() - started)
        if size == 1:
            found |= _interleaved(encoder, samples, alone)
        if found:
            differing.extend((length, size, texts) for length, texts in sorted(found.items()))
        else:
            rates[size] = rate
    return Qualification(
        runtime=encoder.runtime,
        batch_sizes=tuple(rates),
        texts_per_bucket=texts_per_bucket,
        differing=tuple(differing),
        tokens_per_second=int(max(rates.values(), default=0)),
    )


def choose_runtime(encoders: Sequence[Encoder], *, batch_sizes: Sequence[int]) -> Qualification:
    """The fastest of these encoders of one model, each on its runtime, that qualifies; the first of equals.

    batch_sizes: `batch_sizes_to_try(device)`. Encoders that go one by one take a short
    sample of some seconds each; batches are tried on all of TEXTS_PER_BUCKET at every bucket. Raises NoneQualifies.
    """
    one_by_one = tuple(batch_sizes) == ONE_BY_ONE
    seen = [
        qualify(
            encoder,
            buckets=short_buckets(encoder.window) if one_by_one else all_buckets(encoder.window),
            batch_sizes=batch_sizes,
            texts_per_bucket=SHORT_TEXTS_PER_BUCKET if one_by_one else TEXTS_PER_BUCKET,
        )
        for encoder in encoders
    ]
    qualified = [qualification for qualification in seen if qualification.qualifies]
    if not qualified:
        raise NoneQualifies([encoder.runtime for encoder in encoders])
    return max(qualified, key=lambda qualification: qualification.tokens_per_second)


def all_buckets(window: int) -> list[int]:
    """Every padded length up to the window, ascending."""
    return sorted({bucket(tokens, window=window) for tokens in range(1, window + 1)})


def short_buckets(window: int) -> list[int]:
    """Four padded lengths, from the shortest to the window, and those whose rows may share a pass.

    >>> short_buckets(256)
    [16, 32, 96, 176, 256]
    """
    buckets = all_buckets(window)
    spread = {buckets[place * (len(buckets) - 1) // (_SHORT_BUCKETS - 1)] for place in range(_SHORT_BUCKETS)}
    return sorted(spread | {length for length in LENGTHS if length in buckets})


def sample_rows(tokenizer: Tokenizer, *, bucket: int, count: int) -> list[TokenRow]:
    """`count` token rows that pad to `bucket`, of texts drawn from the vocabulary; the same on every call."""
    words = tokenizer.vocabulary()
    chance = random.Random(f"{_SEED} {bucket}")  # noqa: S311 - a sample to test with, not a secret
    rows: list[TokenRow] = []
    while len(rows) < count:
        length = chance.randint(max(bucket - BUCKET_TOKENS, tokenizer.special_tokens) + 1, bucket)
        text = " ".join(chance.choice(words) for _ in range(2 * length))  # a word is a token or more, rarely none
        row = tokenizer.windows(text, window=length, most=1).rows[0]
        if len(row.ids) == length:
            rows.append(row)
    return rows


def _interleaved(
    encoder: Encoder, samples: dict[int, list[TokenRow]], alone: dict[int, NDArray[np.int8]]
) -> dict[int, int]:
    """Bucket -> texts whose codes differ, where any do, when texts of all buckets are encoded one by one, in random
    order."""
    places = [(length, place) for length, rows in samples.items() for place in range(len(rows))]
    random.Random(_SEED).shuffle(places)  # noqa: S311 - as above
    differing = dict.fromkeys(samples, 0)
    for length, place in places:
        codes = _codes(encoder, [samples[length][place]], size=1)
        differing[length] += int((codes[0] != alone[length][place]).any())
    return {length: texts for length, texts in differing.items() if texts}


def _batched(
    encoder: Encoder, samples: dict[int, list[TokenRow]], alone: dict[int, NDArray[np.int8]], size: int
) -> dict[int, int]:
    """Bucket -> texts whose codes differ, where any do, when the texts of a bucket are encoded in one call, in batches
    of `size`, in random order. Of size 1 as well a runtime may work on several rows at once."""
    found: dict[int, int] = {}
    for length, rows in samples.items():
        order = list(range(len(rows)))
        random.Random(f"{_SEED} {size} {length}").shuffle(order)  # noqa: S311 - as above
        codes = _codes(encoder, [rows[place] for place in order], size=size)
        texts = int((codes != alone[length][order]).any(axis=1).sum())
        if texts:
            found[length] = texts
    return found


def _codes(encoder: Encoder, rows: Sequence[TokenRow], *, size: int) -> NDArray[np.int8]:
    return quantize(encoder.row_vectors(rows, batch_sizes=(size,)), scale=encoder.entry.scale)
