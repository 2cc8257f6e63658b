"""Tests of `index/catalog_coded.py`: what waits for a reindex, and that nothing but the reindex and what was offered
decides it (R6)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config

from evidence.identity import SourceKey
from index.catalog import Catalog
from index.catalog_write import NewRevision
from index.publishing import publish
from index.snapshot import Snapshots
from tests.index.catalog_builders import BLUE, RED, arrive, build_index, catalog, eligibility, revision, scope

S = SourceKey(BLUE, "s")
OURS = revision("s", "one ", namespace=BLUE)
HIDDEN = revision("s", "one ", namespace=BLUE, roles=["nobody"])


def found_and_waiting(made: Catalog, snapshots: Snapshots | None = None) -> tuple[int, list[str]]:
    """How many rows a principal of blue may search, and which sources wait for a reindex."""
    with (snapshots or Snapshots(made)).pin() as snapshot:
        found = snapshot.resolve(eligibility(scope(tenant=BLUE)))
        return found.ranges.count, [key.source_id for key in found.unindexed]


def delete(made: Catalog) -> None:
    made.delete(S)


def roll_back(made: Catalog) -> None:
    with made.read() as reading:
        ingest_ids = set(reading.ingest_ids().values())
    for ingest_id in ingest_ids:
        made.roll_back(ingest_id)


@pytest.mark.parametrize("take_out", [delete, roll_back])
@pytest.mark.parametrize("before", [OURS, HIDDEN], ids=["seen", "unseen"])
def test_what_was_published_and_taken_out_waits_when_it_comes_in_again(
    tmp_path: Path, before: NewRevision, take_out: Callable[[Catalog], None]
) -> None:
    """Its rows are still published: found at once, it would tell that it had been there, where nobody saw it."""
    with catalog(tmp_path / "c", [before]) as made:
        build_index(made)
        take_out(made)
        made.add([OURS], relabel=False)

        assert found_and_waiting(made) == (0, ["s"])
        build_index(made)
        assert found_and_waiting(made) == (1, [])


def test_what_comes_in_again_with_its_codes_can_be_searched_at_once(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [OURS]) as made:
        build_index(made)
        delete(made)
        arrive(made, OURS)

        assert found_and_waiting(made) == (1, [])


def test_a_reindex_ends_the_waiting_for_those_who_saw_it(tmp_path: Path) -> None:
    """The mark is a change like any other: whoever kept what was waiting reads again."""
    with catalog(tmp_path / "c") as made:
        build_index(made)
        snapshots = Snapshots(made)
        made.add([OURS], relabel=False)
        assert found_and_waiting(made, snapshots) == (0, ["s"])
        build_index(made)

        assert found_and_waiting(made, snapshots) == (1, [])


def test_a_reindex_with_nothing_to_do_is_no_change(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [OURS]) as made:
        build_index(made)
        with made.read() as reading:
            change = reading.change
        build_index(made)

        with made.read() as reading:
            assert reading.change == change


def test_a_relabel_does_not_make_what_is_published_wait(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [HIDDEN]) as made:
        build_index(made)
        made.relabel(S, OURS.facts.label)

        assert found_and_waiting(made) == (1, [])


def test_a_source_relabelled_while_it_is_published_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the state that was published, under whichever label."""
    with catalog(tmp_path / "c", [HIDDEN]) as made:
        monkeypatch.setattr("index.reindex.publish", _then(publish, lambda: made.relabel(S, OURS.facts.label)))
        build_index(made)

        assert found_and_waiting(made) == (1, [])


def _then(first: Callable[..., str], second: Callable[[], object]) -> Callable[..., str]:
    def both(*arguments: object, **named: object) -> str:
        found = first(*arguments, **named)
        second()
        return found

    return both


def test_what_comes_in_again_while_the_same_is_published_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def again() -> None:
        made.delete(S)
        made.add([OURS], relabel=False)

    with catalog(tmp_path / "c", [OURS]) as made:
        monkeypatch.setattr("index.reindex.publish", _then(publish, again))
        build_index(made)

        assert found_and_waiting(made) == (0, ["s"])


def test_what_an_older_catalog_published_does_not_wait(tmp_path: Path) -> None:
    with catalog(tmp_path / "c", [OURS]) as made:
        build_index(made)
        made.add([revision("t", "two ", namespace=BLUE), revision("u", "one ", namespace=RED)], relabel=False)
        with made.write() as connection:
            config = Config()
            config.set_main_option("script_location", "index:migrations")
            config.set_main_option("path_separator", "os")
            config.attributes["connection"] = connection
            command.downgrade(config, "0002")

    with Catalog.open(tmp_path / "c") as opened:
        assert found_and_waiting(opened) == (1, ["t"])
