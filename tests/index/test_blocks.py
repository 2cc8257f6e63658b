"""Tests of index/blocks.py: where structure allows a cut."""

from itertools import pairwise

import pytest

from index.blocks import Structure, read_structure


def _paths(text: str) -> list[tuple[str, ...]]:
    return [path for _, path in read_structure(text).headings]


def _parts(text: str, depth: int) -> list[str]:
    cuts = sorted({0, *read_structure(text).cuts[depth], len(text)})
    return [text[start:end] for start, end in pairwise(cuts)]


def _sections(text: str, structure: Structure) -> list[tuple[str, str]]:
    """Headings and content of each section."""
    return [
        (text[section.start : section.content], text[section.content : section.end]) for section in structure.sections
    ]


def test_a_heading_path_has_the_outermost_heading_first_and_ends_at_its_level() -> None:
    text = "# A\n\n## B\n\n### C\n\n## D\n\nE\n===\n"

    assert _paths(text) == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]


def test_a_section_has_the_headings_before_its_content_and_ends_at_the_next_heading() -> None:
    text = "intro\n\n# A\n## B\n\none\n\ntwo\n# C\n"

    assert _sections(text, read_structure(text)) == [
        ("", "intro\n\n"),
        ("# A\n## B\n\n", "one\n\ntwo\n"),
        ("# C\n", ""),
    ]


def test_an_empty_text_is_one_empty_section() -> None:
    assert _sections("", read_structure("")) == [("", "")]
    assert _sections(" \n\n", read_structure(" \n\n")) == [(" \n\n", "")]


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("#   A  *b*   #\n", "A *b*"),
        ("A\nb\n---\n", "A b"),
        ("=====\nA b\n=====\n", "A b"),  # as reStructuredText writes it
    ],
)
def test_a_heading_is_its_source_on_one_line(text: str, heading: str) -> None:
    assert _paths(text) == [(heading,)]


@pytest.mark.parametrize(
    "text",
    [
        "#\n",
        "***\n===\n",
        "> # quoted\n",
        "- # in a list\n",
        "    # in code\n",
        "```\n# in code\n```\n",
        "word " * 50 + "\n---\n",  # a paragraph on a rule: longer than a heading is
    ],
)
def test_what_names_no_section_is_no_heading(text: str) -> None:
    assert _paths(text) == []


def test_blocks_are_cut_apart_and_own_the_blank_lines_after_them() -> None:
    text = "\n\none\none\n\n\n- a\n- b\n\n***\n> q\n"

    assert _parts(text, 0) == ["\n\none\none\n\n\n", "- a\n- b\n\n", "***\n", "> q\n"]


def test_no_cut_separates_a_heading_from_what_follows_it() -> None:
    assert _parts("# A\n\none\n\ntwo\n", 0) == ["# A\n\none\n\n", "two\n"]


def test_lists_are_cut_at_items_and_deeper_at_the_items_of_nested_lists() -> None:
    text = "- a\n  a\n\n  b\n- c\n  1. d\n  2. e\n"

    assert _parts(text, 1) == ["- a\n  a\n\n  b\n", "- c\n  1. d\n  2. e\n"]
    assert _parts(text, 2) == ["- a\n  a\n\n", "  b\n", "- c\n", "  1. d\n  2. e\n"]
    assert _parts(text, 3)[-2:] == ["  1. d\n", "  2. e\n"]


def test_tables_are_cut_at_rows_and_the_head_stays_with_the_first() -> None:
    text = "|a|b|\n|-|-|\n|1|2|\n|3|4|\n|5|6|\n"

    assert _parts(text, 1) == ["|a|b|\n|-|-|\n|1|2|\n", "|3|4|\n", "|5|6|\n"]


@pytest.mark.parametrize("text", ["```\na\n\nb\n```\n", "    a\n\n    b\n    c\n", "<div>\na\nb\n</div>\n"])
def test_code_and_html_are_cut_at_lines_that_are_not_blank(text: str) -> None:
    lines = [line for line in text.splitlines() if line.strip()]

    assert [part.strip() for part in _parts(text, 1)] == [line.strip() for line in lines]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_positions_are_those_of_the_text_as_it_is(line_end: str) -> None:
    lines = ["# A", "", "\tone\u2028\f two", "", "|a|", "|-|", "|1|", "|2|", ""]
    text = line_end.join(lines)

    assert _parts(text, 0) == [line_end.join(lines[:4]) + line_end, line_end.join(lines[4:])]
    assert _parts(text, 1)[-1] == "|2|" + line_end


def test_tables_lists_and_code_are_wholes_from_the_headings_right_before_them_on() -> None:
    text = "# A\n\n- a\n- b\n\n|a|\n|-|\n\n    code\n"
    table, code = text.index("|a|"), text.index("    code")

    assert read_structure(text).wholes == {(0, table), (table, code), (code, len(text))}


@pytest.mark.parametrize("mark", ["> ", "- ", "1. ", ">", "* > "])
def test_deep_nesting_is_read(mark: str) -> None:
    structure = read_structure(mark * 3000 + "a\n")

    assert len(structure.sections) == 1
    assert len(structure.cuts) <= 50


def test_an_opening_reaches_from_the_headings_to_the_first_character_of_the_content() -> None:
    text = "one\n\n# A\n## B\n\n  two\n# C\n"

    assert [text[start : end + 1] for start, end in read_structure(text).openings] == ["# A\n## B\n\n  t"]


def test_headings_as_long_as_a_table_of_contents_are_no_opening() -> None:
    assert read_structure("# heading\n" * 100 + "text\n").openings == ()
