"""Tests of `server/unauthorized.py`: what the sealed record may say, and of what alone (R7)."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from evidence.citations import citation_handle
from evidence.eligibility import Filter
from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey
from evidence.request import Strategy
from evidence.requirements import Match, Requirement, UnitMatch
from evidence.revision import Claim, Status
from evidence.sealed import Finding
from index.catalog import Catalog
from index.catalog_write import NewRevision
from server.unauthorized import NamedExactly, find_unauthorized, named_exactly
from tests.builders import (
    BLUE,
    RED,
    claim,
    eligibility,
    family,
    principal,
    request,
    requires,
    revision_key,
    source,
)
from tests.index.catalog_builders import catalog, revision, scope

ANN = scope(tenant=BLUE)
RESTRICTED = SourceKey(BLUE, "restricted")
ASKED = eligibility()


def claiming(new: NewRevision, key: str, value: str, *, of_family: str = "") -> NewRevision:
    """The revision with a claim, which its first unit owns."""
    made = Claim(key=key, value=value, quote=new.units[0].text)
    return replace(new, facts=replace(new.facts, claims=(made,), family=of_family))


@pytest.fixture(scope="module", name="held")
def fixture_held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    revisions = [
        claiming(revision("restricted", "25 MB", namespace=BLUE, roles=["legal"]), "limit", "25", of_family="policy"),
        claiming(revision("foreign", "99 MB", namespace=RED), "limit", "99"),
        claiming(revision("open", "10 MB", namespace=BLUE), "quota", "10", of_family="guide"),
        claiming(revision("draft", "1 MB", namespace=BLUE, roles=["legal"], status=Status.DRAFT), "draft.limit", "1"),
        claiming(revision("taken back", "2", namespace=BLUE, roles=["legal"], status=Status.DRAFT), "back.limit", "2"),
        revision("restricted", "in public", roles=["legal"]),
    ]
    with catalog(tmp_path_factory.mktemp("unauthorized") / "catalog", revisions) as made:
        made.revoke(_key("taken back"))
        yield made


def found(
    held: Catalog,
    *requirements: Requirement,
    named: tuple[SourceKey, ...] = (),
    handles: tuple[str, ...] = (),
) -> list[Finding]:
    asked = NamedExactly(requirements=requirements, sources=named, handles=handles)
    with held.read() as reading:
        return list(find_unauthorized(asked, scope=ANN, reading=reading))


def test_a_claim_that_only_invisible_units_make_is_found_with_the_namespaces_that_make_it(held: Catalog) -> None:
    (finding,) = found(held, requires("upload-limit", claim("limit")))

    assert (finding.role, finding.namespaces) == ("upload-limit", ("blue", "red"))
    assert finding.named == {"claim": "limit", "value": None}


@pytest.mark.parametrize(
    ("match", "namespaces"),
    [
        (claim("limit", " 25 "), ("blue",)),
        (claim("limit", "26"), None),
        (claim("no such claim"), None),
        (claim("quota"), None),  # the caller may see it
        (claim("draft.limit"), None),  # a draft is not published, whoever it is for
        (claim("back.limit"), None),  # nor is it by being revoked
        (family("policy"), ("blue",)),
        (family("guide"), None),
        (family(""), None),
        (source("restricted"), ("blue",)),
        (source("restricted", namespace=PUBLIC), ("public",)),
        (source("foreign", namespace=PUBLIC), None),
        (source("taken back"), None),
        (source("open"), None),
        (UnitMatch(unit_id="red/foreign@1#0"), ("red",)),
        (UnitMatch(unit_id="red/foreign@1#1"), None),  # there is no second unit
        (UnitMatch(unit_id="no unit id"), None),
    ],
)
def test_each_kind_of_match_finds_what_is_there_and_invisible(
    match: Match, namespaces: tuple[str, ...] | None, held: Catalog
) -> None:
    assert [finding.namespaces for finding in found(held, requires("role", match))] == (
        [] if namespaces is None else [namespaces]
    )


def test_a_source_that_the_request_names_is_found_where_it_may_not_be_seen(held: Catalog) -> None:
    (finding,) = found(held, named=(RESTRICTED,))

    assert (finding.role, finding.named, finding.namespaces) == (
        None,
        {"source_id": "restricted", "public": False},
        ("blue",),
    )
    assert found(held, named=(SourceKey(BLUE, "open"), SourceKey(BLUE, "nowhere"))) == []


def test_every_source_of_the_filter_is_looked_up_in_both_namespaces_of_its_caller(held: Catalog) -> None:
    """R7: a filter names sources exactly, and as a requirement does; another tenant's is none of them."""
    asked = replace(ASKED, filter=Filter(source_id=("foreign", "open", "restricted", "taken back")))
    named = named_exactly(request(), asked, {})

    assert [(one.named, one.namespaces) for one in found(held, named=named.sources)] == [
        ({"source_id": "restricted", "public": False}, ("blue",)),
        ({"source_id": "restricted", "public": True}, ("public",)),
    ]


def test_a_source_that_is_named_twice_is_looked_up_once() -> None:
    asked = replace(ASKED, filter=Filter(source_id=("restricted",)))
    whole = replace(request(strategy=Strategy.DOCUMENT), source=RESTRICTED)

    assert named_exactly(whole, asked, {}).sources == (RESTRICTED, SourceKey(PUBLIC, "restricted"))


def test_a_filter_without_a_tenant_names_public_sources_alone() -> None:
    asked = replace(eligibility(principal(None)), filter=Filter(source_id=("restricted",)))

    assert named_exactly(request(), asked, {}).sources == (SourceKey(PUBLIC, "restricted"),)


def test_a_handle_of_the_conversation_is_found_where_its_unit_may_not_be_seen(held: Catalog) -> None:
    with held.read() as reading:
        hidden, shown = (
            citation_handle(unit) for key in ("restricted", "open") for unit in reading.units_of(_key(key))
        )

    assert [finding.named for finding in found(held, handles=(hidden, shown, "EV-0000000000000000"))] == [
        {"handle": hidden}
    ]


def test_a_role_that_the_packet_fills_is_not_looked_up() -> None:
    asked = request(requirements=[requires("a", claim("limit")), requires("b", claim("quota"))])

    named = named_exactly(asked, ASKED, {"a": "filled", "b": "absent"})
    assert [requirement.role for requirement in named.requirements] == ["b"]
    assert not named_exactly(request(), ASKED, {})
    assert not named_exactly(request(), replace(ASKED, filter=Filter(source_id=(), family=("policy",))), {})


def test_findings_come_in_the_order_of_the_request(held: Catalog) -> None:
    roles = [requires("z", claim("limit")), requires("a", family("policy"))]

    assert [finding.role for finding in found(held, *roles, named=(RESTRICTED,))] == ["z", "a", None]


def test_nothing_is_found_for_a_caller_who_may_see_it(held: Catalog) -> None:
    lawyer = scope(tenant=BLUE, roles=["legal"])
    asked = NamedExactly(requirements=(requires("role", family("policy")),), sources=(RESTRICTED,), handles=())

    with held.read() as reading:
        assert find_unauthorized(asked, scope=lawyer, reading=reading) == ()


def _key(source_id: str, namespace: Namespace = BLUE) -> RevisionKey:
    return revision_key(source_id, namespace=namespace)
