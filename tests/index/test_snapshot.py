from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evidence.access import Scope
from evidence.eligibility import Filter, Standing, Use
from evidence.identity import PUBLIC, RevisionKey
from evidence.instant import parse_instant
from evidence.revision import Status
from index.catalog import Catalog
from index.catalog_write import NewRevision
from index.compartments import Eligible
from index.errors import NoGeneration
from index.snapshot import Snapshot, Snapshots
from tests.index.catalog_builders import BLUE, NOW, RED, build_index, catalog, eligibility, revision, scope

S1, S2 = RevisionKey(PUBLIC, "s", "1"), RevisionKey(PUBLIC, "s", "2")


def keys_in(snapshot: Snapshot, eligible: Eligible) -> list[tuple[str, ...]]:
    """The units behind the eligible rows, in key order."""
    return sorted((*key[:3], str(key.ordinal)) for key in snapshot.keys_of(eligible.ranges.rows()))


def indexed(directory: Path, revisions: Iterable[NewRevision]) -> Catalog:
    made = catalog(directory, revisions)
    build_index(made)
    return made


def test_rows_are_those_of_usable_revisions_and_no_others(tmp_path: Path) -> None:
    held = [
        revision("open", "a", "b"),
        revision("mine", "c", namespace=BLUE),
        revision("theirs", "d", namespace=RED),
        revision("closed", "e", namespace=BLUE, roles=["engineer"]),
        revision("withdrawn", "f", status=Status.REVOKED),
        revision("future", "g", effective_from="2030-01-01T00:00:00Z"),
        revision("draft", "h", namespace=BLUE, status=Status.DRAFT),
    ]
    with indexed(tmp_path / "c", held) as made, Snapshots(made).pin() as snapshot:
        found = snapshot.resolve(eligibility(scope(tenant=BLUE)))

        assert keys_in(snapshot, found) == [
            ("blue", "mine", "1", "0"),
            ("public", "open", "1", "0"),
            ("public", "open", "1", "1"),
        ]
    assert {key.source_id: standing.value for key, standing in found.standings.items()} == {
        "open": "usable",
        "mine": "usable",
        "withdrawn": "revoked",
        "future": "stale",
    }
    assert list(found.visible) == sorted(found.visible)
    assert found.unindexed == ()


@pytest.mark.parametrize(
    ("who", "sources"),
    [
        (scope(), {"open"}),
        (scope(tenant=BLUE), {"open", "mine"}),
        (scope(tenant=BLUE, roles=["engineer"]), {"open", "mine", "closed"}),
        (scope(tenant=RED, roles=["engineer"]), {"open"}),
        (scope(tenant=BLUE, purposes=["audit"], purpose="audit"), {"open", "mine", "audited"}),
    ],
)
def test_visibility_follows_the_label(tmp_path: Path, who: Scope, sources: set[str]) -> None:
    """R1, R2."""
    held = [
        revision("open", "a"),
        revision("mine", "b", namespace=BLUE),
        revision("closed", "c", namespace=BLUE, roles=["engineer"]),
        revision("audited", "d", namespace=BLUE, purposes=["audit"]),
    ]
    with indexed(tmp_path / "c", held) as made, Snapshots(made).pin() as snapshot:
        found = snapshot.resolve(eligibility(who))

    assert {key.source_id for key in found.visible} == {key.source_id for key in found.usable} == sources
    assert found.ranges.count == len(sources)


def test_a_relabelled_source_is_judged_by_its_new_label_at_once(tmp_path: Path) -> None:
    """The generation still has it under the old one; only the catalog decides."""
    with indexed(tmp_path / "c", [revision("s", "text", namespace=BLUE)]) as made:
        snapshots = Snapshots(made)
        with snapshots.pin() as snapshot:
            assert snapshot.resolve(eligibility(scope(tenant=BLUE))).ranges.count == 1
        made.add([revision("s", "text", namespace=BLUE, roles=["engineer"])], relabel=True)

        with snapshots.pin() as snapshot:
            assert snapshot.resolve(eligibility(scope(tenant=BLUE))).ranges.count == 0
            engineer = snapshot.resolve(eligibility(scope(tenant=BLUE, roles=["engineer"])))
            assert engineer.ranges.count == 1
            assert engineer.unindexed == ()


def test_a_usable_revision_without_rows_is_named_and_an_invisible_one_is_not(tmp_path: Path) -> None:
    """R6, R15."""
    with indexed(tmp_path / "c", [revision("s", "text")]) as made:
        made.add([revision("t", "new"), revision("u", "new", namespace=RED)], relabel=False)
        with Snapshots(made).pin() as snapshot:
            found = snapshot.resolve(eligibility(scope()))

    assert [key.source_id for key in found.unindexed] == ["t"]
    assert [key.source_id for key in found.usable] == ["s", "t"]
    assert found.ranges.count == 1


def test_rows_of_other_content_under_the_same_key_are_not_used(tmp_path: Path) -> None:
    """Taken out and brought in again with other words: the generation's rows speak of the old ones."""
    with indexed(tmp_path / "c", [revision("s", "old")]) as made:
        with made.write() as connection:
            for table in ("unit", "revision"):
                connection.exec_driver_sql(f"DELETE FROM {table}")
            connection.exec_driver_sql("UPDATE catalog_state SET change = change + 1, revisions = revisions - 1")
        made.add([revision("s", "new")], relabel=False)
        with Snapshots(made).pin() as snapshot:
            found = snapshot.resolve(eligibility(scope()))

    assert found.ranges.count == 0
    assert found.unindexed == (S1,)


def test_a_revision_without_text_is_indexed_though_it_has_no_rows(tmp_path: Path) -> None:
    with indexed(tmp_path / "c", [revision("s"), revision("t", "x")]) as made, Snapshots(made).pin() as snapshot:
        found = snapshot.resolve(eligibility(scope()))

        assert found.unindexed == ()
        assert keys_in(snapshot, found) == [("public", "t", "1", "0")]


def test_a_snapshot_stays_what_it_was_while_others_write_and_publish(tmp_path: Path) -> None:
    """G8."""
    with indexed(tmp_path / "c", [revision("s", "one")]) as made:
        snapshots = Snapshots(made)
        with snapshots.pin() as snapshot:
            name = snapshot.segments.name
            made.add([revision("t", "two")], relabel=False)
            build_index(made)

            found = snapshot.resolve(eligibility(scope()))
            assert (found.ranges.count, len(found.visible), found.unindexed) == (1, 1, ())
            assert snapshot.segments.name == name
            with snapshots.pin(segments=snapshot.segments) as again:
                assert again.segments is snapshot.segments
                assert [key.source_id for key in again.resolve(eligibility(scope())).unindexed] == ["t"]
        with snapshots.pin() as later:
            assert later.resolve(eligibility(scope())).ranges.count == 2


def test_without_a_generation_there_is_no_snapshot(tmp_path: Path) -> None:
    with catalog(tmp_path / "c") as made, pytest.raises(NoGeneration), Snapshots(made).pin():
        pass


def test_the_moment_decides_which_revision_is_usable(tmp_path: Path) -> None:
    """R4. Kept answers hold only inside their interval."""
    turn = "2025-07-01T00:00:00Z"
    held = [revision("s", "old", effective_to=turn), revision("s", "new", revision="2", effective_from=turn)]
    before, after = parse_instant("2025-06-30T23:59:59.999999Z"), parse_instant(turn)
    with indexed(tmp_path / "c", held) as made, Snapshots(made).pin() as snapshot:
        for _ in range(2):  # the second time from what is kept
            for at, usable in ((before, S1), (after, S2), (before, S1)):
                found = snapshot.resolve(eligibility(scope(), at=at))
                assert list(found.usable) == [usable]
                assert found.eligibility.at == at
        assert found.validity.end == after
        as_of = snapshot.resolve(eligibility(scope(), as_of=before))
        assert list(as_of.usable) == [S1]


def test_each_part_of_a_request_is_told_apart_in_what_is_kept(tmp_path: Path) -> None:
    """R35: what was worked out for one request is never the answer to another."""
    held = [
        revision("s", "a", namespace=BLUE, status=Status.DRAFT),
        revision("t", "b", namespace=BLUE, effective_to="2020-01-01T00:00:00Z"),
        revision("u", "c", namespace=BLUE),
    ]
    plain = eligibility(scope(tenant=BLUE, scopes=["ingest", "search"]))
    requests = {
        "u": plain,
        "su": replace(plain, use=Use.DRAFT),
        "tu": replace(plain, use=Use.HISTORICAL),
        "": replace(plain, filter=Filter(family=())),
        "none": replace(plain, scope=scope()),
    }
    with indexed(tmp_path / "c", held) as made, Snapshots(made).pin() as snapshot:
        for _ in range(2):
            for sources, request in requests.items():
                found = snapshot.resolve(request)
                assert [key.source_id for key in found.usable] == list(sources.replace("none", ""))
                assert found.eligibility is request


def test_a_second_request_of_the_same_scope_works_nothing_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with indexed(tmp_path / "c", [revision("s", "one")]) as made:
        snapshots = Snapshots(made)
        with snapshots.pin() as snapshot:
            first = snapshot.resolve(eligibility(scope()))
        monkeypatch.delattr("index.snapshot.see")
        monkeypatch.delattr("index.snapshot.resolve")

        with snapshots.pin() as snapshot:
            assert snapshot.resolve(eligibility(scope())).ranges is first.ranges


def test_what_is_kept_for_scopes_is_bounded_by_what_they_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.snapshot.SCOPE_WEIGHT", 0)
    monkeypatch.setattr("index.snapshot.REVISIONS_KEPT", 5)
    with indexed(tmp_path / "c", [revision("s", "one"), revision("t", "two")]) as made:
        snapshots = Snapshots(made)
        who = [scope(roles=[str(number)]) for number in range(4)]
        with snapshots.pin() as snapshot:
            found = [(asking, snapshot.resolve(eligibility(asking))) for asking in who]
            kept = [snapshot.resolve(eligibility(asking)).ranges is old.ranges for asking, old in reversed(found)]

    assert kept == [True, True, False, False]  # two of two revisions each fit, a third does not


def test_filters_and_scopes_that_see_nothing_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What callers choose freely is bounded too: each filter of a thousand values takes room of its own."""
    monkeypatch.setattr("index.snapshot.REVISIONS_KEPT", 5000)
    nobody = scope(roles=["nobody"])
    with indexed(tmp_path / "c", []) as made:
        snapshots = Snapshots(made)
        with snapshots.pin() as snapshot:
            for number in range(20):
                chosen = Filter(source_id=tuple(f"{number}-{value}" for value in range(1000)))
                snapshot.resolve(replace(eligibility(nobody), filter=chosen))
    assert len(snapshots._eligible._kept) <= 4


def test_each_answer_is_of_one_state_while_others_write(tmp_path: Path) -> None:
    """G8: the version and the revisions of an answer belong together, whichever thread asks."""
    states = 12
    with indexed(tmp_path / "c", [revision("s0", "x")]) as made:
        snapshots = Snapshots(made)

        def ask() -> set[tuple[str, int, int]]:
            seen, count = set(), 0
            while count < states:
                with snapshots.pin() as snapshot:
                    found = snapshot.resolve(eligibility(scope()))
                count = len(found.usable)
                seen.add((found.catalog_version, count, found.ranges.count + len(found.unindexed)))
            return seen

        with ThreadPoolExecutor(4) as threads:
            asking = [threads.submit(ask) for _ in range(4)]
            for number in range(1, states):
                made.add([revision(f"s{number}", "x")], relabel=False)
                if number % 4 == 0:
                    build_index(made)
            seen = {answer for answers in asking for answer in answers.result()}

    assert all(count == rows for _, count, rows in seen)
    assert len({version for version, _, _ in seen}) == len({count for _, count, _ in seen})


NAMES = ("s", "t")
STATUSES = st.sampled_from(Status)
TIMES = st.sampled_from([None, "2025-05-01T00:00:00Z", "2025-06-01T00:00:00Z", "2025-07-01T00:00:00Z"])


@st.composite
def worlds(draw: st.DrawFn) -> list[NewRevision]:
    """A few revisions of a few sources under labels of three namespaces, each source under one label."""
    held: list[NewRevision] = []
    for namespace in (PUBLIC, BLUE, RED):
        for name in NAMES:
            roles = draw(st.sampled_from([(), ("engineer",), ("user:ada",), ("user:eve",)]))
            for number in range(draw(st.integers(0, 3))):
                start, end = draw(TIMES), draw(TIMES)
                if start is not None and end is not None and end <= start:
                    end = None
                own = [RevisionKey(namespace, name, str(older)) for older in range(number)]
                other = [RevisionKey(namespace, "s", "0")] if name == "t" else []
                held.append(
                    revision(
                        name,
                        *(f"{word} " for word in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3))),
                        revision=str(number),
                        namespace=namespace,
                        roles=roles,
                        status=draw(STATUSES),
                        effective_from=start,
                        effective_to=end,
                        supersedes=draw(st.lists(st.sampled_from([*own, *other]), max_size=1)) if own or other else (),
                    )
                )
    return held


def outcome(snapshot: Snapshot, found: Eligible) -> tuple[Any, ...]:
    """Everything that an answer may depend on. Rows as the units they stand for."""
    rows = found.ranges.rows()
    by_identity = sorted(rows.tolist(), key=lambda row: int(snapshot.segments.base.order[row]))
    codes: Sequence[Any] = [snapshot.segments.base.codes[row].tolist() for row in by_identity]
    return (
        snapshot.keys_of(by_identity),
        codes,
        list(found.visible.items()),
        list(found.usable.items()),
        list(found.standings.items()),
        found.catalog_version,
        found.validity,
        found.unindexed,
    )


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds(), late=st.integers(0, 3), use=st.sampled_from(Use))
def test_what_is_invisible_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, world: list[NewRevision], late: int, use: Use
) -> None:
    """R6, M1: the whole catalog against one that holds only what the caller may see."""
    who = scope(tenant=BLUE, roles=["engineer"], scopes=["ingest", "search"])
    request = eligibility(who, use=use, at=NOW)
    folder = tmp_path_factory.mktemp("world")
    split = len(world) - late  # the last ones come after the reindex, so that they have no rows
    with indexed(folder / "full", world[:split]) as full:
        full.add(world[split:], relabel=False)
        with Snapshots(full).pin() as snapshot:
            found = snapshot.resolve(request)
            expected = outcome(snapshot, found)
    with indexed(folder / "visible", [new for new in world[:split] if new.facts.key in found.visible]) as visible:
        visible.add([new for new in world[split:] if new.facts.key in found.visible], relabel=False)
        with Snapshots(visible).pin() as snapshot:
            assert outcome(snapshot, snapshot.resolve(request)) == expected
    assert all(found.standings[key] is Standing.USABLE for key in found.usable)
