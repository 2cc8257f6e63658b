"""What does front matter state, and on which lines?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.front_matter import FrontMatter, split_front_matter
from server.source_place import SourceFileError


def fields(head: str) -> object:
    return split_front_matter(f"---\n{head}\n---\n", file="a.md").fields


def refused(text: str) -> str:
    with pytest.raises(SourceFileError) as caught:
        split_front_matter(text, file="a.md")
    return str(caught.value)


def test_text_without_front_matter_is_all_body() -> None:
    for text in ("", "# Head\n---\n", "----\na\n", "text\n---\na: b\n---\n", " ---\na: b\n---\n"):
        assert split_front_matter(text, file="a.md") == FrontMatter(fields={}, lines={}, body=text, body_line=1)


def test_the_body_begins_after_the_closing_line_whatever_line_ends_it_has() -> None:
    for text in ("---\na: b\n---\nbody\n", "---\r\na: b\r\n---\r\nbody\n", "--- \na: b\n...\nbody\n"):
        matter = split_front_matter(text, file="a.md")
        assert (matter.fields, matter.body, matter.body_line) == ({"a": "b"}, "body\n", 4)


def test_empty_front_matter_states_nothing() -> None:
    for text in ("---\n---\nbody", "---\n# a comment\n---\nbody", "---\nnull\n---\nbody"):
        matter = split_front_matter(text, file="a.md")
        assert (matter.fields, matter.body) == ({}, "body")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2025-03-01T00:00:00Z", "2025-03-01T00:00:00Z"),
        ("2025-03-01", "2025-03-01"),
        ("12:30", "12:30"),
        ("no", "no"),
        ("0x1F", "0x1F"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("7", 7),
        ("-7", -7),
        ("'7'", "7"),
        ('"true"', "true"),
        ("true", True),
        ("~", None),
        ("", None),
        ("1.10", 1.1),
        ("[a, 1, {b: c}]", ["a", 1, {"b": "c"}]),
        ("|\n  two\n  lines", "two\nlines\n"),
        (".inf", ".inf"),
        ("<<", "<<"),
    ],
)
def test_a_plain_scalar_is_a_json_value_or_its_own_text(written: str, value: object) -> None:
    """YAML 1.1 would make of these a date, minutes, false, 31, 8 and 1000."""
    assert fields(f"a: {written}") == {"a": value}


def test_each_path_has_its_line() -> None:
    text = "---\na: 1\nb:\n  - x\n  - c: 2\n---\n"

    lines = split_front_matter(text, file="a.md").lines
    assert lines == {"$.a": 2, "$.b": 3, "$.b[0]": 4, "$.b[1]": 5, "$.b[1].c": 5}


@pytest.mark.parametrize(
    ("head", "error"),
    [
        ("a: 1\na: 2", "a.md:3: $.a: duplicate key"),
        ("a:\n  b: 1\n  b: 2", "a.md:4: $.a.b: duplicate key"),
        ("a: &x 1\nb: *x", "a.md:3: $: front matter has no aliases"),
        ("a: !!python/object/apply:os.system [id]", "a.md:2: $: front matter has no tags"),
        ("a: !!str 1", "a.md:2: $: front matter has no tags"),
        ("? [a, b]\n: c", "a.md:2: $: a key must be a string"),
        ("just text", "a.md:2: $: front matter is an object of fields"),
        ("a: b: c", "a.md:2: $: front matter is not YAML"),
        ("a: \x07", "a.md:1: $: front matter holds a character that YAML does not allow"),
        ("a: " + "[" * 1000, "a.md:2: $: nested deeper than 64"),
        ("a: " + "x" * 70_000, "a.md:1: $: front matter of 70004 characters, at most 65536"),
    ],
)
def test_what_front_matter_may_not_hold_is_refused_with_its_line(head: str, error: str) -> None:
    assert refused(f"---\n{head}\n---\nbody") == error


@settings(deadline=None)  # the machine's load is no property of the code
@given(st.text(st.sampled_from("-a:[]{}&*!|>'\"#%@`,? \n\t0.~\x00é"), max_size=40))
def test_any_text_is_read_or_refused(head: str) -> None:
    try:
        body = split_front_matter(f"---\n{head}\n---\nbody", file="a.md").body
    except SourceFileError:
        body = "body"

    assert body.endswith("body")
