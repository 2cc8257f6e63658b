"""Which characters are escaped (R26), and that nothing is lost by it."""

import itertools
import json
import re
import sys
import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evidence.escape import ESCAPED, escape_strings
from tests.hostile import HOSTILE_TEXTS

SURROGATES = range(0xD800, 0xE000)
LISTED = frozenset(point for first, last in ESCAPED for point in range(first, last + 1))
CONTROL = frozenset('"\\<>[]|&')

# Assigned after the Unicode version of the oldest Python we run on, or reserved for more tags.
LATER = frozenset(range(0x13439, 0x13440))
RESERVED_TAGS = frozenset([0xE0000, *range(0xE0002, 0xE0020)])
FORMS = frozenset(map(ord, "﹇﹈﹠﹤﹥﹨＂＆＜＞［＼］｜"))  # those that are listed for their NFKC form alone


def escaped(text: str) -> str:
    """`text` as it stands between the quotes of a JSON string."""
    return escape_strings(json.dumps(text, ensure_ascii=False))[1:-1]


def test_the_table_is_ascending_and_its_ranges_do_not_touch() -> None:
    edges = [edge for pair in ESCAPED for edge in pair]

    assert edges == sorted(edges)
    assert all(after[0] > before[1] + 1 for before, after in itertools.pairwise(ESCAPED))


def test_the_table_is_the_set_that_unicodedata_gives() -> None:
    """By definition, character by character, in the Unicode version of this Python."""
    computed = {
        point
        for point in range(sys.maxunicode + 1)
        if point not in SURROGATES
        and (
            chr(point) in "<["
            or unicodedata.category(chr(point)) in ("Cc", "Cf")
            or "VARIATION SELECTOR" in unicodedata.name(chr(point), "")
            or (point > 0x7F and CONTROL & set(unicodedata.normalize("NFKC", chr(point))))
        )
    }
    unassigned = {point for point in LATER if unicodedata.category(chr(point)) == "Cn"}

    assert computed == LISTED - unassigned - RESERVED_TAGS


def test_the_table_holds_what_a_newer_unicode_calls_a_format_or_a_variation_selector() -> None:
    """By another implementation, with its own and newer Unicode data."""
    pattern = regex.compile(r"[\p{Cc}\p{Cf}\p{Variation_Selector}\p{Block=Tags}]")
    found = {point for point in range(sys.maxunicode + 1) if point not in SURROGATES and pattern.match(chr(point))}

    assert found == LISTED - FORMS - set(map(ord, "<["))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("<", "\\u003c"),
        ("[", "\\u005b"),
        ("\x7f", "\\u007f"),
        ("\x85", "\\u0085"),
        ("\u00ad", "\\u00ad"),
        ("\u200b", "\\u200b"),
        ("\u202e", "\\u202e"),
        ("\ufeff", "\\ufeff"),
        ("\ufe0f", "\\ufe0f"),
        ("｜", "\\uff5c"),
        ("＜", "\\uff1c"),
        ("﹛", "﹛"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("\U000e0100", "\\udb40\\udd00"),
        ("\U0001d173", "\\ud834\\udd73"),
        ("\U000110bd", "\\ud804\\udcbd"),
    ],
)
def test_a_listed_character_is_written_lower_case_and_above_ffff_as_a_pair(text: str, written: str) -> None:
    assert escaped(text) == written


@pytest.mark.parametrize("text", [">", "]", "|", "&", "{", "}", "é", "\u00a0", "漢", "😀", "\u3000", "ﬁ", "≮"])
def test_every_other_character_stands_raw(text: str) -> None:
    """The set is exact: U+226E has `<` in its NFKD form, and itself as its NFKC form."""
    assert escaped(text) == text


@pytest.mark.parametrize("text", ["\n", "\t", "\x00", "\x1b", '"', "\\"])
def test_an_escape_that_is_there_already_stays(text: str) -> None:
    assert escaped(text) == json.dumps(text)[1:-1]


@pytest.mark.parametrize("character", [chr(point) for point in range(128)])
def test_a_text_of_ascii_is_written_as_one_beside_other_characters(character: str) -> None:
    assert escaped(character) + "é" == escaped(character + "é")


def test_what_stands_outside_strings_stays() -> None:
    assert escape_strings('{"a":[[],["[",true,null,-1]],"[":"<"}') == (
        '{"a":[[],["\\u005b",true,null,-1]],"\\u005b":"\\u003c"}'
    )


def test_quotes_and_backslashes_do_not_confuse_where_a_string_ends() -> None:
    hostile = ['"[', "\\[", '\\"[', "\\\\[", '","[', "[\\"]

    written = escape_strings(json.dumps(hostile, ensure_ascii=False))
    assert written.count("[") == 1
    assert json.loads(written) == hostile


def test_a_combining_variation_selector_is_escaped_and_its_base_stays() -> None:
    assert escaped("☎\ufe0f") == "☎\\ufe0f"


@given(st.text())
def test_a_json_parser_gives_the_text_back_and_no_listed_character_is_left(text: str) -> None:
    assert json.loads(f'"{escaped(text)}"') == text
    assert LISTED.isdisjoint(map(ord, escaped(text)))


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_delimiter_or_control_token_is_left_in_a_hostile_text(text: str) -> None:
    """R26: after NFKC as well, which a tokenizer or a template may apply."""
    written = unicodedata.normalize("NFKC", escaped(text))

    assert json.loads(f'"{escaped(text)}"') == text
    assert not re.search(r"[<\[]", written)
