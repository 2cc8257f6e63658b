"""Tests of index/chunking.py: which units tile a revision (R9, R14, and the units of the glossary)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.chunking import QuoteTooLong, TokenCounter, chunker_name
from tests.index.counters import Bytes, Miscounting, Words, minilm
from tests.index.cutting import WINDOW, assert_sound, cut, cut_texts, numbered
from tests.real_data import data_folder


def test_units_never_mix_sections_and_know_their_heading_path() -> None:
    text = "intro\n\n# A\n\none\n\n## B\n\ntwo\n\n# C\n\nthree\n"

    assert [(unit.heading, unit.text) for unit in cut(text)] == [
        ((), "intro\n\n"),
        (("A",), "# A\n\none\n\n"),
        (("A", "B"), "## B\n\ntwo\n\n"),
        (("C",), "# C\n\nthree\n"),
    ]


def test_a_heading_alone_joins_what_follows_under_the_path_of_the_content() -> None:
    text = "# A\n\n## B\n\none\n"

    assert [(unit.heading, unit.text) for unit in cut(text)] == [(("A", "B"), text)]


def test_a_heading_with_nothing_after_it_is_a_unit_of_its_own() -> None:
    text = "one\n\n# A\n"

    assert [(unit.heading, unit.text) for unit in cut(text)] == [((), "one\n\n"), (("A",), "# A\n")]


def test_all_units_of_a_long_section_have_its_path_and_its_first_has_the_heading() -> None:
    text = f"# A\n\n{numbered(60)}\n"

    units = cut(text)

    assert len(units) > 4
    assert {unit.heading for unit in units} == {("A",)}
    assert units[0].text.startswith("# A\n\nword0")


def test_headings_without_content_that_fill_several_units_have_their_own_paths() -> None:
    text = "".join(f"# h{number}\n" for number in range(20))

    for unit in cut(text):
        assert unit.heading == (unit.text.splitlines()[-1].removeprefix("# "),)


def test_an_empty_text_has_one_unit_that_its_title_finds() -> None:
    (unit,) = cut("", title="Title only")

    assert (unit.start, unit.end, unit.text, unit.input_text) == (0, 0, "", "Title only\n")


def test_no_title_and_no_text_is_one_unit_too() -> None:
    (unit,) = cut("")

    assert (unit.start, unit.end, unit.input_text, unit.tokens) == (0, 0, "", 0)


# Quotes


def test_a_quote_is_never_split() -> None:
    text = numbered(100)
    quote = text[text.index("word7 ") : text.index("word19 ")]

    assert sum(quote in unit for unit in cut_texts(text, quotes=[quote])) == 1
    assert not any(quote in unit for unit in cut_texts(text))


def test_only_the_first_occurrence_of_a_quote_is_held_together() -> None:
    sentence = "one two three four five. "

    texts = cut_texts(sentence * 6, target=4, quotes=["three four"])

    assert "three four" in texts[0]
    assert sum(text.count("three four") for text in texts) < 6


def test_overlapping_quotes_are_held_together_and_touching_ones_may_part() -> None:
    text = numbered(40)
    first, second = "word4 word5 word6 word7 word8", "word8 word9 word10 word11 word12"

    assert any(first in unit and second in unit for unit in cut_texts(text, target=6, quotes=[first, second]))
    parted = cut_texts(text, target=6, quotes=[first + " ", second.removeprefix("word8 ")])
    assert not any(first in unit and second in unit for unit in parted)


def test_a_quote_over_a_heading_joins_the_sections_under_the_first_path() -> None:
    text = "# A\n\none two\n\n# B\n\nthree\n"

    assert [(unit.heading, unit.text) for unit in cut(text, quotes=["two\n\n# B"])] == [(("A",), text)]


def test_a_quote_that_fills_the_window_takes_the_place_of_its_prefix() -> None:
    text = numbered(30)
    quote = " ".join(text.split()[5:24])

    units = cut(text, title=numbered(8, "title"), quotes=[quote], window=20)

    (holder,) = [unit for unit in units if quote in unit.text]
    assert holder.prefix == "title7"
    assert (holder.prefix_tokens, holder.prefix_tokens_cut, holder.tokens) == (8, 7, 20)


def test_a_quote_of_exactly_the_window_is_taken_and_one_token_more_is_refused() -> None:
    text = numbered(60)
    words = text.split()

    assert " ".join(words[5:25]) in [unit.text.strip() for unit in cut(text, quotes=[" ".join(words[5:25])], window=20)]
    with pytest.raises(QuoteTooLong, match=r"longer than the encoder's window: 21 tokens.*20") as error:
        cut(text, quotes=[" ".join(words[5:26])], window=20)
    assert "word" not in str(error.value)  # never content


def test_a_quote_that_is_not_in_the_text_or_empty_changes_nothing() -> None:
    text = numbered(50)

    assert cut_texts(text, quotes=["nowhere", ""]) == cut_texts(text)


# Always


def test_a_window_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="window of 1 tokens must hold more than 1"):
        cut("a", counter=Bytes(), window=1)
    with pytest.raises(ValueError, match="one code point takes 4"):
        cut("漢", counter=Bytes(), window=3)
    with pytest.raises(ValueError, match="target must be at least 1"):
        cut("a", target=0)


def test_a_count_that_does_not_add_up_never_exceeds_the_window() -> None:
    text = numbered(500) + "\n\n" + "x" * 400
    counter = Miscounting()

    units = cut(text, title="Some title", counter=counter, window=15, target=12)

    assert_sound(units, text, counter=counter, window=15)


def test_a_word_the_tokenizer_does_not_know_is_still_cut_into_passages() -> None:
    """WordPiece makes one unknown token of any word above 100 characters."""
    units = cut("x" * 10_000, counter=minilm(), window=WINDOW, target=220)

    assert max(len(unit.text) for unit in units) <= 220 * 5 // 4 * 16
    assert_sound(units, "x" * 10_000, counter=minilm(), window=WINDOW)


def test_a_text_longer_than_one_tokenizer_call_is_measured_whole() -> None:
    text = "".join(f"Sentence number {number} has words.\n" for number in range(6000))

    units = cut(text, counter=minilm(), window=WINDOW, target=220)

    assert min(unit.tokens for unit in units) > 180
    assert_sound(units, text, counter=minilm(), window=WINDOW)


def test_the_chunker_is_named_with_the_versions_that_decide_cuts() -> None:
    """R10: the chunker is in the recipe."""
    assert "markdown-it-py 4." in chunker_name()
    assert "unicode-segmentation-rs 1." in chunker_name()


_TEXT = st.characters(codec="utf-8", exclude_characters="\0")
_PIECES = (
    *("# A\n", "## B\n", "C\n===\n", "- item\n", "  - nested\n", "1. one\n", "> quote\n", "```\n", "    code\n"),
    *("|a|b|\n|-|-|\n", "|1|2|\n", "\n", "\r\n", "\r", "\n\n", "\t", "\f", "\u2028", " ", "***\n", "<div>\n"),
    *("Words in a sentence. ", "漢字かな。", "한국어 ", "e\u0301\u0301", "🔥", "x" * 120, "a_b-c/d" * 9),
)
_MARKDOWN = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(alphabet=_TEXT, max_size=20)), max_size=30).map(
    "".join
)


@settings(deadline=None)
@given(
    text=_MARKDOWN,
    title=st.text(alphabet=_TEXT, max_size=40),
    counter=st.sampled_from([minilm(), Words(), Bytes(), Miscounting()]),
    window=st.integers(min_value=16, max_value=64),
    target=st.integers(min_value=1, max_value=70),
    data=st.data(),
)
def test_units_are_sound_whatever_the_text(
    text: str, title: str, counter: TokenCounter, window: int, target: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(min_value=0, max_value=len(text)))
    quote = text[start : start + data.draw(st.integers(min_value=0, max_value=12))]
    quotes = [quote] if counter.special_tokens + counter.count(quote) <= window else []

    units = cut(text, title=title, quotes=quotes, counter=counter, window=window, target=target)

    assert_sound(units, text, counter=counter, window=window)
    cuts = {unit.end for unit in units[:-1]}
    for held in quotes:
        first = text.index(held)
        assert not cuts & set(range(first + 1, first + len(held)))
    assert units == cut(text, title=title, quotes=quotes, counter=counter, window=window, target=target)


_HUGE = {
    "one word": "x" * 1_000_000,
    "no spaces": "漢字、" * 100_000,
    "one line": "The quick brown fox jumps. " * 370_000,
    "headings": "".join(f"# A{number}\n" for number in range(100_000)),
    "sections": "".join(f"# A{number}\n\ntext\n\n" for number in range(20_000)),
    "nested lists": "".join("  " * depth + "- item\n" for depth in range(600)),
    "nested quotes": (">" * 500 + " a b c d\n") * 500,
    "list": "- item one\n" * 30_000,
    "table": "|a|b|\n|-|-|\n" + "|cell c|d|\n" * 30_000,
    "wide table": "|" + "a|" * 10_000 + "\n|" + "-|" * 10_000 + "\n" + ("|" + "c|" * 10_000 + "\n") * 5,
    "references": "[a]: http://x\n" * 30_000,
    "spaces": " " * 1_000_000,
    "blank lines": "word\n" + "\n" * 1_000_000,
    "zero-width": "a" + "\u200b" * 1_000_000,
    "marks": "e" + "\u0301" * 1_000_000,
}


@pytest.mark.soak
@pytest.mark.parametrize("name", _HUGE)
def test_huge_and_odd_texts_are_cut_in_linear_time(name: str) -> None:
    text = _HUGE[name]

    units = cut(text, title="A title", counter=minilm(), window=WINDOW, target=220)

    assert "".join(unit.text for unit in units) == text
    assert max(unit.tokens for unit in units) <= WINDOW


@pytest.mark.parametrize("name", ["one word", "nested lists", "nested quotes", "spaces", "wide table"])
def test_odd_texts_are_cut(name: str) -> None:
    text = _HUGE[name][:50_000]

    assert_sound(cut(text, title="A", counter=Words(), window=60, target=40), text, counter=Words(), window=60)


@pytest.mark.real_data
@pytest.mark.parametrize(("data_set", "every"), [("peps", 20), ("rfc_index", 40), ("scifact", 100), ("nfcorpus", 100)])
def test_real_documents_are_tiled_within_the_window(data_set: str, every: int) -> None:
    with (data_folder() / data_set / "corpus.jsonl").open(encoding="utf-8") as lines:
        records = [json.loads(line) for at, line in enumerate(lines) if at % every == 0]

    for record in records:
        text = record["text"]
        units = cut(text, title=record["title"], counter=minilm(), window=WINDOW, target=220)
        assert_sound(units, text, counter=minilm(), window=WINDOW)
        assert not any(unit.text.isspace() for unit in units) or text.isspace()
