"""Tests that the qualification is red where torch float32 changes codes in batches, on the real runtime (R10).

What float32 gives a row depends on how many rows are multiplied with it, where these are few: the shortest texts, not
padded. Padded to 16 tokens nothing differed here; `docs/benchmarks/qualification.json` has the figures.
"""

from pathlib import Path

import pytest

from models.qualification import TEXTS_PER_BUCKET, qualify
from tests.models.batch_differences import FINE_SCALE, SIZES, measure, rows_depend_on_their_number, torch_encoder

pytestmark = pytest.mark.skipif(
    not rows_depend_on_their_number(), reason="float32 gives few rows the same bits in any company on this machine"
)

SHORTEST = 3  # tokens: a word between the special ones


def test_the_shortest_texts_get_other_floats_in_batches_and_the_qualification_is_red(cache: Path) -> None:
    """At ten times the model's resolution, so that few texts show it."""
    encoder = torch_encoder(cache, window=SHORTEST, scale=FINE_SCALE)

    [measured] = measure(encoder, length=SHORTEST, sizes=[4], texts=40)
    found = qualify(encoder, buckets=[SHORTEST], batch_sizes=(1, 4), texts_per_bucket=150)
    assert measured.vectors == 40
    assert found.batch_sizes == (1,)
    assert [(length, size) for length, size, _ in found.differing] == [(SHORTEST, 4)]
    assert found.qualifies  # one by one it repeats itself


@pytest.mark.soak
def test_at_the_models_own_scale_the_qualification_is_red_at_every_batch_size(cache: Path) -> None:
    encoder = torch_encoder(cache, window=SHORTEST)

    found = qualify(encoder, buckets=[SHORTEST], batch_sizes=SIZES, texts_per_bucket=TEXTS_PER_BUCKET)
    assert found.batch_sizes == (1,)
    assert {size for _, size, _ in found.differing} == set(SIZES)
    assert max(texts for _, _, texts in found.differing) <= TEXTS_PER_BUCKET / 100  # up to 1%
