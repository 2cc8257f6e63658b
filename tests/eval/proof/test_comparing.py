"""Tests of finding where two responses part."""

import json
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from eval.proof.comparing import SHOWN_CHARACTERS, Difference, first_difference
from server.in_process import HttpResponse

DIGEST, OTHER_DIGEST = f"sha256:{'0' * 64}", f"sha256:{'1' * 64}"


def response(body: object, *, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})) -> HttpResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"content-type": "application/json", **headers, "content-length": str(len(data))}
    return HttpResponse(
        status=status, headers=tuple((name.encode(), value.encode()) for name, value in named.items()), body=data
    )


def parting(one: object, other: object) -> tuple[str, str, str] | None:
    """Path and both values for two bodies."""
    found = first_difference(response(one), response(other))
    return None if found is None else (found.path, found.one, found.other)


def test_equal_responses_have_no_difference() -> None:
    assert (
        first_difference(response({"a": [1]}, headers={"etag": "x"}), response({"a": [1]}, headers={"etag": "x"}))
        is None
    )


def test_the_moment_and_the_id_of_an_exchange_are_no_difference() -> None:
    """R6."""
    one, other = (response({}, headers={"date": text, "x-request-id": text}) for text in ("one", "other"))

    assert first_difference(one, other) is None


def test_the_status_comes_before_everything_else() -> None:
    found = first_difference(response({"a": 1}, status=404), response({"b": 2}, status=403))

    assert found == Difference(path="status", one="404", other="403")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 5, "c": 6}, ("$.b", "2", "5")),
        ({"a": [{"b": [1, 2]}]}, {"a": [{"b": [1, 3]}]}, ("$.a[0].b[1]", "2", "3")),
        ({"a": [1]}, {"a": [1, 2]}, ("$.a[1]", "(absent)", "2")),
        ({"a": [1, 2]}, {"a": [1]}, ("$.a[1]", "2", "(absent)")),
        ({"a": None}, {}, ("$.a", "null", "(absent)")),
        ({}, {"a": 1}, ("$.a", "(absent)", "1")),
        ({"a b": 1}, {"a b": 2}, ('$["a b"]', "1", "2")),
        ({"a": 1}, {"a": True}, ("$.a", "1", "true")),
        ({"a": 1}, {"a": 1.0}, ("$.a", "1", "1.0")),
        ({"a": []}, {"a": {}}, ("$.a", "[]", "{}")),
        ([1], [2], ("$[0]", "1", "2")),
    ],
)
def test_the_first_field_that_differs_is_named_by_its_path(
    one: object, other: object, expected: tuple[str, str, str]
) -> None:
    assert parting(one, other) == expected


def test_a_field_that_is_no_digest_says_more_than_a_digest_in_front_of_it() -> None:
    one, other = ({"id": digest, "hits": [{"score": score}]} for digest, score in ((DIGEST, 1), (OTHER_DIGEST, 2)))

    assert parting(one, other) == ("$.hits[0].score", "1", "2")


def test_of_digests_alone_the_id_of_the_packet_says_least() -> None:
    one, other = ({"packet_id": digest, "catalog_version": digest} for digest in (DIGEST, OTHER_DIGEST))

    assert parting(one, other) == ("$.catalog_version", json.dumps(DIGEST), json.dumps(OTHER_DIGEST))
    assert parting({"packet_id": DIGEST}, {"packet_id": OTHER_DIGEST}) == (
        "$.packet_id",
        json.dumps(DIGEST),
        json.dumps(OTHER_DIGEST),
    )


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        (b'{"a": 1, "b": 2}', b'{"b": 2, "a": 1}', "byte 2"),
        (b'{"a": 1}', b'{"a":  1}', "byte 6"),
        (b'{"a": 1.0}', b'{"a": 1.00}', "byte 9"),
        (b"\xff\x00", b"\xff\x01", "byte 1"),
        (b"not json", b"not jsonl", "byte 8"),
    ],
)
def test_bodies_that_hold_the_same_values_or_no_json_differ_at_a_byte(one: bytes, other: bytes, path: str) -> None:
    found = parting(one, other)

    assert found is not None
    assert found[0] == path


def test_a_long_value_is_shown_around_the_place_where_it_parts() -> None:
    found = parting({"a": "x" * 500 + "one" + "y" * 500}, {"a": "x" * 500 + "two" + "y" * 500})

    assert found is not None
    assert found[0] == "$.a"
    for shown, word in zip(found[1:], ("one", "two"), strict=True):
        assert len(shown) <= SHOWN_CHARACTERS
        assert word in shown
        assert shown[0] == shown[-1] == "…"


def test_what_is_shown_can_do_nothing_to_a_terminal() -> None:
    found = parting({"a": "\x1b[2J\n\u202e"}, {"a": "\x07"})

    assert found is not None
    assert all(shown.isprintable() and shown.isascii() for shown in found[1:])


def test_a_header_that_differs_is_named_and_the_length_comes_last() -> None:
    one, other = response({"a": 1}, headers={"etag": "one"}), response({"a": 1}, headers={"etag": "two"})

    assert first_difference(one, other) == Difference(path="header etag", one='"one"', other='"two"')
    assert first_difference(response({}), response({}, headers={"etag": "two"})) == Difference(
        path="header etag", one="(absent)", other='"two"'
    )


def test_the_order_of_headers_and_a_repeated_one_are_differences() -> None:
    plain = response({}, headers={"a": "1", "b": "2"})
    turned = HttpResponse(status=200, headers=(plain.headers[1], plain.headers[0], *plain.headers[2:]), body=plain.body)
    doubled = HttpResponse(status=200, headers=(*plain.headers, (b"a", b"1")), body=plain.body)

    for other, path in ((turned, "order of headers"), (doubled, "header a")):
        found = first_difference(plain, other)
        assert found is not None
        assert found.path == path
