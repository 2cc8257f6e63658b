import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from models.batching import bucket
from models.encoder import Encoder
from models.errors import NoneQualifies
from models.folder import open_folder
from models.qualification import (
    TEXTS_PER_BUCKET,
    Qualification,
    all_buckets,
    choose_runtime,
    qualify,
    sample_rows,
)
from models.registry import EncoderEntry
from models.runtime import TokenBatch, batch_sizes_to_try
from tests.models.builders import FakeRuntime, vectors_of_ids


def encoder(entry: EncoderEntry, runtime: FakeRuntime, name: str = "fake-1-f32") -> Encoder:
    runtime.name = name
    return Encoder(entry, open_folder(entry), runtime)


def short_text_in_a_batch_of_eight_or_more(batch: TokenBatch) -> NDArray[np.float32]:
    """What float kernels do on some machines: from some batch size on, sums of short rows are taken in another order,
    and some rows come out different. Here it is the third row of a batch, and far off, so that they can be counted."""
    vectors = vectors_of_ids(batch)
    if len(vectors) >= 8 and batch.ids.shape[1] <= 16:
        vectors[2] *= -1
    return vectors


def test_a_batch_size_at_which_any_text_gets_another_code_does_not_qualify(tiny_entry: EncoderEntry) -> None:
    """R10: the codes alone are the ones that count."""
    found = qualify(
        encoder(tiny_entry, FakeRuntime(short_text_in_a_batch_of_eight_or_more)),
        buckets=[16, 32],
        batch_sizes=(1, 4, 8),
        texts_per_bucket=24,
    )

    assert found.batch_sizes == (1, 4)
    assert found.differing == ((16, 8, 3),)  # the third of each of three batches
    assert found.qualifies


def test_a_runtime_that_does_not_repeat_itself_does_not_qualify_even_one_by_one(tiny_entry: EncoderEntry) -> None:
    calls: list[int] = []

    def drifting(batch: TokenBatch) -> NDArray[np.float32]:
        calls.append(1)
        return vectors_of_ids(batch) * np.float32(1 + len(calls) / 100)

    runtime = encoder(tiny_entry, FakeRuntime(drifting))

    assert not qualify(runtime, buckets=[16], batch_sizes=(1,), texts_per_bucket=4).qualifies
    with pytest.raises(NoneQualifies, match="fake-1-f32"):
        choose_runtime([runtime], batch_sizes=(1,))


def test_the_fastest_runtime_that_qualifies_is_chosen(tiny_entry: EncoderEntry) -> None:
    def slow(batch: TokenBatch) -> NDArray[np.float32]:
        time.sleep(0.002)  # work, as the clock sees it
        return vectors_of_ids(batch)

    def wrong(batch: TokenBatch) -> NDArray[np.float32]:
        return np.random.default_rng().normal(size=(len(batch.ids), 32)).astype(np.float32)

    chosen = choose_runtime(
        [
            encoder(tiny_entry, FakeRuntime(slow), "slow"),
            encoder(tiny_entry, FakeRuntime(vectors_of_ids), "fast"),
            encoder(tiny_entry, FakeRuntime(wrong), "wrong"),
        ],
        batch_sizes=(1,),
    )
    assert chosen.runtime == "fast"
    assert chosen.differing == ()


def test_a_runtime_is_tried_at_every_bucket_and_size_when_it_batches(tiny_entry: EncoderEntry) -> None:
    """The whole sample: 2,000 texts at each bucket."""
    runtime = FakeRuntime(vectors_of_ids)

    chosen = choose_runtime([encoder(replace(tiny_entry, window=32), runtime)], batch_sizes=(1, 128))
    assert chosen.texts_per_bucket == TEXTS_PER_BUCKET == 2000
    assert chosen.batch_sizes == (1, 128)
    assert set(runtime.shapes) == {(1, 16), (1, 32), (128, 16), (128, 32)}


def test_sampled_texts_pad_to_their_bucket_and_are_the_same_each_time(tiny: Encoder) -> None:
    for length in all_buckets(tiny.window):
        rows = sample_rows(tiny.counter, bucket=length, count=20)

        assert {bucket(len(row.ids), window=tiny.window) for row in rows} == {length}
        assert rows == sample_rows(tiny.counter, bucket=length, count=20)
        assert len({tuple(row.ids) for row in rows}) > 15


def test_the_buckets_go_up_to_a_window_of_any_length() -> None:
    assert all_buckets(40) == [16, 32, 40]


def test_the_cpu_runtimes_qualify_one_by_one(tiny: Encoder) -> None:
    found = qualify(tiny, buckets=all_buckets(tiny.window), batch_sizes=(1,), texts_per_bucket=3)

    assert (found.batch_sizes, found.differing) == ((1,), ())
    assert found.tokens_per_second > 0


@pytest.mark.soak
def test_the_packaged_encoder_qualifies_on_this_machine_at_every_bucket(minilm: Encoder) -> None:
    found = qualify(minilm, buckets=all_buckets(minilm.window), batch_sizes=(1, 4), texts_per_bucket=TEXTS_PER_BUCKET)

    assert found.differing == ()
    assert isinstance(found, Qualification)
    assert batch_sizes_to_try("cpu") == (1,)
