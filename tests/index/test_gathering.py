"""Tests of index/gathering.py: who waits together is answered together, each with its own answer."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from index.gathering import Gathering


class Squares:
    """Squares numbers; the first pass waits for `go`. passes: what was asked in each."""

    def __init__(self) -> None:
        self.go = Event()
        self.begun = Event()
        self.passes: list[list[int]] = []

    def answer(self, asked: Sequence[int]) -> list[int]:
        self.passes.append(list(asked))
        self.begun.set()
        self.go.wait(10)
        if any(number < 0 for number in asked):
            raise ValueError(min(asked))
        return [number * number for number in asked]


@pytest.fixture(name="squares")
def fixture_squares() -> Squares:
    return Squares()


def wait_for(gathering: Gathering[int, int], number: int) -> None:
    while len(gathering._queue) < number:
        pass


def test_whoever_comes_while_a_pass_runs_is_answered_in_the_next_one_together(squares: Squares) -> None:
    gathering = Gathering(squares.answer, most=3)
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(gathering.ask, 2)
        squares.begun.wait(10)
        others = []
        for place, number in enumerate((3, 4, 5, 6), start=1):
            others.append(threads.submit(gathering.ask, number))
            wait_for(gathering, place)
        squares.go.set()

        assert [one.result(10) for one in (first, *others)] == [4, 9, 16, 25, 36]
    assert squares.passes == [[2], [3, 4, 5], [6]]


def test_an_error_is_raised_to_the_one_who_asked_for_it_alone(squares: Squares) -> None:
    gathering = Gathering(squares.answer, most=8)
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(gathering.ask, 2)
        squares.begun.wait(10)
        others = []
        for place, number in enumerate((3, -4, 5), start=1):
            others.append(threads.submit(gathering.ask, number))
            wait_for(gathering, place)
        squares.go.set()

        assert [first.result(10), others[0].result(10), others[2].result(10)] == [4, 9, 25]
        with pytest.raises(ValueError, match="-4"):
            others[1].result(10)


def test_a_search_alone_is_served_at_once_and_by_its_own_thread(squares: Squares) -> None:
    squares.go.set()
    gathering = Gathering(squares.answer, most=8)

    assert [gathering.ask(number) for number in (1, 2, 3)] == [1, 4, 9]
    assert squares.passes == [[1], [2], [3]]


def test_thousands_of_searches_by_many_threads_each_get_their_own_answer(squares: Squares) -> None:
    squares.go.set()
    gathering = Gathering(squares.answer, most=5)
    start = Barrier(8)

    def ask(thread: int) -> bool:
        start.wait(10)
        return all(gathering.ask(number) == number * number for number in range(thread, 4000, 8))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(8)))
    assert sum(map(len, squares.passes)) == 4000
    assert max(map(len, squares.passes)) <= 5
