"""Tests of `server/parsing.py`: one refusal, in words that say what to do."""

import pytest

from server.errors import Invalid
from server.parsing import parse
from server.schemas import FilterBody, PacketRequest, SearchRequest
from server.url_query import PublicQuery


def refusal(body: object) -> tuple[str | None, str]:
    with pytest.raises(Invalid) as refused:
        parse(body, PacketRequest)
    return refused.value.path, refused.value.detail


def test_a_field_that_is_missing_is_required() -> None:
    assert refusal({}) == ("$.query", "is required")
    assert refusal({"query": "a", "requirements": [{"match": {"claim": "x"}}]}) == (
        "$.requirements[0].role",
        "is required",
    )


def test_an_unknown_field_is_answered_with_those_that_may_stand_in_its_place() -> None:
    with pytest.raises(Invalid, match=r"\$\.limit: unknown field; allowed: query, channel, rerank, .*, fusion, k$"):
        parse({"query": "a", "limit": 3}, SearchRequest)
    assert refusal({"query": "a", "budget": {"bytes": 1}}) == (
        "$.budget.bytes",
        "unknown field; allowed: max_bytes, max_tokens, tokenizer, window, reserved_output_tokens",
    )


def test_the_fields_of_an_object_in_a_list_are_found_too() -> None:
    turn = {"role": "user", "content": "x", "name": "ann"}

    assert refusal({"query": "a", "conversation": [turn]}) == (
        "$.conversation[0].name",
        "unknown field; allowed: role, content",
    )


def test_an_unknown_field_of_a_filter_is_answered_with_the_fields_of_filters() -> None:
    allowed = ", ".join(FilterBody.model_fields)

    assert refusal({"query": "a", "filter": {"tenant": ["red"]}}) == (
        "$.filter.tenant",
        f"unknown field; allowed: {allowed}",
    )


def test_an_unknown_parameter_of_a_url_is_answered_alike() -> None:
    with pytest.raises(Invalid, match=r"\$\.relabel: unknown field; allowed: public"):
        parse({"relabel": "true"}, PublicQuery)


def test_other_problems_are_worded_as_before() -> None:
    assert refusal({"query": "a", "k": 0}) == ("$.k", "Input should be greater than or equal to 1")
