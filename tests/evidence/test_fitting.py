"""The search for how much fits."""

from hypothesis import given
from hypothesis import strategies as st

from evidence.fitting import largest_below


@given(st.integers(1, 3000), st.data())
def test_the_largest_number_that_fits_is_found(too_many: int, data: st.DataObject) -> None:
    most = data.draw(st.integers(0, too_many - 1))

    assert largest_below(too_many, lambda number: number <= most) == most


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_where_sizes_do_not_grow_evenly_the_answer_fits_and_one_more_does_not(fits: list[bool]) -> None:
    found = largest_below(len(fits), lambda number: fits[number])

    assert found == 0 or fits[found]
    assert found + 1 == len(fits) or not fits[found + 1]


def test_nothing_much_larger_than_the_answer_is_measured() -> None:
    tried: list[int] = []

    def fits(number: int) -> bool:
        tried.append(number)
        return number <= 5

    assert largest_below(10**6, fits) == 5
    assert max(tried) <= 8
