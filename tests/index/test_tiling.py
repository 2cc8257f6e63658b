"""Tests of index/tiling.py, through the chunker: where cuts fall."""

import pytest

from tests.index.counters import Bytes
from tests.index.cutting import assert_sound, cut, cut_texts, numbered


def test_paragraphs_are_gathered_up_to_the_target_and_never_split_below_it() -> None:
    paragraphs = [numbered(4, word) + "\n\n" for word in "abcdef"]

    assert cut_texts("".join(paragraphs)) == ["".join(paragraphs[at : at + 2]) for at in (0, 2, 4)]


def test_a_short_rest_stays_with_the_paragraph_before_it() -> None:
    text = numbered(10) + "\n\n" + "the end"

    assert cut_texts(text) == [text]


def test_parts_of_a_long_text_are_even() -> None:
    sentences = [f"This one has four{number}. " for number in range(4)]

    assert cut_texts("".join(sentences)) == ["".join(sentences[:2]), "".join(sentences[2:])]


def test_a_long_paragraph_is_cut_between_sentences_not_lines() -> None:
    text = "One two three\nfour five six. Seven eight\nnine ten. Eleven twelve\nthirteen fourteen."

    assert cut_texts(text, target=6) == [
        "One two three\nfour five six. ",
        "Seven eight\nnine ten. ",
        "Eleven twelve\nthirteen fourteen.",
    ]


def test_a_long_sentence_is_cut_between_lines_then_words() -> None:
    lines = [numbered(8, "a") + "\n", numbered(16, "b")]

    assert cut_texts("".join(lines), target=8) == [
        lines[0],
        numbered(8, "b") + " ",
        lines[1][len(numbered(8, "b")) + 1 :],
    ]


def test_text_without_spaces_is_cut_anywhere() -> None:
    units = cut("漢" * 95, counter=Bytes(), window=31, target=30)

    assert {len(unit.text) for unit in units} == {9, 10}  # 285 bytes in ten parts
    assert_sound(units, "漢" * 95, counter=Bytes(), window=31)


@pytest.mark.parametrize(
    "block",
    [
        "".join(f"- item {number} x\n" for number in range(10)),  # 40 tokens
        "|a|b|\n|-|-|\n" + "".join(f"| {number} | x |\n" for number in range(7)),
        "```\n" + numbered(12, "x =\n") + "\n```\n",
        "    " + "\n    ".join(numbered(40).split()) + "\n",
    ],
)
def test_lists_tables_and_code_are_not_split_where_they_fit_the_window(block: str) -> None:
    texts = cut_texts(f"{numbered(9)}\n\n{block}\n{numbered(9)}\n")

    assert [text for text in texts if block in text]
    assert cut_texts(f"# Heading\n\n{block}") == [f"# Heading\n\n{block}"]


def test_a_longer_list_is_cut_between_items() -> None:
    items = [f"- item {number} has five\n" for number in range(12)]

    assert cut_texts("".join(items)) == ["".join(items[at : at + 2]) for at in range(0, 12, 2)]


def test_a_longer_table_is_cut_between_rows_and_its_head_stays_with_the_first() -> None:
    head, rows = "| a | b |\n|-|-|\n", [f"| {number} | x |\n" for number in range(12)]

    texts = cut_texts(head + "".join(rows), window=20)

    assert texts[0].startswith(head + rows[0])
    assert all(text.endswith(" |\n") for text in texts)


def test_longer_code_is_cut_between_lines() -> None:
    lines = ["```\n", *(f"x{number} = f( y. Z )\n" for number in range(12)), "```\n"]

    assert all(text.endswith("\n") for text in cut_texts("".join(lines), window=20))


def test_an_item_too_long_is_cut_at_its_own_blocks() -> None:
    text = f"- {numbered(9, 'a')}\n\n  {numbered(9, 'b')}\n\n  - {numbered(8, 'c')}\n- d\n"

    assert [part.split()[-1] for part in cut_texts(text, window=20)] == ["a8", "b8", "d"]


@pytest.mark.parametrize(
    "text", [" ", "\n" * 3000, "word" + " " * 3000 + "word", " " * 3000 + "word", "word" + "\n" * 3000]
)
def test_space_is_no_unit_of_its_own_where_there_are_words(text: str) -> None:
    texts = cut_texts(text)

    assert len(texts) == max(1, len(text.split())) or len(texts) == 1
