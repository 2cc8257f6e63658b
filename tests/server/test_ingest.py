"""Tests of server/ingest.py: what can be searched at once, and that nothing unseen decides it (R6)."""

import json
from pathlib import Path
from typing import Any

import pytest

from index.catalog import Catalog
from server import ingest
from server.ingest import Chunker, Outcome
from server.sources import check_body
from tests.worlds import RECIPE, WordEncoder, build, record

TEXT = "one two three four five"


@pytest.fixture(autouse=True)
def a_little_is_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "SMALL_TOKENS", 10)  # TEXT has 5 words, and 2 special tokens


def offer(catalog: Catalog, *records: dict[str, Any]) -> Outcome:
    """Offer records to be searched at once if they are few."""
    encoder = WordEncoder()
    body = "\n".join(map(json.dumps, records)).encode("utf-8")
    return ingest.ingest(
        catalog,
        check_body(body, default_label=None),
        relabel=False,
        chunker=Chunker.of(RECIPE, encoder.counter, document_window=encoder.document_window),
        progress=lambda *_: None,
        encode=encoder.encode_documents,
    )


def test_a_little_can_be_searched_at_once_and_more_waits(tmp_path: Path) -> None:
    build(tmp_path / "c", [])
    with Catalog.open(tmp_path / "c") as catalog:
        assert offer(catalog, record("a", TEXT)).searchable
        assert not offer(catalog, record("b", f"{TEXT} six"), record("c", f"{TEXT} seven")).searchable


def test_a_text_that_somebody_else_has_counts_like_any_other(tmp_path: Path) -> None:
    """Else what waits would tell that a source which the caller does not see has the same text."""
    hidden = record("h", TEXT, access={"roles": ["nobody"]})
    build(tmp_path / "c", [hidden])
    build(tmp_path / "d", [])
    offered = [record("a", TEXT), record("b", f"{TEXT} six")]
    with Catalog.open(tmp_path / "c") as beside, Catalog.open(tmp_path / "d") as alone:
        assert (offer(beside, *offered).searchable, offer(alone, *offered).searchable) == (False, False)


def test_what_can_be_searched_already_does_not_count(tmp_path: Path) -> None:
    """A folder that is offered again takes its one new file in at once."""
    held = [record(name, f"{TEXT} {name}") for name in "abcd"]
    build(tmp_path / "c", held)
    with Catalog.open(tmp_path / "c") as catalog:
        outcome = offer(catalog, *held, record("e", TEXT))

        assert (outcome.searchable, outcome.report.accepted, outcome.report.unchanged) == (True, 1, 4)


def test_what_waits_counts_when_it_is_offered_again(tmp_path: Path) -> None:
    build(tmp_path / "c", [])
    waiting = [record("a", TEXT), record("b", f"{TEXT} six")]
    with Catalog.open(tmp_path / "c") as catalog:
        assert not offer(catalog, *waiting).searchable
        assert not offer(catalog, *waiting).searchable
        assert offer(catalog, waiting[0]).searchable
