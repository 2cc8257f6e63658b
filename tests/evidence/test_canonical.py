"""Canonical bytes and digests (R31)."""

import hashlib
import json
from decimal import Decimal

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.canonical import Json, canonical, digest, digest_text
from evidence.errors import NotCanonical

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
integers = st.integers(-(2**53) + 1, 2**53 - 1)
values = st.recursive(
    st.none() | st.booleans() | integers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def test_keys_are_sorted_by_utf_16_code_units_and_nothing_is_put_between() -> None:
    """RFC 8785, section 3.2.3: U+1F600 is written with surrogates, which come before U+FB33."""
    assert canonical({"\ufb33": 1, "\U0001f600": 2, "b": [True, None], "a": "é"}) == (
        '{"a":"é","b":[true,null],"\U0001f600":2,"\ufb33":1}'.encode()
    )


def test_only_what_json_must_escape_is_escaped() -> None:
    assert canonical('"\\/\b\f\n\r\t\x00\x1f\x7f<') == b'"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f<"'


@settings(max_examples=200)
@given(values)
def test_the_bytes_are_those_of_the_reference(value: Json) -> None:
    """The package rfc8785: here the standard library writes what it would write in the same way, only sooner."""
    assert canonical(value) == rfc8785.dumps(value)


@settings(max_examples=60)
@given(values)
def test_a_json_parser_gives_the_value_back(value: Json) -> None:
    assert json.loads(canonical(value)) == value


@settings(max_examples=40)
@given(st.dictionaries(texts, values, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_a_mapping_does_not_change_a_byte(value: dict[str, Json], random: object) -> None:
    keys = list(value)
    random.shuffle(keys)  # type: ignore[attr-defined] # hypothesis gives a random.Random

    assert canonical({key: value[key] for key in keys}) == canonical(value)


@pytest.mark.parametrize("value", [0.5, 1.0, [0.0], {"a": {"b": (1, 2.5)}}, float("nan"), Decimal("0.5")])
def test_a_float_or_a_decimal_has_no_canonical_form_anywhere(value: object) -> None:
    with pytest.raises(NotCanonical):
        canonical(value)  # type: ignore[arg-type] # the type forbids it too


@pytest.mark.parametrize("value", [2**53, -(2**53), [2**64]])
def test_an_integer_of_2_to_the_53_has_no_canonical_form(value: Json) -> None:
    with pytest.raises(NotCanonical):
        canonical(value)


def test_the_largest_integers_have_one() -> None:
    assert canonical([2**53 - 1, -(2**53) + 1]) == b"[9007199254740991,-9007199254740991]"


@pytest.mark.parametrize("value", ["\ud800", ["a\udfff"], {"\ud83d": 1}, {"a": "\ude00"}])
def test_a_lone_surrogate_has_no_canonical_form(value: Json) -> None:
    with pytest.raises(NotCanonical):
        canonical(value)


def test_a_digest_names_its_function_and_is_over_the_canonical_bytes() -> None:
    assert digest({"b": 1, "a": 2}) == "sha256:" + hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert digest_text("é") == "sha256:" + hashlib.sha256(b"\xc3\xa9").hexdigest()
