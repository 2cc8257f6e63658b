"""Tests of index/compiled.py: what compiled loops are given."""

from pathlib import Path

import numpy as np

from index.compiled import compiled, read_only


def test_a_compiled_loop_computes_what_it_says() -> None:
    def count_down(start: int) -> int:
        steps = 0
        while start > 0:
            start -= 3
            steps += 1
        return steps

    assert compiled(count_down)(10) == count_down(10) == 4


def test_a_read_only_view_shares_the_memory_and_cannot_be_written() -> None:
    array = np.arange(5)

    view = read_only(array)

    array[0] = 7
    assert view[0] == 7
    assert not view.flags.writeable
    assert array.flags.writeable


def test_a_memory_map_becomes_a_plain_array(tmp_path: Path) -> None:
    np.arange(6, dtype=np.int32).tofile(tmp_path / "numbers")

    view = read_only(np.memmap(tmp_path / "numbers", dtype=np.int32, mode="r"))

    assert type(view) is np.ndarray
    assert view.tolist() == [0, 1, 2, 3, 4, 5]
