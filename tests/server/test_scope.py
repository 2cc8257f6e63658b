"""Tests of `server/scope.py`."""

import pytest

from evidence.access import Principal
from evidence.identity import Namespace
from server.errors import Forbidden, Unauthenticated
from server.scope import InvalidPrincipal, principal_of_claims, principal_of_record, require, scope_for

BLUE = Principal(sub="ann", tenant=Namespace("blue"), purposes=("audit",))


def test_a_missing_tenant_is_an_error_and_null_is_public_only() -> None:
    with pytest.raises(InvalidPrincipal, match="tenant is required"):
        principal_of_record({"sub": "ann"})
    assert principal_of_record({"sub": "ann", "tenant": None}).tenant is None


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {"sub": "", "tenant": "blue"},
        {"sub": 7, "tenant": "blue"},
        {"sub": "ann", "tenant": "public"},
        {"sub": "ann", "tenant": ""},
        {"sub": "ann", "tenant": 7},
        {"sub": "ann", "tenant": "blue", "roles": "admin"},
        {"sub": "ann", "tenant": "blue", "roles": [""]},
        {"sub": "ann", "tenant": "blue", "roles": [1]},
        {"sub": "ann", "tenant": "blue", "scope": ["everything"]},
        {"sub": "ann", "tenant": "blue", "group": ["a"]},
    ],
    ids=str,
)
def test_a_record_that_names_no_principal_is_refused(record: object) -> None:
    """R3: nothing unreadable becomes wide."""
    with pytest.raises(InvalidPrincipal):
        principal_of_record(record)


def test_lists_are_sorted_and_without_repeats_so_that_equal_grants_are_equal() -> None:
    one = principal_of_record({"sub": "ann", "tenant": "blue", "roles": ["b", "a", "b"]})
    other = principal_of_record({"sub": "ann", "tenant": "blue", "roles": ["a", "b"]})

    assert one == other


def test_scope_is_search_where_a_principal_file_leaves_it_out_and_nothing_where_a_token_does() -> None:
    assert principal_of_record({"sub": "ann", "tenant": None}).scope == ("search",)
    assert principal_of_claims({"sub": "ann", "tenant": None}).scope == ()


def test_claims_that_name_no_principal_are_no_credentials() -> None:
    with pytest.raises(Unauthenticated):
        principal_of_claims({"sub": "ann", "scope": "search"})
    with pytest.raises(Unauthenticated):
        principal_of_claims({"sub": "ann", "tenant": "blue", "scope": ["search"]})


def test_a_purpose_that_was_not_granted_is_refused() -> None:
    """R1."""
    assert scope_for(BLUE, purpose="audit").purpose == "audit"
    assert scope_for(BLUE, purpose=None).purpose is None
    with pytest.raises(Forbidden):
        scope_for(BLUE, purpose="sales")


def test_a_scope_that_was_not_granted_is_refused() -> None:
    require(BLUE, granted="search")

    with pytest.raises(Forbidden):
        require(BLUE, granted="ingest")
