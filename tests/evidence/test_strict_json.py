"""Which bytes are strict JSON, and how is the rest refused?"""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from evidence.strict_json import InvalidJson, has_surrogate, key_path, loads, loads_exactly
from tests.real_data import data_folder

# The implementation-defined cases that are read; every other `i_` file is refused. Both underflow to zero.
READ_AS_ZERO = {"i_number_double_huge_neg_exp.json", "i_number_real_underflow.json"}
DUPLICATE_KEYS = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}


def cases(prefix: str) -> list[Path]:
    return sorted((data_folder() / "json_parsing").glob(f"{prefix}_*.json"))


def is_read(path: Path) -> bool:
    try:
        loads(path.read_bytes())
    except InvalidJson:
        return False
    return True


@pytest.mark.real_data
def test_every_case_that_must_be_refused_is_refused() -> None:
    assert len(cases("n")) == 188
    assert [path.name for path in cases("n") if is_read(path)] == []


@pytest.mark.real_data
def test_every_case_that_must_be_read_is_read_but_the_two_with_duplicate_keys() -> None:
    assert len(cases("y")) == 95
    assert {path.name for path in cases("y") if not is_read(path)} == DUPLICATE_KEYS


@pytest.mark.real_data
def test_what_is_read_equals_what_the_standard_library_reads() -> None:
    for path in cases("y"):
        if path.name not in DUPLICATE_KEYS:
            assert loads(path.read_bytes()) == json.loads(path.read_bytes())


@pytest.mark.real_data
def test_of_the_cases_left_to_the_implementation_only_underflow_is_read() -> None:
    assert len(cases("i")) == 35
    assert {path.name for path in cases("i") if is_read(path)} == READ_AS_ZERO


@pytest.mark.real_data
def test_the_exact_reader_reads_and_refuses_the_same_files_but_keeps_or_refuses_what_underflows() -> None:
    def is_read_exactly(path: Path) -> bool:
        try:
            loads_exactly(path.read_bytes())
        except InvalidJson:
            return False
        return True

    different = {path.name for path in cases("[yni]") if is_read(path) != is_read_exactly(path)}
    assert different == READ_AS_ZERO  # both need more than 400 digits


@pytest.mark.real_data
def test_the_exact_reader_reads_as_the_standard_library_does_with_decimals() -> None:
    for path in cases("y"):
        if path.name not in DUPLICATE_KEYS:
            expected = json.loads(path.read_bytes(), parse_float=Decimal)
            assert repr(loads_exactly(path.read_bytes())) == repr(expected)


def test_a_number_with_a_fraction_or_an_exponent_is_the_decimal_that_was_written() -> None:
    """R24: as doubles these are 0.1, 12345678901234568.0, 1234567890.1234567 and 1500.0."""
    data = b"[0.10, 12345678901234567.5, 1234567890.123456789, 1.5e3, 3]"

    assert repr(loads_exactly(data)) == (
        "[Decimal('0.10'), Decimal('12345678901234567.5'), Decimal('1234567890.123456789'), Decimal('1.5E+3'), 3]"
    )


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        ("1e999", "a number is within the range of a double; use a string"),
        ("0." + "1" * 400, "a number has at most 400 digits, written without an exponent; use a string"),
        ("1e-400", "a number has at most 400 digits, written without an exponent; use a string"),
        ("1." + "0" * 1_000_000, "a number has at most 400 digits, written without an exponent; use a string"),
    ],
)
def test_a_number_too_large_or_too_long_to_be_kept_exactly_is_refused_at_its_place(number: str, problem: str) -> None:
    with pytest.raises(InvalidJson) as caught:
        loads_exactly(f'{{"a": [0, {number}]}}'.encode())
    assert (caught.value.path, caught.value.problem) == ("$.a[1]", problem)


def problem_of(data: bytes) -> tuple[str, str]:
    with pytest.raises(InvalidJson) as caught:
        loads(data)
    assert str(caught.value) == f"{caught.value.path}: {caught.value.problem}"
    return caught.value.path, caught.value.problem


@pytest.mark.parametrize(
    ("data", "path", "problem"),
    [
        (b'{"access": {"tenant": "blue", "tenant": "red"}}', "$.access.tenant", "duplicate key"),
        (b'{"a": {"b": 1, "b": 1}, "a": 2}', "$.a", "duplicate key"),
        (b'[{"k": 1, "x": 1, "x": 2, "k": 3}]', "$[0].x", "duplicate key"),
        (b'{"a b": NaN}', '$["a b"]', "NaN is no JSON value"),
        (b'{"a": [0, Infinity]}', "$.a[1]", "Infinity is no JSON value"),
        (b'{"a": -Infinity}', "$.a", "-Infinity is no JSON value"),
        (b'{"a": 1e999}', "$.a", "a number is within the range of a double; use a string"),
        (b'{"a": 9007199254740992}', "$.a", "an integer is at most 2^53 - 1; use a string"),
        (b'{"a": -9007199254740992}', "$.a", "an integer is at most 2^53 - 1; use a string"),
        (b'{"a": ["\\ud800"]}', "$.a[0]", "a lone surrogate is no character"),
        (b'{"\\uDFFF": 1}', '$["\\udfff"]', "a lone surrogate is no character"),
        (b'"\xff"', "$", "not UTF-8 at byte 2"),
        (b'"\xed\xa0\x80"', "$", "not UTF-8 at byte 2"),
        (b"\xef\xbb\xbf{}", "$", "starts with a byte order mark; send UTF-8 without one"),
        (b"{} {}", "$", "not JSON at character 4: Extra data"),
        (b"", "$", "not JSON at character 1: Expecting value"),
        (b"[" * 65 + b"]" * 65, "$", "nested deeper than 64 at byte 65"),
    ],
)
def test_a_refusal_names_the_place_and_what_is_wrong(data: bytes, path: str, problem: str) -> None:
    assert problem_of(data) == (path, problem)


def test_the_largest_integers_and_the_deepest_nesting_are_read() -> None:
    assert loads(b"[9007199254740991, -9007199254740991, -0]") == [2**53 - 1, 1 - 2**53, 0]
    assert json.dumps(loads(b"[" * 64 + b"]" * 64)) == "[" * 64 + "]" * 64


def test_an_integer_of_a_million_digits_is_refused_not_converted() -> None:
    assert problem_of(b"1" * 1_000_000)[1].startswith("an integer is at most")


def test_brackets_within_strings_are_no_nesting() -> None:
    text = '[{"' * 200 + "\\"

    assert loads(json.dumps({"text": text}).encode()) == {"text": text}


def test_a_surrogate_pair_is_one_character() -> None:
    assert loads(b'"\\ud83d\\ude00"') == "😀"
    assert not has_surrogate("😀")


def test_a_repeated_escaped_key_is_a_duplicate() -> None:
    assert problem_of(b'{"a": 1, "\\u0061": 2}') == ("$.a", "duplicate key")


def test_a_million_unclosed_quotes_or_brackets_or_keys_are_refused() -> None:
    """Work is linear: a scan that begins again at each escaped quote, or a search for the repeated key in a list,
    would not end in this run."""
    many_keys = "{" + ",".join(f'"{number}":0' for number in range(300_000)) + ',"299999":1}'

    assert problem_of(b'"' + b'\\"' * 500_000 + b"[" * 65)[1].startswith("not JSON at character 1")
    assert problem_of(b'["' * 1_000_000)[1] == "nested deeper than 64 at byte 257"  # every other bracket is a string
    assert problem_of(b"[" * 1_000_000)[1] == "nested deeper than 64 at byte 65"
    assert problem_of(b'{"":' * 250_000)[1] == "nested deeper than 64 at byte 257"
    assert problem_of(many_keys.encode()) == ('$["299999"]', "duplicate key")


def test_a_path_is_one_line_of_ascii_whatever_the_key_holds() -> None:
    assert key_path("$", "a\nb\u2028é") == '$["a\\nb\\u2028\\u00e9"]'
    assert key_path("$", "x" * 1000) == '$["' + "x" * 64 + '..."]'
    assert key_path("$", "") == '$[""]'
