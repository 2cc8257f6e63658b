"""Tests of `server/scope.py`."""

import pytest

from evidence.access import Principal
from evidence.grants import Dimension, Grant, Revocations, Subject
from evidence.identity import PUBLIC, Namespace
from server.errors import Forbidden, Unauthenticated
from server.scope import (
    InvalidPrincipal,
    own_namespace,
    principal_of_claims,
    principal_of_record,
    require,
    scope_for,
    still_granted,
    writable_namespace,
)

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


def test_the_id_of_a_token_comes_along_where_it_has_one() -> None:
    claims = {"sub": "ann", "tenant": "blue"}

    assert principal_of_claims({**claims, "jti": "token-1"}).token_id == "token-1"
    assert principal_of_claims(claims).token_id is None


@pytest.mark.parametrize("token_id", ["", 7, ["token-1"], "a\nb", "x" * 513])
def test_a_token_whose_id_could_not_be_revoked_is_no_credential(token_id: object) -> None:
    with pytest.raises(Unauthenticated):
        principal_of_claims({"sub": "ann", "tenant": "blue", "jti": token_id})


def test_a_principal_file_states_no_token() -> None:
    with pytest.raises(InvalidPrincipal):
        principal_of_record({"sub": "ann", "tenant": "blue", "token_id": "token-1"})


def test_a_revoked_subject_has_no_credentials_and_a_revoked_grant_is_gone() -> None:
    """R1."""
    purpose = Grant(BLUE.tenant, "ann", Dimension.PURPOSE, "audit")

    assert still_granted(BLUE, Revocations(grants=frozenset({purpose}))).purposes == ()
    with pytest.raises(Unauthenticated):
        still_granted(BLUE, Revocations(subjects=frozenset({Subject(BLUE.tenant, "ann")})))


def test_a_call_acts_in_its_own_namespace_and_on_public_where_it_says_so() -> None:
    writer = Principal(sub="ann", tenant=Namespace("blue"), scope=("ingest",))
    publisher = Principal(sub="ann", tenant=Namespace("blue"), scope=("ingest-public",))
    outsider = Principal(sub="ann", tenant=None, scope=("ingest", "ingest-public"))

    assert writable_namespace(writer, public=False) == "blue"
    assert writable_namespace(publisher, public=True) == PUBLIC
    assert writable_namespace(outsider, public=True) == PUBLIC
    for principal, public in ((writer, True), (publisher, False), (outsider, False)):
        with pytest.raises(Forbidden):
            writable_namespace(principal, public=public)
    with pytest.raises(Forbidden):
        own_namespace(outsider, public=False)
