"""Tests of index/breaks.py: where language allows a cut."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.breaks import BREAKS, line_starts, sentence_starts, space_ends, word_starts


def _parts(way: Callable[[str], list[int]], text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *way(text), len(text)])]


def test_a_sentence_runs_on_over_line_ends() -> None:
    text = "It broke\r\nat 3.14. Why?  (Nobody\nknows.) So, e.g. this!\n"

    assert _parts(sentence_starts, text) == ["It broke\r\nat 3.14. ", "Why?  ", "(Nobody\nknows.) ", "So, e.g. this!\n"]


def test_equal_sentences_and_lone_marks_keep_their_places() -> None:
    assert _parts(sentence_starts, "... No! ... No! No! ...") == ["... No! ... ", "No! ", "No! ..."]


def test_sentences_of_scripts_without_spaces_end_too() -> None:
    assert _parts(sentence_starts, "一つ。二つ！三つ") == ["一つ。", "二つ！", "三つ"]


def test_blank_lines_belong_to_the_line_before_them() -> None:
    assert _parts(line_starts, " \none\n\n  two\r\nthree\rfour\n") == [" \none\n\n  ", "two\r\n", "three\r", "four\n"]


def test_spaces_belong_to_the_part_before_them() -> None:
    assert _parts(space_ends, "  a\u00a0\t b c ") == ["  a\u00a0\t ", "b ", "c "]


def test_words_part_where_no_space_does() -> None:
    assert _parts(word_starts, "東京a b.") == ["東", "京", "a ", "b", "."]


@pytest.mark.parametrize("way", BREAKS)
@given(text=st.text(alphabet=st.one_of(st.sampled_from("a. \n\r\u2028!。"), st.characters(codec="utf-8"))))
def test_no_part_is_blank_unless_all_is_and_none_starts_with_a_space(
    way: Callable[[str], list[int]], text: str
) -> None:
    first, *others = _parts(way, text)

    assert not first.isspace() or text.isspace()
    assert not any(part[0].isspace() for part in others)
