"""Tests of index/analysis.py: which terms a text gives (R9, R10)."""

import hashlib
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis import Analyzer

PLAIN = Analyzer(language=None)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        # the standard's own example, UAX #29 section 4
        ("The quick (“brown”) fox can’t jump 32.3 feet, right?", "the quick brown fox can't jump 32.3 feet right"),
        ("don't 3.14 1,000 foo_bar a.b U.S.A. 12km", "don't 3.14 1,000 foo_bar a.b u.s.a 12km"),
        ("C++ e-mail #tag @me http://a.b/c --- $5 & ☃ 🔥", "c e mail tag me http a.b c 5"),
        ("line one\r\nline\ttwo\fthree\u2028four", "line one line two three four"),
        ("", ""),
        (" \n.,;_", ""),
        ("\u0390 \u01f0", "\u0390 \u01f0"),  # folding decomposes these letters
        ("a  \u0e31", "a \u0e31"),  # a Thai vowel sign on nothing
    ],
)
def test_words_are_those_of_uax_29_that_hold_a_letter_or_digit(text: str, terms: str) -> None:
    assert PLAIN.terms(text) == terms.split()


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("ﬁne", "fine"),  # ligature
        ("Straße", "STRASSE"),
        ("cafe\u0301", "CAFÉ"),
        ("２０２５", "2025"),  # full-width digits
        ("ｶﾞｲﾄﾞ", "ガイド"),  # half-width katakana
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),  # final sigma
        ("don’t", "don't"),
        ("co\u00adoperate", "cooperate"),  # soft hyphen
        ("葛\U000e0100飾", "葛飾"),  # variation selector
        ("می\u200cخواهم", "میخواهم"),  # zero-width non-joiner
        ("e\u034f\u0301", "é"),  # combining grapheme joiner
    ],
)
def test_ways_to_write_the_same_give_the_same_terms(written: str, other: str) -> None:
    assert PLAIN.terms(written) == PLAIN.terms(other) != []


def test_a_zero_width_space_separates_words() -> None:
    assert PLAIN.terms("one\u200btwo") == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("東京都", "東京 京都"),
        ("コーヒー", "コー ーヒ ヒー"),
        ("日本のカメラ", "日本 本の のカ カメ メラ"),  # one run across scripts
        ("한국어 사전", "한국 국어 사전"),
        ("漢", "漢"),
        ("平成25年", "平成 25 年"),
        ("test한국and字", "test 한국 and 字"),
        ("か\u3099ん\u3099こ", "がん\u3099 ん\u3099こ"),  # a mark stays with its character
        ("\u3164", ""),  # the invisible Hangul filler
    ],
)
def test_runs_of_han_kana_and_hangul_give_overlapping_pairs(text: str, terms: str) -> None:
    assert PLAIN.terms(text) == terms.split()


def test_words_are_stemmed_in_the_chosen_language() -> None:
    assert Analyzer(language="english").terms("Running flies; the dog’s 3.14") == ["run", "fli", "the", "dog", "3.14"]
    assert Analyzer(language="german").terms("Häuser") == ["haus"]
    assert Analyzer(language=None).terms("Running") == ["running"]


def test_an_unknown_language_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(ValueError, match=r"'klingon'.*english.*german.*None"):
        Analyzer(language="klingon")


def test_stop_words_are_kept_unless_asked_for() -> None:
    text = "The limit is not IN it"

    assert Analyzer(language="english").terms(text) == ["the", "limit", "is", "not", "in", "it"]
    assert Analyzer(language="english", stop_words=True).terms(text) == ["limit"]


def test_stop_words_without_an_english_stemmer_are_refused() -> None:
    with pytest.raises(ValueError, match="'german'"):
        Analyzer(language="german", stop_words=True)


def test_names_are_equal_exactly_when_all_settings_are() -> None:
    settings = [("english", False), ("english", True), ("porter", False), ("german", False), (None, False)]

    names = {Analyzer(language=language, stop_words=stop_words).name for language, stop_words in settings}

    assert len(names) == len(settings)
    assert Analyzer().name == Analyzer(language="english", stop_words=False).name


def test_the_name_states_the_unicode_versions_in_force() -> None:
    """R10: the analyzer and its Unicode version are in the recipe."""
    assert f"folding of Unicode {unicodedata.unidata_version}" in PLAIN.name
    assert "words of Unicode 17.0" in PLAIN.name
    # Sidetic letters came with Unicode 17.0: an older segmentation gives each as a word
    assert PLAIN.terms("\U00010940\U00010941") == ["\U00010940\U00010941"]


def test_a_term_of_256_code_points_is_kept_and_a_longer_one_becomes_its_digest() -> None:
    digest = "#" + hashlib.sha256(b"x" * 257).hexdigest()[:32]

    assert PLAIN.terms("x" * 256) == ["x" * 256]
    assert PLAIN.terms("X" * 257) == [digest]
    assert Analyzer(language="english").terms("X" * 257) == [digest]
    assert PLAIN.terms("é" * 257)[0].startswith("#")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x" * 1_000_000, 1),
        ("e" + "\u0301\u0327" * 500_000, 1),  # marks that normalization sorts: a quarter of an hour, if left to it
        ("漢" + "\u0301\u0327" * 500_000, 1),
        ("a" + "\u200d" * 1_000_000 + "b", 1),
        ("\u200b".join(["x"] * 10_000), 10_000),
        ("漢" * 300_000, 299_999),
        ("漢a" * 100_000, 200_000),
        (" ".join(f"w{number}q" for number in range(300_000)), 300_000),
    ],
)
def test_no_text_takes_more_than_linear_time(text: str, count: int) -> None:
    assert len(Analyzer().terms(text)) == count


def test_interrupting_endless_marks_changes_no_term_of_ordinary_length() -> None:
    marks = "\u0301" * 40  # all of one class: their order is settled

    assert PLAIN.terms("x" + marks) == ["x" + marks]


def test_one_analyzer_serves_many_threads() -> None:
    analyzer = Analyzer()
    texts = [" ".join(f"running{number} flies generously" for number in range(at, at + 300)) for at in range(64)]
    alone = [analyzer.terms(text) for text in texts]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyzer.terms, texts)) == alone


@given(st.text(), st.text())
def test_lines_are_analyzed_independently(first: str, second: str) -> None:
    assert PLAIN.terms(f"{first}\n{second}") == PLAIN.terms(first) + PLAIN.terms(second)


@given(st.text())
def test_terms_are_never_empty_never_hold_space_and_are_bounded(text: str) -> None:
    for term in PLAIN.terms(text):
        assert term == "".join(term.split())
        assert 0 < len(term) <= 256


@given(st.text())
def test_canonically_equivalent_texts_give_equal_terms(text: str) -> None:
    assert PLAIN.terms(unicodedata.normalize("NFD", text)) == PLAIN.terms(unicodedata.normalize("NFC", text))
