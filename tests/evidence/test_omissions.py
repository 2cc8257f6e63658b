"""What is out, and why (R16)."""

from dataclasses import replace

from evidence.identity import SourceKey, UnitKey
from evidence.omissions import LISTED_UNSELECTED, Omissions, stale_revisions
from evidence.request import Strategy
from evidence.requirements import Requirement
from evidence.revision import RevisionFacts, Status
from tests.builders import (
    BLUE,
    RED,
    candidate,
    claim,
    eligibility,
    family,
    request,
    requires,
    revision,
    revision_key,
    snapshot,
)
from tests.evidence.answers import answer, wire

CURRENT = revision("A", "7")


def stale(
    *others: RevisionFacts,
    selected: RevisionFacts = CURRENT,
    requirements: tuple[Requirement, ...] = (),
    asked_source: SourceKey | None = None,
) -> list[str]:
    """The stale omissions of a packet with one unit of `selected`, in a catalog that also holds `others`."""
    seen = snapshot([selected, *others])
    return [
        f"{key.namespace}/{key.source_id}@{key.revision}"
        for key in stale_revisions(
            [candidate(selected, "text").unit.key], requirements, asked_source=asked_source, snapshot=seen
        )
    ]


def test_an_older_revision_of_a_selected_source_is_named_stale() -> None:
    assert stale(revision("A", "6"), revision("A", "5", status=Status.SUPERSEDED)) == ["blue/A@5", "blue/A@6"]


def test_a_revoked_revision_of_a_selected_source_is_named_stale() -> None:
    assert stale(revision("A", "8", status=Status.REVOKED)) == ["blue/A@8"]


def test_a_revision_that_a_selected_one_supersedes_is_named_stale() -> None:
    superseder = revision("A", "7", supersedes=[revision_key("B", "2")])

    assert stale(revision("B", "2"), selected=superseder) == ["blue/B@2"]


def test_a_stale_revision_that_matches_a_requirement_is_named() -> None:
    old = revision("C", family="policy", claims={"max": "10"}, status=Status.SUPERSEDED)

    assert stale(old) == []
    assert stale(old, requirements=(requires("limit", claim("max"), mandatory=False),)) == ["blue/C@1"]
    assert stale(old, requirements=(requires("policy", family("policy")),)) == ["blue/C@1"]
    assert stale(old, requirements=(requires("limit", claim("max", "25")),)) == []


def test_each_stale_revision_of_the_source_that_is_asked_for_is_named() -> None:
    """R16: a request for a whole document points at it, also where no unit of it is left to be a candidate."""
    gone = [revision("D", "1", status=Status.SUPERSEDED), revision("D", "2", effective_to="2025-01-01")]

    assert stale(*gone) == []
    assert stale(*gone, asked_source=gone[0].key.source) == ["blue/D@1", "blue/D@2"]


def test_a_request_for_a_document_that_is_stale_says_so_and_not_only_that_it_is_absent() -> None:
    """R16."""
    gone = revision("D", status=Status.SUPERSEDED)
    asked = replace(request(strategy=Strategy.DOCUMENT), source=gone.key.source)

    manifest = wire(answer([], asked, beside=[gone]))["manifest"]
    assert manifest["state"] == "absent"
    assert manifest["omissions"]["items"] == [
        {"reason": "stale", "namespace": "blue", "source_id": "D", "revision": "1"}
    ]


def test_an_invisible_revision_of_the_source_that_is_asked_for_is_not_named() -> None:
    """R6, R8."""
    hidden = revision("D", status=Status.SUPERSEDED, namespace=RED)

    assert stale(hidden, asked_source=hidden.key.source) == []


def test_an_invisible_stale_revision_is_not_named() -> None:
    """R8: a relation to something invisible does not exist for this caller."""
    superseder = revision("A", "7", supersedes=[revision_key("B", namespace=RED)])

    assert stale(revision("B", namespace=RED), revision("A", "6", namespace=RED), selected=superseder) == []


def test_a_usable_revision_is_never_named() -> None:
    both = (requires("policy", family("policy")),)

    assert stale(revision("B", family="policy"), requirements=both) == []


def test_a_revision_that_is_left_out_for_its_subject_is_not_stale() -> None:
    other_model = revision("B", family="policy", applies_to=["k1"])
    seen = snapshot([CURRENT, other_model], asked=eligibility(subject="k2"))

    policy = requires("policy", family("policy"))
    named = stale_revisions(
        [candidate(CURRENT, "text").unit.key], [policy], asked_source=other_model.key.source, snapshot=seen
    )
    assert named == ()


def test_the_record_gives_reasons_and_names_and_no_content() -> None:
    keys = [UnitKey(BLUE, "A", "1", ordinal) for ordinal in range(4)]
    omissions = Omissions(
        budget=(keys[0],),
        duplicates=((keys[2], keys[0]),),
        capped=(keys[3],),
        stale=(revision_key("A", "0"),),
        not_selected=(keys[1],),
    )

    assert omissions.record() == {
        "counts": {"omitted-budget": 1, "omitted-duplicate": 1, "omitted-policy": 1, "stale": 1, "not-selected": 1},
        "items": [
            {"reason": "omitted-budget", "unit_id": "blue/A@1#0"},
            {
                "reason": "omitted-duplicate",
                "unit_id": "blue/A@1#2",
                "duplicate_of": "blue/A@1#0",
                "rule": "same-revision-normalized-text/1",
            },
            {"reason": "omitted-policy", "unit_id": "blue/A@1#3", "policy": "units-per-source"},
            {"reason": "stale", "namespace": "blue", "source_id": "A", "revision": "0"},
            {"reason": "not-selected", "unit_id": "blue/A@1#1"},
        ],
        "not_selected_listed": 1,
    }


def test_of_many_units_that_were_not_selected_all_are_counted_and_the_best_are_named() -> None:
    keys = [UnitKey(BLUE, f"S-{place}", "1", 0) for place in range(LISTED_UNSELECTED + 3)]

    record = Omissions(budget=(), duplicates=(), capped=(), stale=(), not_selected=tuple(keys)).record()
    assert record["counts"] == {
        "omitted-budget": 0,
        "omitted-duplicate": 0,
        "omitted-policy": 0,
        "stale": 0,
        "not-selected": LISTED_UNSELECTED + 3,
    }
    assert record["items"] == [
        {"reason": "not-selected", "unit_id": f"blue/S-{place}@1#0"} for place in range(LISTED_UNSELECTED)
    ]
