import random

from models.batching import Batch, bucket, halve, plan


def test_a_bucket_is_the_next_multiple_of_sixteen_up_to_the_window() -> None:
    assert [bucket(tokens, window=250) for tokens in (0, 1, 16, 17, 240, 241, 250)] == [16, 16, 16, 32, 240, 250, 250]


def test_rows_go_one_by_one_where_only_that_is_allowed() -> None:
    batches = plan([20, 5, 18], window=64, batch_sizes=(1,))

    assert batches == [
        Batch(positions=(1,), rows=1, length=16),
        Batch(positions=(0,), rows=1, length=32),
        Batch(positions=(2,), rows=1, length=32),
    ]


def test_rows_of_a_bucket_share_the_largest_size_and_the_rest_fills_the_smallest_that_holds_it() -> None:
    batches = plan([5] * 11, window=64, batch_sizes=(1, 4, 8))

    assert [(batch.positions, batch.rows) for batch in batches] == [
        ((0, 1, 2, 3, 4, 5, 6, 7), 8),
        ((8, 9, 10), 4),
    ]


def test_every_row_is_in_one_batch_of_its_own_bucket_whatever_the_lengths() -> None:
    chance = random.Random(3)
    for _ in range(200):
        lengths = [chance.randint(1, 64) for _ in range(chance.randint(0, 40))]
        sizes = (1, chance.choice((2, 8)), 32)

        batches = plan(lengths, window=64, batch_sizes=sizes)
        placed = [position for batch in batches for position in batch.positions]
        assert sorted(placed) == list(range(len(lengths)))
        assert all(
            bucket(lengths[position], window=64) == batch.length for batch in batches for position in batch.positions
        )
        assert all(batch.rows in sizes and len(batch.positions) <= batch.rows for batch in batches)


def test_half_a_batch_has_an_allowed_size_of_at_most_half() -> None:
    batch = Batch(positions=(4, 5, 6, 7, 8, 9), rows=8, length=32)

    assert halve(batch, batch_sizes=(1, 3, 8)) == [
        Batch(positions=(4, 5, 6), rows=3, length=32),
        Batch(positions=(7, 8, 9), rows=3, length=32),
    ]


def test_a_single_row_cannot_be_halved() -> None:
    assert halve(Batch(positions=(0,), rows=1, length=16), batch_sizes=(1, 8)) == []
