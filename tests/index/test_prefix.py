"""Tests of index/prefix.py, through the chunker: what stands in front of a unit (R9, R14)."""

from tests.index.counters import Bytes
from tests.index.cutting import cut, numbered


def test_the_prefix_is_title_and_heading_path_in_front_of_the_text() -> None:
    """R9: both channels read the same text; the stored unit does not hold the prefix."""
    (unit,) = cut("# A\n\n## B\n\none\n", title="The  title")

    assert unit.prefix == "The title > A > B"
    assert unit.input_text == "The title > A > B\n# A\n\n## B\n\none\n"
    assert (unit.prefix_tokens, unit.prefix_tokens_cut, unit.tokens) == (6, 0, 11)


def test_a_title_that_is_the_outermost_heading_stands_once() -> None:
    assert [unit.prefix for unit in cut("# A\n\n## B\n\none\n", title="A")] == ["A > B"]


def test_without_context_there_is_no_prefix_and_the_path_stays() -> None:
    (unit,) = cut("# A\n\none\n", title="Title", contextual=False)

    assert (unit.prefix, unit.prefix_tokens, unit.heading) == ("", 0, ("A",))


def test_a_prefix_too_long_is_cut_from_its_front_and_the_cut_is_recorded() -> None:
    """R14: nothing is cut in silence."""
    (unit,) = cut("one two three", title=numbered(20), window=12)

    assert unit.prefix == " ".join(numbered(20).split()[-9:])
    assert (unit.prefix_tokens, unit.prefix_tokens_cut, unit.tokens) == (20, 11, 12)


def test_a_long_prefix_leaves_half_the_window_to_a_long_text() -> None:
    units = cut(numbered(50), title=numbered(30), window=20)

    assert [unit.prefix_tokens - unit.prefix_tokens_cut for unit in units] == [10] * 5
    assert [unit.text.split() for unit in units] == [numbered(50).split()[at : at + 10] for at in range(0, 50, 10)]


def test_a_prefix_is_cut_between_code_points() -> None:
    (unit,) = cut("abc", title="漢字漢字", counter=Bytes(), window=12)

    assert unit.prefix == "漢字"  # 7 bytes remain beside text, line end and special token
    assert (unit.prefix_tokens, unit.prefix_tokens_cut) == (12, 6)
