from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from evidence.access import Label
from evidence.eligibility import catalog_version
from evidence.identity import PUBLIC, RevisionKey
from index.catalog import Catalog
from index.catalog_write import NewRevision
from index.errors import InvalidRevision, LabelChanged, RevisionChanged, SupersedesCycle
from tests.index.catalog_builders import BLUE, RED, catalog, revision


def version(made: Catalog) -> str:
    with made.read() as reading:
        return catalog_version(reading.facts().values())


def test_a_revision_offered_again_is_unchanged_and_has_the_same_ingest_id(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        first = made.add([revision("s", "one ", "two")], relabel=False)
        again = made.add([revision("s", "one ", "two")], relabel=False)

    assert (first.accepted, first.unchanged, first.units, first.text_bytes) == (1, 0, 2, 7)
    assert (again.accepted, again.unchanged, again.units, again.text_bytes) == (0, 1, 0, 0)
    assert again.ingest_id == first.ingest_id


def test_the_ingest_id_does_not_depend_on_what_else_is_in_the_catalog(tmp_path: Path) -> None:
    """R6."""
    with catalog(tmp_path / "a") as alone, catalog(tmp_path / "b", [revision("s", "x", namespace=RED)]) as beside:
        offered = [revision("s", "text", namespace=BLUE)]

        assert alone.add(offered, relabel=False) == beside.add(offered, relabel=False)


@pytest.mark.parametrize("other", [revision("s", "other text"), revision("s", "text", title="other title")])
def test_the_same_key_with_other_bytes_is_refused_by_its_key(tmp_path: Path, other: NewRevision) -> None:
    with (
        catalog(tmp_path / "c", [revision("s", "text")]) as made,
        pytest.raises(RevisionChanged, match="revision '1' of source 's' in 'public'") as caught,
    ):
        made.add([other], relabel=False)

    assert "text" not in str(caught.value)


def test_two_tenants_may_use_the_same_source_id(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        report = made.add(
            [revision("s", "ours", namespace=BLUE), revision("s", "theirs", namespace=RED)], relabel=False
        )

    assert report.accepted == 2


def test_a_call_that_is_refused_leaves_the_catalog_as_it_was(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "text")]) as made:
        before = version(made)

        with pytest.raises(RevisionChanged):
            made.add([revision("new", "fine"), revision("s", "other")], relabel=False)
        assert version(made) == before
        with made.read() as reading:
            assert reading.unit_count == 1


def test_a_rehearsal_reports_what_would_happen_and_writes_nothing(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "text")]) as made:
        before = version(made)
        report = made.rehearse([revision("s", "text"), revision("t", "one ", "two")], relabel=False)

        assert (report.accepted, report.unchanged, report.units) == (1, 1, 2)
        assert version(made) == before
        with pytest.raises(RevisionChanged):
            made.rehearse([revision("s", "other")], relabel=False)


def test_another_label_is_refused_unless_a_relabel_is_asked_for(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "text", namespace=BLUE)]) as made:
        with pytest.raises(LabelChanged):
            made.add([revision("s", "newer", revision="2", namespace=BLUE, roles=["engineer"])], relabel=False)
        with pytest.raises(LabelChanged):
            made.add([revision("s", "text", namespace=BLUE, roles=["engineer"])], relabel=False)


def test_a_relabel_moves_all_revisions_of_the_source(tmp_path: Path) -> None:
    engineers = Label(namespace=BLUE, roles=("engineer",))
    with catalog(tmp_path / "c", [revision("s", "text", namespace=BLUE), revision("t", "t", namespace=BLUE)]) as made:
        with made.read() as reading:
            reading.facts()  # so that what is kept in memory has to follow
        report = made.add([revision("s", "newer", revision="2", namespace=BLUE, roles=["engineer"])], relabel=True)

        assert (report.accepted, report.relabelled) == (1, 1)
        with made.read() as reading:
            labels = {(key.source_id, key.revision): facts.label for key, facts in reading.facts().items()}
    assert labels == {("s", "1"): engineers, ("s", "2"): engineers, ("t", "1"): Label(namespace=BLUE)}


def test_a_relabel_alone_needs_no_new_revision(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [revision("s", "text", namespace=BLUE)]) as made:
        report = made.add([revision("s", "text", namespace=BLUE, roles=["engineer"])], relabel=True)

        assert (report.accepted, report.unchanged, report.relabelled) == (0, 1, 1)
        fresh = catalog(tmp_path / "d", [revision("s", "text", namespace=BLUE, roles=["engineer"])])
        with fresh:
            assert version(made) == version(fresh)


@pytest.mark.parametrize("relabel", [False, True])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_call_may_not_bring_two_labels_for_a_source(tmp_path: Path, relabel: bool, order: tuple[int, int]) -> None:
    offered = [
        revision("s", "one", namespace=BLUE),
        revision("s", "two", revision="2", namespace=BLUE, roles=["engineer"]),
    ]
    with catalog(tmp_path / "c", [revision("s", "one", namespace=BLUE)]) as made, pytest.raises(LabelChanged):
        made.add([offered[place] for place in order], relabel=relabel)


def key(source_id: str, number: str = "1") -> RevisionKey:
    return RevisionKey(PUBLIC, source_id, number)


def test_a_circle_of_supersedes_is_refused_and_named(tmp_path: Path) -> None:
    """R4."""
    closing = [revision("b", "b", supersedes=[key("c")]), revision("c", "c", supersedes=[key("a")])]
    with (
        catalog(tmp_path / "c", [revision("a", "a", supersedes=[key("b")])]) as made,
        pytest.raises(SupersedesCycle) as caught,
    ):
        made.add(closing, relabel=False)

    assert set(caught.value.cycle) == {key("a"), key("b"), key("c")}
    assert "in a circle" in str(caught.value)


def test_a_revision_may_not_supersede_itself(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made, pytest.raises(SupersedesCycle):
        made.add([revision("a", "a", supersedes=[key("a")])], relabel=False)


def test_two_ways_to_the_same_revision_are_no_circle(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        report = made.add(
            [
                revision("a", "a", supersedes=[key("b"), key("c")]),
                revision("b", "b", supersedes=[key("d")]),
                revision("c", "c", supersedes=[key("d"), key("not here")]),
                revision("d", "d"),
            ],
            relabel=False,
        )

    assert report.accepted == 4


def test_a_chain_beyond_the_recursion_limit_is_followed_without_recursion(tmp_path: Path) -> None:
    chain = [revision("s", "x", revision=f"{n:05}", supersedes=[key("s", f"{n + 1:05}")]) for n in range(1500)]
    with catalog(tmp_path / "c") as made:
        assert made.add(chain, relabel=False).accepted == 1500


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (replace(revision("s", "ab", "cd"), text="abcx"), "digest"),
        (replace(revision("s", "ab", "cd"), units=revision("s", "ab", "cd").units[:1]), "end of the text"),
        (replace(revision("s", "ab", "cd"), units=revision("s", "ab", "cd").units[::-1]), "another key"),
        (replace(revision("s", "ab", "cd"), units=revision("t", "ab", "cd").units), "another key"),
        (
            replace(revision("s", "abcd"), units=[replace(unit, text="abcx") for unit in revision("s", "abcd").units]),
            "its span",
        ),
        (
            replace(revision("s", "abcd"), facts=replace(revision("s", "abcd").facts, label=Label(namespace=BLUE))),
            "another namespace",
        ),
    ],
)
def test_units_that_do_not_tile_their_text_are_refused(tmp_path: Path, broken: NewRevision, problem: str) -> None:
    with catalog(tmp_path / "c") as made, pytest.raises(InvalidRevision, match=problem):
        made.add([broken], relabel=False)


def test_the_catalog_version_does_not_depend_on_order_or_on_the_number_of_calls(tmp_path: Path) -> None:
    """R29."""
    offered = [
        revision("s", "one"),
        revision("s", "two", revision="2", effective_from="2025-01-01T00:00:00Z"),
        revision("t", "three", namespace=BLUE, roles=["engineer"]),
    ]
    versions = set()
    for number, order in enumerate(permutations(offered)):
        with catalog(tmp_path / f"{number}") as made:
            for offer in order:
                made.add([offer], relabel=False)
            versions.add(version(made))
    with catalog(tmp_path / "at once", offered) as made:
        versions.add(version(made))

    assert len(versions) == 1


@pytest.mark.parametrize("name", ["../../etc/passwd", "CON", "a/b", "\N{BELL}", "ü" * 2000, "' OR 1=1 --", "%00"])
def test_a_source_id_is_only_ever_a_value(tmp_path: Path, name: str) -> None:
    """E9, B2."""
    with catalog(tmp_path / "c", [revision(name, "text")]) as made, made.read() as reading:
        assert reading.revision_text(RevisionKey(PUBLIC, name, "1")) == "text"
        assert {file.name for file in (tmp_path / "c").iterdir()} <= {
            "catalog.sqlite",
            "catalog.sqlite-wal",
            "catalog.sqlite-shm",
        }
