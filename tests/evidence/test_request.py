"""A normalized request, and its record in the manifest."""

import pytest

from evidence.budget import Budget
from evidence.eligibility import Filter
from evidence.errors import InvalidRequest
from tests.builders import claim, eligibility, family, instant, principal, request, requires


def test_a_role_is_named_once() -> None:
    with pytest.raises(InvalidRequest) as caught:
        request(requirements=[requires("limit", claim("max")), requires("limit", family("policy"))])

    assert caught.value.path == "$.requirements"


def test_the_record_holds_every_field_of_the_request_and_the_scope_only_elsewhere() -> None:
    asked = eligibility(
        principal(purposes=["audit"], roles=["legal"]),
        purpose="audit",
        as_of=instant("2025-01-01"),
        subject="k2",
        only=Filter(family=("policy",)),
    )
    asked_for = request(
        query="how large?",
        requirements=[requires("limit", claim("max", "25"))],
        budget=Budget(max_bytes=900),
        tokenizer="words",
    )

    assert asked_for.record(asked) == {
        "query": "how large?",
        "use": "current",
        "as_of": "2025-01-01T00:00:00Z",
        "purpose": "audit",
        "subject": "k2",
        "filter": {"family": ("policy",)},
        "k": 8,
        "strategy": "narrow",
        "source_id": None,
        "public": False,
        "search": {"channel": "hybrid", "rerank": False},
        "query_class": "explanatory",
        "requirements": [{"role": "limit", "match": {"claim": "max", "value": "25"}, "mandatory": True}],
        "budget": {
            "max_bytes": 900,
            "max_tokens": None,
            "window": None,
            "reserved_output_tokens": 0,
            "tokenizer": "words",
        },
        "on_overflow": "refuse",
        "adapter": "json",
        "model": None,
        "conversation": [],
        "tool_results": [],
        "catalog_version": None,
    }
