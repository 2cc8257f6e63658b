"""Tests of `server/schemas.py`."""

from fractions import Fraction

import pytest

from server.errors import Invalid
from server.parsing import parse
from server.schemas import MAX_HANDLES, PacketRequest, SearchRequest


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], "$"),
        ({}, "$.query"),
        ({"query": ""}, "$.query"),
        ({"query": 7}, "$.query"),
        ({"query": "a\x00b"}, "$.query"),
        ({"query": "a", "limit": 3}, "$.limit"),
        ({"query": "a", "k": 0}, "$.k"),
        ({"query": "a", "k": "3"}, "$.k"),
        ({"query": "a", "k": 2.0}, "$.k"),
        ({"query": "a", "k": True}, "$.k"),
        ({"query": "a", "k": 20, "fusion": {"depth": 10}}, "$"),
        ({"query": "a", "channel": "both"}, "$.channel"),
        ({"query": "a", "use": "all"}, "$.use"),
        ({"query": "a", "rerank": 1}, "$.rerank"),
        ({"query": "a", "as_of": "2025-01-01"}, "$.as_of"),
        ({"query": "a", "as_of": 5}, "$.as_of"),
        ({"query": "a", "filter": {"tenant": ["red"]}}, "$.filter.tenant"),
        ({"query": "a", "filter": {"family": "x"}}, "$.filter.family"),
        ({"query": "a", "filter": {"metadata": {"product": "x"}}}, "$.filter.metadata.product"),
        ({"query": "a", "fusion": {"dense_weight": 1.5}}, "$.fusion.dense_weight"),
        ({"query": "a", "fusion": {"method": "rrf", "dense_weight": 0.5}}, "$.fusion"),
        ({"query": "a", "fusion": {"rrf_k": 60}}, "$.fusion"),
        ({"query": "a", "tenant": "red"}, "$.tenant"),
    ],
    ids=str,
)
def test_a_search_outside_the_schema_is_refused_at_its_path(body: object, path: str) -> None:
    """R3: an unknown filter field is an error, never "everything"."""
    with pytest.raises(Invalid) as refused:
        parse(body, SearchRequest)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"strategy": "everything"}, "$.strategy"),
        ({"adapter": "xml"}, "$.adapter"),
        ({"conversation": ["x"]}, "$.conversation[0]"),
        ({"conversation": [{"role": "system", "content": "x"}]}, "$.conversation[0].role"),
        ({"tool_results": ["x"]}, "$.tool_results[0]"),
        ({"tool_results": [{"tool": "t", "columns": ["a"], "rows": [["x", "y"]]}]}, "$.tool_results[0]"),
        ({"tool_results": [{"tool": "t", "columns": ["a", "a"], "rows": []}]}, "$.tool_results[0]"),
        ({"strategy": "document"}, "$"),
        ({"source_id": "A"}, "$"),
        ({"public": True}, "$"),
        ({"on_overflow": "cut"}, "$.on_overflow"),
        ({"budget": {"max_bytes": -1}}, "$.budget.max_bytes"),
        ({"budget": {"max_bytes": 2**53}}, "$.budget.max_bytes"),
        ({"requirements": [{"role": "a", "match": {}}]}, "$.requirements[0].match"),
        ({"requirements": [{"role": "a", "match": {"claim": "x", "family": "y"}}]}, "$.requirements[0].match"),
        ({"requirements": [{"role": "a", "match": {"family": "y", "value": "1"}}]}, "$.requirements[0].match"),
        ({"requirements": [{"role": "", "match": {"claim": "x"}}]}, "$.requirements[0].role"),
        ({"requirements": [{"role": "a", "match": {"claim": "x"}}] * 2}, "$"),
        ({"k": 300}, "$"),
    ],
    ids=str,
)
def test_a_packet_request_outside_the_schema_is_refused_at_its_path(fields: dict[str, object], path: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse({"query": "a", **fields}, PacketRequest)
    assert refused.value.path == path


def test_no_message_repeats_what_was_sent() -> None:
    with pytest.raises(Invalid) as refused:
        parse({"query": "a", "channel": "SECRET-CANARY"}, SearchRequest)
    assert "SECRET-CANARY" not in str(refused.value)


def test_the_dense_weight_is_exactly_its_decimal() -> None:
    """R12: 0.3 means three tenths, not the nearest binary fraction."""
    request = parse({"query": "a", "fusion": {"dense_weight": 0.3}}, SearchRequest)

    assert request.fusion.weight == Fraction(3, 10)
    assert request.fusion.normalized()["dense_weight"] == "3/10"


def test_equal_moments_normalize_to_equal_text() -> None:
    east = parse({"query": "a", "as_of": "2025-03-01T01:00:00+01:00"}, SearchRequest)
    west = parse({"query": "a", "as_of": "2025-03-01T00:00:00Z"}, SearchRequest)

    assert east == west


def test_a_conversation_holds_at_most_so_many_different_handles() -> None:
    """Each of them is looked up again in the authority, so that a body of made-up ones must cost next to nothing."""
    handles = [f"EV-{number:016d}" for number in range(MAX_HANDLES + 1)]

    def asked(held: list[str]) -> PacketRequest:
        middle = len(held) // 2
        turns = [{"role": "user", "content": " ".join(part)} for part in (held[:middle], held[middle:], held[:1])]
        return parse({"query": "a", "conversation": turns}, PacketRequest)

    assert len(asked(handles[:-1]).conversation) == 3
    with pytest.raises(Invalid) as refused:
        asked(handles)
    assert refused.value.path == "$.conversation"
    assert refused.value.detail == "holds 257 different citation handles, at most 256 are allowed"
