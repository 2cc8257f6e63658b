"""Tests of `evidence/widening.py`: when `auto` takes whole documents, and which (R36)."""

from collections.abc import Sequence

from evidence.coverage import assess
from evidence.envelope import Candidate
from evidence.identity import RevisionKey
from evidence.requirements import Requirement
from evidence.revision import RevisionFacts, Status
from evidence.widening import Because, Widening, widen
from tests.builders import RED, candidate, claim, family, requires, revision, snapshot, source, unit_of

GUIDE = candidate(revision("GUIDE", family="guide"), "a guide", rank=1)
MANUAL = candidate(revision("MANUAL", family="manual", claims={"max": "25"}), "at most 25", rank=2)
NOTES = candidate(revision("NOTES", family="manual", claims={"max": "25"}), "25 at most", rank=3)
EVERYTHING = (GUIDE, MANUAL, NOTES)


def widened(
    selection: Sequence[Candidate],
    *requirements: Requirement,
    ranked: Sequence[Candidate] = EVERYTHING,
    class_widens: bool = False,
    conflicting: Sequence[RevisionKey] = (),
    beside: Sequence[RevisionFacts] = (),
) -> tuple[Widening, ...]:
    """The documents that `auto` takes beside a selection."""
    held = snapshot([*(found.facts for found in EVERYTHING), *beside])
    return widen(
        assess(requirements, selection, snapshot=held, groups=()).open_roles(),
        ranked=[found.unit.key for found in ranked],
        class_widens=class_widens,
        conflicting=conflicting,
        snapshot=held,
    )


def for_role(found: Candidate, role: str) -> Widening:
    return Widening(revision=found.facts.key, because=Because.MISSING_ROLE, role=role)


def test_a_selection_that_fills_every_role_is_not_widened() -> None:
    assert widened([GUIDE, MANUAL], requires("limit", claim("max")), requires("guide", family("guide"))) == ()


def test_without_requirements_nothing_is_open() -> None:
    assert widened([GUIDE]) == ()


def test_an_open_role_takes_the_document_of_the_best_ranked_unit_that_could_fill_it() -> None:
    assert widened([GUIDE], requires("limit", claim("max"))) == (for_role(MANUAL, "limit"),)
    turned = (GUIDE, NOTES, MANUAL)
    assert widened([GUIDE], requires("limit", claim("max")), ranked=turned) == (for_role(NOTES, "limit"),)


def test_where_nothing_that_could_fill_it_was_ranked_the_first_key_is_taken() -> None:
    assert widened([GUIDE], requires("limit", claim("max")), ranked=[GUIDE]) == (for_role(MANUAL, "limit"),)


def test_one_unit_is_the_whole_document_it_stands_in() -> None:
    assert widened([GUIDE], requires("this", unit_of(NOTES))) == (for_role(NOTES, "this"),)


def test_a_role_that_is_not_mandatory_is_open_too() -> None:
    assert widened([GUIDE], requires("limit", claim("max"), mandatory=False)) == (for_role(MANUAL, "limit"),)


def test_a_claim_with_another_value_leaves_the_role_open_and_brings_nothing() -> None:
    assert widened([GUIDE], requires("limit", claim("max", "30"))) == ()


def test_nothing_that_may_not_be_used_is_taken() -> None:
    """R2, R8."""
    old = revision("OLD", family="leaks", status=Status.SUPERSEDED)
    foreign = revision("FOREIGN", family="leaks", namespace=RED)

    assert widened([GUIDE], requires("leaks", family("leaks")), beside=[old, foreign]) == ()
    assert widened([GUIDE], requires("leaks", source("FOREIGN")), beside=[foreign]) == ()


def test_a_document_is_taken_once_with_its_first_reason() -> None:
    """Roles in the order of the request, then conflicts, then the class."""
    limit, manual = requires("limit", claim("max")), requires("manual", family("manual"))

    found = widened([GUIDE], limit, manual, class_widens=True, conflicting=[NOTES.facts.key, MANUAL.facts.key])
    assert found == (
        for_role(MANUAL, "limit"),
        Widening(revision=NOTES.facts.key, because=Because.CONFLICT),
        Widening(revision=GUIDE.facts.key, because=Because.QUERY_CLASS),
    )


def test_a_class_that_widens_takes_the_document_of_the_best_unit() -> None:
    assert widened([GUIDE], class_widens=True) == (Widening(revision=GUIDE.facts.key, because=Because.QUERY_CLASS),)
    assert widened([], ranked=[], class_widens=True) == ()


def test_a_record_names_the_document_the_reason_and_the_role() -> None:
    assert for_role(MANUAL, "limit").record() == {
        "namespace": "blue",
        "source_id": "MANUAL",
        "revision": "1",
        "because": "missing-role",
        "role": "limit",
    }
