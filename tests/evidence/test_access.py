"""The one decision about visibility: who sees a source under a label."""

from hypothesis import given
from hypothesis import strategies as st

from evidence.access import Label, Principal, Scope, admits
from tests.builders import BLUE, RED, label, principal


def sees(under: Label, who: Principal, *, purpose: str | None = None) -> bool:
    return admits(under, Scope(principal=who, purpose=purpose))


def test_a_tenant_sees_its_own_namespace_and_the_public_one_and_no_other() -> None:
    """R1."""
    assert sees(label(BLUE), principal(BLUE))
    assert sees(label("public"), principal(BLUE))
    assert not sees(label(RED), principal(BLUE))


def test_without_a_tenant_only_public_is_seen() -> None:
    """R1."""
    assert sees(label("public"), principal(None))
    assert not sees(label(BLUE), principal(None))


def test_an_empty_list_restricts_nothing() -> None:
    """A label without restrictions is seen whatever is held, and by someone who holds nothing."""
    assert sees(label(), principal())
    assert sees(label(), principal(roles=["legal"], purposes=["audit"], regions=["eu"], cases=["C-1"]), purpose="audit")


def test_any_one_of_the_roles_is_enough() -> None:
    under = label(roles=["legal", "support"])

    assert sees(under, principal(roles=["support"]))
    assert not sees(under, principal(roles=["sales"]))
    assert not sees(under, principal())


def test_any_one_of_the_regions_and_cases_is_enough() -> None:
    assert sees(label(regions=["eu", "us"]), principal(regions=["eu"]))
    assert not sees(label(regions=["eu", "us"]), principal(regions=["apac"]))
    assert sees(label(cases=["C-1", "C-2"]), principal(cases=["C-2"]))
    assert not sees(label(cases=["C-1"]), principal())


def test_all_dimensions_must_hold_together() -> None:
    under = label(roles=["legal"], regions=["eu"])

    assert sees(under, principal(roles=["legal"], regions=["eu"]))
    assert not sees(under, principal(roles=["legal"]))
    assert not sees(under, principal(regions=["eu"]))


def test_a_value_of_one_dimension_counts_for_no_other() -> None:
    assert not sees(label(roles=["eu"]), principal(regions=["eu"], cases=["eu"], purposes=["eu"]), purpose="eu")


def test_purpose_null_admits_only_labels_without_purposes() -> None:
    """R1."""
    assert sees(label(), principal(purposes=["audit"]))
    assert not sees(label(purposes=["audit"]), principal(purposes=["audit"]))


def test_only_the_purpose_of_this_request_counts_and_not_all_that_were_granted() -> None:
    """R1."""
    granted = principal(purposes=["audit", "repair"])

    assert sees(label(purposes=["audit"]), granted, purpose="audit")
    assert not sees(label(purposes=["audit"]), granted, purpose="repair")
    assert sees(label(), granted, purpose="repair")


def test_a_personal_grant_is_a_role_like_any_other() -> None:
    assert sees(label(roles=["user:ann"]), principal(sub="ann"))
    assert not sees(label(roles=["user:ann"]), principal(sub="bob"))


def test_a_personal_grant_does_not_reach_into_another_namespace() -> None:
    assert not sees(label(RED, roles=["user:ann"]), principal(BLUE, sub="ann"))


few = st.sets(st.sampled_from("abc"))


@given(roles=few, regions=few, held_roles=few, held_regions=few)
def test_more_grants_never_show_less(
    roles: set[str], regions: set[str], held_roles: set[str], held_regions: set[str]
) -> None:
    under = label(roles=roles, regions=regions)

    if sees(under, principal(roles=held_roles, regions=held_regions)):
        assert sees(under, principal(roles=held_roles | {"z"}, regions=held_regions | {"z"}))


def test_every_part_of_a_scope_is_in_its_digest() -> None:
    """R35 keys caches on it, so nothing that visibility depends on may be missing."""
    plain = Scope(principal=principal(), purpose=None).digest
    others = [
        Scope(principal=principal(), purpose="audit"),
        Scope(principal=principal(RED), purpose=None),
        Scope(principal=principal(None), purpose=None),
        Scope(principal=principal(sub="bob"), purpose=None),
        Scope(principal=principal(roles=["a"]), purpose=None),
        Scope(principal=principal(purposes=["a"]), purpose=None),
        Scope(principal=principal(regions=["a"]), purpose=None),
        Scope(principal=principal(cases=["a"]), purpose=None),
        Scope(principal=principal(scope=["ingest", "search"]), purpose=None),
    ]

    assert len({plain, *(scope.digest for scope in others)}) == 1 + len(others)


def test_labels_that_differ_in_one_value_have_different_digests() -> None:
    labels = [label(), label(RED), label(roles=["a"]), label(purposes=["a"]), label(regions=["a"]), label(cases=["a"])]

    assert len({under.digest for under in labels}) == len(labels)


def test_the_namespace_of_a_principal_without_a_tenant_is_the_public_one() -> None:
    assert principal(None).namespace == "public"
    assert principal(BLUE).namespace == "blue"
