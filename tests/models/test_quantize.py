import numpy as np
import pytest

from models.errors import InvalidOutput
from models.quantize import fixed_scores, quantize


def test_codes_are_rounded_half_to_even_and_clipped() -> None:
    """R10: with scale 127 a code is its value, so that halves and limits are easy to see."""
    vectors = np.array([[0.5, 1.5, 2.5, -0.5, -1.5, 126.9, 127.5, -300.0]], np.float32)

    assert quantize(vectors, scale="127").tolist() == [[0, 2, 2, 0, -2, 127, 127, -127]]
    assert quantize(vectors, scale="127").dtype == np.int8


def test_the_scale_is_the_value_of_the_largest_code() -> None:
    vectors = np.array([[0.2, 0.1, -0.2, 0.00079]], np.float32)

    assert quantize(vectors, scale="0.2").tolist() == [[127, 64, -127, 1]]  # 63.5000009, 0.50165


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, 1.0], [0.0, 0.0], [1e-40, 1e-40]])
def test_a_vector_that_cannot_be_ranked_is_refused_with_its_position(bad: list[float]) -> None:
    """Threat C8: NaN, infinities, length zero and denormal."""
    vectors = np.array([[0.1, 0.1], bad], np.float32)

    with pytest.raises(InvalidOutput) as refused:
        quantize(vectors, scale="0.2")
    assert refused.value.position == 1


def test_no_vectors_give_no_codes() -> None:
    assert quantize(np.empty((0, 3), np.float32), scale="0.2").shape == (0, 3)


def test_scores_are_whole_counts_of_a_millionth_binary() -> None:
    step = 2.0**-20

    assert fixed_scores(np.array([1.0, -0.25, 0.5 * step, 1.5 * step, -2.5 * step])) == (2**20, -(2**18), 0, 2, -2)


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidOutput, match="output 1"):
        fixed_scores(np.array([0.0, np.nan]))
