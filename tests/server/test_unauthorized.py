"""Tests of `server/unauthorized.py`: what the sealed record may say, and of what alone (R7)."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from evidence.citations import citation_handle
from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey
from evidence.requirements import Match, Requirement, UnitMatch
from evidence.revision import Claim, Status
from evidence.sealed import Finding
from index.catalog import Catalog
from index.catalog_write import NewRevision
from server.unauthorized import NamedExactly, find_unauthorized, named_exactly
from tests.builders import BLUE, RED, claim, family, request, requires, revision_key, source
from tests.index.catalog_builders import catalog, revision, scope

ANN = scope(tenant=BLUE)
RESTRICTED = SourceKey(BLUE, "restricted")


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
    ]
    with catalog(tmp_path_factory.mktemp("unauthorized") / "catalog", revisions) as made:
        yield made


def found(
    held: Catalog,
    *requirements: Requirement,
    named: SourceKey | None = None,
    handles: tuple[str, ...] = (),
) -> list[Finding]:
    asked = NamedExactly(requirements=requirements, source=named, handles=handles)
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
        (family("policy"), ("blue",)),
        (family("guide"), None),
        (family(""), None),
        (source("restricted"), ("blue",)),
        (source("restricted", namespace=PUBLIC), None),
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
    (finding,) = found(held, named=RESTRICTED)

    assert (finding.role, finding.named, finding.namespaces) == (
        None,
        {"source_id": "restricted", "public": False},
        ("blue",),
    )
    assert found(held, named=SourceKey(BLUE, "open")) == []
    assert found(held, named=SourceKey(BLUE, "nowhere")) == []


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

    named = named_exactly(asked, {"a": "filled", "b": "absent"})
    assert [requirement.role for requirement in named.requirements] == ["b"]
    assert not named_exactly(request(), {})


def test_findings_come_in_the_order_of_the_request(held: Catalog) -> None:
    roles = [requires("z", claim("limit")), requires("a", family("policy"))]

    assert [finding.role for finding in found(held, *roles, named=RESTRICTED)] == ["z", "a", None]


def test_nothing_is_found_for_a_caller_who_may_see_it(held: Catalog) -> None:
    lawyer = scope(tenant=BLUE, roles=["legal"])
    asked = NamedExactly(requirements=(requires("role", family("policy")),), source=RESTRICTED, handles=())

    with held.read() as reading:
        assert find_unauthorized(asked, scope=lawyer, reading=reading) == ()


def _key(source_id: str, namespace: Namespace = BLUE) -> RevisionKey:
    return revision_key(source_id, namespace=namespace)
