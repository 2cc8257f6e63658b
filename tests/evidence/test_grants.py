"""Tests of evidence/grants.py: what a revocation takes, and from whom."""

from dataclasses import replace

import pytest

from evidence.access import Label, Principal, Scope, admits
from evidence.grants import Dimension, Grant, Revocations, Subject, Token, live_principal
from evidence.identity import PUBLIC, Namespace

BLUE, RED = Namespace("blue"), Namespace("red")
ANN = Principal(
    sub="ann",
    tenant=BLUE,
    roles=("engineer", "reader"),
    purposes=("service",),
    regions=("eu",),
    cases=("case-1",),
    scope=("ingest", "search"),
    token_id="token-1",
)

FIELDS = ("sub", "tenant", "roles", "purposes", "regions", "cases", "scope", "personal")


def without(*grants: Grant) -> Principal | None:
    return live_principal(ANN, Revocations(grants=frozenset(grants)))


def test_nothing_revoked_leaves_the_principal_as_it_was() -> None:
    assert live_principal(ANN, Revocations()) is ANN


@pytest.mark.parametrize("namespace", [BLUE, None])
def test_a_revoked_subject_and_a_revoked_token_are_nobody(namespace: Namespace | None) -> None:
    assert live_principal(ANN, Revocations(subjects=frozenset({Subject(namespace, "ann")}))) is None
    assert live_principal(ANN, Revocations(token_ids=frozenset({Token(namespace, "token-1")}))) is None


@pytest.mark.parametrize("namespace", [RED, PUBLIC])
def test_what_is_revoked_in_another_namespace_takes_nothing(namespace: Namespace) -> None:
    foreign = Revocations(
        subjects=frozenset({Subject(namespace, "ann")}),
        token_ids=frozenset({Token(namespace, "token-1")}),
        grants=frozenset({Grant(namespace, "ann", Dimension.ROLE, "reader")}),
    )

    assert live_principal(ANN, foreign) is ANN


def test_a_principal_without_a_tenant_is_of_the_public_namespace() -> None:
    revoked = Revocations(subjects=frozenset({Subject(PUBLIC, "ann")}))

    assert live_principal(replace(ANN, tenant=None), revoked) is None


def test_another_subject_or_token_keeps_all_that_it_has() -> None:
    others = Revocations(
        subjects=frozenset({Subject(BLUE, "bob")}),
        token_ids=frozenset({Token(BLUE, "token-2"), Token(BLUE, "ann")}),
        grants=frozenset({Grant(BLUE, "bob", Dimension.ROLE, "reader")}),
    )

    assert live_principal(ANN, others) is ANN
    assert live_principal(replace(ANN, token_id=None), others) == ANN


@pytest.mark.parametrize(
    ("dimension", "value", "field"),
    [
        (Dimension.ROLE, "reader", "roles"),
        (Dimension.PURPOSE, "service", "purposes"),
        (Dimension.REGION, "eu", "regions"),
        (Dimension.CASE, "case-1", "cases"),
        (Dimension.SCOPE, "ingest", "scope"),
    ],
)
def test_a_revoked_grant_is_taken_from_its_own_dimension_alone(dimension: Dimension, value: str, field: str) -> None:
    live = without(Grant(BLUE, "ann", dimension, value))

    lost = {name for name in FIELDS if getattr(live, name) != getattr(ANN, name)}
    assert lost == {field}
    assert getattr(live, field) == tuple(held for held in getattr(ANN, field) if held != value)
    assert without(*(Grant(BLUE, "ann", other, value) for other in Dimension if other is not dimension)) == ANN


def test_revoking_the_role_that_everybody_holds_takes_personal_grants() -> None:
    """A personal grant is a role like any other."""
    personal = Label(namespace=BLUE, roles=("user:ann",))
    live = without(Grant(BLUE, "ann", Dimension.ROLE, "user:ann"))

    assert live is not None
    assert admits(personal, Scope(principal=ANN, purpose=None))
    assert not admits(personal, Scope(principal=live, purpose=None))
    assert Scope(principal=live, purpose=None).digest != Scope(principal=ANN, purpose=None).digest


def test_revocations_applied_twice_change_nothing_more() -> None:
    revoked = Revocations(grants=frozenset({Grant(BLUE, "ann", Dimension.ROLE, "reader")}))
    once = live_principal(ANN, revoked)

    assert once is not None
    assert live_principal(once, revoked) is once


def test_which_token_named_a_principal_is_in_no_record_and_no_comparison() -> None:
    """Two tokens of one subject share every cache entry (R35)."""
    other = replace(ANN, token_id="token-2")

    assert other == ANN
    assert hash(other) == hash(ANN)
    assert Scope(principal=other, purpose=None).record() == Scope(principal=ANN, purpose=None).record()
    assert "token-1" not in str(Scope(principal=ANN, purpose=None).record())
