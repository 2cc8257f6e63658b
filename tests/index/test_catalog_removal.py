"""Tests of index/catalog_removal.py: what is taken out is gone whole, for everybody, at once."""

from pathlib import Path

import pytest
from sqlalchemy import text

from evidence.access import Label
from evidence.eligibility import catalog_version
from evidence.identity import RevisionKey, SourceKey
from evidence.revision import Status
from index.catalog import Catalog
from index.catalog_removal import Removed
from index.catalog_write import NewRevision
from index.integrity import verify
from tests.index.catalog_builders import BLUE, RED, build_index, catalog, revision

S = SourceKey(BLUE, "s")
ROLES = {
    "open": Label(namespace=BLUE),
    "engineers": Label(namespace=BLUE, roles=("engineer",)),
    "auditors": Label(namespace=BLUE, roles=("auditor",)),
}


def of_blue(source_id: str, *texts: str, revision_name: str = "1", roles: tuple[str, ...] = ()) -> NewRevision:
    return revision(source_id, *texts, revision=revision_name, namespace=BLUE, roles=roles)


def version(made: Catalog) -> str:
    with made.read() as reading:
        return catalog_version(reading.facts().values())


def keys(made: Catalog) -> list[tuple[str, str, str]]:
    with made.read() as reading:
        return [tuple(key) for key in reading.facts()]  # type: ignore[misc]  # a key is three texts


def rows(made: Catalog, table: str) -> int:
    with made.read() as reading:
        return int(reading.connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def test_a_deleted_source_is_gone_with_all_its_revisions_units_and_relations(tmp_path: Path) -> None:
    later = revision("s", "new", revision="2", namespace=BLUE, supersedes=[RevisionKey(BLUE, "s", "1")])
    with catalog(tmp_path / "c", [of_blue("s", "one ", "two"), later, of_blue("t", "three")]) as made:
        assert made.delete(S) == Removed(sources=1, revisions=2, units=3)

        assert keys(made) == [("blue", "t", "1")]
        assert (rows(made, "unit"), rows(made, "superseder"), rows(made, "source")) == (1, 0, 1)
    assert verify(tmp_path / "c") == []


def test_a_source_of_the_same_id_in_another_namespace_stays(tmp_path: Path) -> None:
    ours, theirs = of_blue("s", "ours"), revision("s", "theirs", namespace=RED)
    with catalog(tmp_path / "c", [ours, theirs]) as made:
        made.delete(S)

        assert keys(made) == [("red", "s", "1")]


def test_a_second_delete_finds_nothing_and_changes_nothing(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one")]) as made:
        made.delete(S)
        with made.read() as reading:
            before = reading.change

        assert made.delete(S) is None
        with made.read() as reading:
            assert reading.change == before


def test_a_delete_is_seen_in_a_process_that_had_the_source_in_memory(tmp_path: Path) -> None:
    held = [of_blue("s", "one"), of_blue("t", "two")]
    with catalog(tmp_path / "c", held) as made, Catalog.open(tmp_path / "c") as other:
        assert len(keys(other)) == 2
        made.delete(S)
        made.add([of_blue("u", "three")], relabel=False)  # as many revisions as before

        assert keys(other) == [("blue", "t", "1"), ("blue", "u", "1")]


def test_a_reader_that_began_before_the_delete_goes_on_seeing_the_source(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one")]) as made, made.read() as reading:
        made.delete(S)

        assert reading.revision_text(RevisionKey(BLUE, "s", "1")) == "one"


def test_what_was_deleted_may_come_in_again_with_other_bytes(tmp_path: Path) -> None:
    key = RevisionKey(BLUE, "s", "1")
    with catalog(tmp_path / "c", [of_blue("s", "one")]) as made:
        made.delete(S)
        made.add([of_blue("s", "other")], relabel=False)

        with made.read() as reading:
            assert reading.facts()[key].status is Status.CURRENT
            assert reading.revision_text(key) == "other"


def test_delete_and_ingest_again_is_the_catalog_of_before(tmp_path: Path) -> None:
    """R29: nothing of a source that went and came remains."""
    offered = [of_blue("s", "one", roles=("engineer",)), of_blue("t", "two")]
    with catalog(tmp_path / "c", offered) as made:
        build_index(made)
        before = version(made)
        made.delete(S)
        assert version(made) != before
        made.add(offered, relabel=False)

        assert version(made) == before
    assert verify(tmp_path / "c") == []  # the codes of the published index are still the catalog's


def test_a_rollback_takes_out_what_its_ingest_brought_and_no_more(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one"), of_blue("t", "two")]) as made:
        before = version(made)
        offered = [of_blue("s", "one"), of_blue("s", "newer", revision_name="2"), of_blue("u", "three")]
        report = made.add(offered, relabel=False)
        done = made.roll_back(report.ingest_id)

        assert done is not None
        assert done.removed == Removed(sources=1, revisions=2, units=2)
        assert version(made) == before
    assert verify(tmp_path / "c") == []


@pytest.mark.parametrize("name", ["ingest-unknown", ""])
def test_an_ingest_that_never_was_cannot_be_rolled_back(tmp_path: Path, name: str) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one")]) as made:
        assert made.roll_back(name) is None


def test_a_second_rollback_finds_nothing(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        report = made.add([of_blue("s", "one")], relabel=False)
        made.roll_back(report.ingest_id)

        assert made.roll_back(report.ingest_id) is None
        assert made.add([of_blue("s", "one")], relabel=False).accepted == 1


def test_a_revision_that_a_later_ingest_brought_to_a_new_source_keeps_the_source(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        first = made.add([of_blue("s", "one")], relabel=False)
        made.add([of_blue("s", "two", revision_name="2")], relabel=False)
        done = made.roll_back(first.ingest_id)

        assert done is not None
        assert done.removed == Removed(sources=0, revisions=1, units=1)
        assert keys(made) == [("blue", "s", "2")]


def label_of_s(made: Catalog) -> Label:
    with made.read() as reading:
        (label,) = {facts.label for key, facts in reading.facts().items() if key.source == S}
        return label


def test_a_rollback_gives_back_the_label_that_its_ingest_changed(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one", roles=("engineer",))]) as made:
        report = made.add([of_blue("s", "two", revision_name="2")], relabel=True)
        assert label_of_s(made) == ROLES["open"]
        done = made.roll_back(report.ingest_id)

        assert done is not None
        assert (done.restored, done.kept) == (1, 0)
        assert label_of_s(made) == ROLES["engineers"]
    assert verify(tmp_path / "c") == []


def test_a_label_given_since_is_left_as_it_is(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one", roles=("engineer",))]) as made:
        report = made.add([of_blue("s", "one")], relabel=True)
        made.relabel(S, ROLES["auditors"])
        done = made.roll_back(report.ingest_id)

        assert done is not None
        assert (done.restored, done.kept) == (0, 1)
        assert label_of_s(made) == ROLES["auditors"]


@pytest.mark.parametrize("between", ["auditors", "open"])
def test_a_label_given_since_stays_also_when_it_is_the_one_that_the_ingest_gave(tmp_path: Path, between: str) -> None:
    """Whoever puts a source under a label says so for good, whatever it had at that moment."""
    with catalog(tmp_path / "c", [of_blue("s", "one", roles=("engineer",))]) as made:
        report = made.add([of_blue("s", "one")], relabel=True)
        made.relabel(S, ROLES[between])
        made.relabel(S, ROLES["open"])
        done = made.roll_back(report.ingest_id)

        assert done is not None
        assert (done.restored, done.kept) == (0, 1)
        assert label_of_s(made) == ROLES["open"]


def test_what_came_in_under_a_label_is_not_put_under_an_earlier_one(tmp_path: Path) -> None:
    """It was offered to those whom that label admits, and to nobody else."""
    with catalog(tmp_path / "c", [of_blue("s", "one")]) as made:
        restricting = made.add([of_blue("s", "one", roles=("auditor",))], relabel=True)
        later = made.add([of_blue("s", "two", revision_name="2", roles=("auditor",))], relabel=False)
        done = made.roll_back(restricting.ingest_id)

        assert done is not None
        assert (done.restored, done.kept) == (0, 1)
        assert label_of_s(made) == ROLES["auditors"]

        made.roll_back(later.ingest_id)
        assert label_of_s(made) == ROLES["open"]
    assert verify(tmp_path / "c") == []


def test_what_came_in_between_two_relabelling_ingests_keeps_the_label_of_the_first(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one")]) as made:
        first = made.add([of_blue("s", "one", roles=("auditor",))], relabel=True)
        made.add([of_blue("s", "two", revision_name="2", roles=("auditor",))], relabel=False)
        second = made.add([of_blue("s", "one", roles=("engineer",))], relabel=True)
        made.roll_back(first.ingest_id)
        assert label_of_s(made) == ROLES["engineers"]
        made.roll_back(second.ingest_id)

        assert label_of_s(made) == ROLES["auditors"]


@pytest.mark.parametrize("first_undone", [0, 1])
def test_two_relabelling_ingests_can_be_rolled_back_in_either_order(tmp_path: Path, first_undone: int) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one", roles=("engineer",))]) as made:
        done = [made.add([of_blue("s", "one", roles=roles)], relabel=True).ingest_id for roles in ((), ("auditor",))]
        made.roll_back(done[first_undone])
        assert label_of_s(made) == (ROLES["open"] if first_undone else ROLES["auditors"])
        made.roll_back(done[1 - first_undone])

        assert label_of_s(made) == ROLES["engineers"]


def test_a_source_that_is_gone_gets_no_label_back(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [of_blue("s", "one", roles=("engineer",))]) as made:
        report = made.add([of_blue("s", "one")], relabel=True)
        made.delete(S)
        made.add([of_blue("s", "another")], relabel=False)
        done = made.roll_back(report.ingest_id)

        assert done is not None
        assert (done.removed.revisions, done.restored, done.kept) == (0, 0, 0)
        assert label_of_s(made) == ROLES["open"]


def test_public_and_tenant_sources_are_rolled_back_alike(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made:
        report = made.add([revision("s", "public"), of_blue("s", "ours")], relabel=False)
        made.roll_back(report.ingest_id)

        assert keys(made) == []
        assert rows(made, "label") == 0
