"""Tests of `muniment sources`: what an operator sees of a catalog, and takes out of it."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Principal, Scope
from evidence.eligibility import Use, catalog_version, is_visible
from evidence.identity import PUBLIC, Namespace, RevisionKey
from index.catalog import Catalog
from muniment import sources
from server.keys import create_key
from tests.muniment.commands import run
from tests.worlds import RECIPE, build, extend, record

BLUE = Namespace("blue")
TEXT = "# Übersicht\n\nThe upload limit is 25 MB.\u202e\U0001f9ea\tIt is not 30 MB.\n"
FULL = record(
    "A",
    TEXT,
    tenant="blue",
    revision="2",
    title="Uploads",
    family="policy",
    owner="ops",
    authority="internal",
    status="superseded",
    effective_from="2025-01-01T00:00:00.000001Z",
    effective_to="2026-01-01T00:00:00+02:00",
    supersedes=[{"source_id": "A", "revision": "1"}, {"source_id": "B", "revision": "1", "public": True}],
    contradicts=[{"source_id": "B", "public": True, "here": {"claim": "max"}, "there": {"quote": "work"}}],
    claims=[{"key": "max", "value": " 25", "quote": "The upload limit is 25 MB."}],
    applies_to=["model-k2"],
    citable_for=["limit"],
    access={"roles": ["engineer", "user:ann"], "purposes": ["service"], "regions": ["eu"], "cases": ["c-1"]},
    metadata={"product": ["x", 7, True], "note": "é"},
)
RECORDS = [
    FULL,
    record("A", "The upload limit is 20 MB.", tenant="blue", revision="1", access=FULL["access"]),
    record("A", "Red has its own limit.", tenant="red"),
    record("B", "How uploads work."),
    record("D", "Not yet.", tenant="blue", status="draft"),
]


@pytest.fixture(name="directory")
def fixture_directory(tmp_path: Path) -> Path:
    build(tmp_path / "catalog", RECORDS)
    return tmp_path / "catalog"


def facts_in(directory: Path) -> dict[RevisionKey, Any]:
    with Catalog.open(directory) as catalog, catalog.read() as reading:
        return dict(reading.facts())


def test_list_counts_every_source_of_every_namespace_in_key_order(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = json.loads(run(capsys, "sources", directory, "list", "--json").out)["sources"]

    assert [(one["namespace"], one["source_id"], one["revisions"]) for one in listed] == [
        ("blue", "A", 2),
        ("blue", "D", 1),
        ("public", "B", 1),
        ("red", "A", 1),
    ]
    of_blue = json.loads(run(capsys, "sources", directory, "list", "--tenant", "blue", "--json").out)["sources"]
    assert of_blue == listed[:2]
    assert "engineer" in run(capsys, "sources", directory, "list").out


def test_show_tells_all_that_is_known_of_each_revision_but_its_text(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(capsys, "sources", directory, "show", "A", "--tenant", "blue", "--json")

    (source,) = json.loads(ran.out)["sources"]
    assert source["label"]["roles"] == ["engineer", "user:ann"]
    assert [one["revision"] for one in source["revisions"]] == ["1", "2"]
    assert source["revisions"][1]["title"] == "Uploads"
    assert source["revisions"][1]["ingest_id"].startswith("ingest-")
    assert "25 MB.\u202e" not in ran.out


def test_show_without_a_namespace_shows_each_that_has_the_source(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(run(capsys, "sources", directory, "show", "A", "--json").out)["sources"]

    assert [source["namespace"] for source in found] == ["blue", "red"]


def test_an_export_taken_in_elsewhere_is_the_same_catalog_for_everybody(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R29: relations, times, labels and what was revoked here among it, a draft as a draft."""
    with Catalog.open(directory) as catalog:
        catalog.revoke(RevisionKey(Namespace("red"), "A", "1"))
        catalog.revoke(RevisionKey(BLUE, "D", "1"))
    exported = run(capsys, "sources", directory, "export").out
    with Catalog.create(tmp_path / "copy", RECIPE, prepare=create_key) as copy:
        extend(copy, [json.loads(line) for line in exported.splitlines()])

    before, after = facts_in(directory), facts_in(tmp_path / "copy")
    assert after == before
    assert len(before) == len(RECORDS)
    for tenant, use, held in product((None, BLUE, Namespace("red")), Use, (("search",), ("ingest", "search"))):
        principal = Principal(sub="ann", tenant=tenant, regions=("eu",), scope=held)
        scope = Scope(principal=principal, purpose=None)
        seen = [[one for one in facts.values() if is_visible(one, scope=scope, use=use)] for facts in (before, after)]
        assert catalog_version(seen[0]) == catalog_version(seen[1])
        drafts = {one.key.source_id for one in seen[1]} & {"D"}
        assert bool(drafts) is (tenant == BLUE and use is Use.DRAFT and "ingest" in held)


def test_an_export_taken_in_again_at_home_changes_nothing(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Catalog.open(directory) as catalog:
        catalog.revoke(RevisionKey(PUBLIC, "B", "1"))
        catalog.revoke(RevisionKey(BLUE, "D", "1"))
        before = facts_in(directory)
        lines = run(capsys, "sources", directory, "export").out.splitlines()
        extend(catalog, [json.loads(line) for line in lines])

    assert facts_in(directory) == before


def test_an_export_is_utf_8_lines_whatever_the_terminal_says(
    directory: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    sources.run(directory, "export", tenant="blue")

    lines = capfdbinary.readouterr().out.splitlines()
    assert [json.loads(line)["revision"] for line in lines] == ["1", "2", "1"]
    assert json.loads(lines[1])["text"] == TEXT


def test_delete_takes_out_the_source_of_one_namespace(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "sources", directory, "delete", "A", "--tenant", "blue", "--json")

    assert json.loads(ran.out) == {"namespace": "blue", "source_id": "A", "revisions": 2, "units": 2}
    assert sorted(key.source_id + key.namespace for key in facts_in(directory)) == ["Ared", "Bpublic", "Dblue"]
    again = run(capsys, "sources", directory, "delete", "A", "--tenant", "blue")
    assert (again.status, again.out, len(again.err.splitlines())) == (1, "", 1)


def test_delete_needs_no_namespace_where_only_one_has_the_source(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "sources", directory, "delete", "B").status == 0
    ran = run(capsys, "sources", directory, "delete", "A")
    assert ran.status == 2
    assert "is in blue, red; say --public or --tenant T" in ran.err
    assert len(facts_in(directory)) == len(RECORDS) - 1


def test_rollback_undoes_an_ingest_by_its_id(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = facts_in(directory)
    with Catalog.open(directory) as catalog:
        extend(catalog, [record("B", "Newer.", revision="2"), record("E", "Another.")])
        with catalog.read() as reading:
            ingest_id = reading.ingest_ids()[RevisionKey(PUBLIC, "E", "1")]

    ran = run(capsys, "sources", directory, "rollback", ingest_id, "--json")
    assert json.loads(ran.out) == {
        "ingest_id": ingest_id,
        "revisions": 2,
        "units": 2,
        "sources": 1,
        "labels_restored": 0,
        "labels_kept": 0,
    }
    assert facts_in(directory) == before
    assert run(capsys, "sources", directory, "rollback", ingest_id).status == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["drop"], "allowed are list, show, export, delete, rollback"),
        (["delete"], "delete needs a source ID"),
        (["list", "A"], "list takes no ID"),
        (["show", "A", "--public", "--tenant", "blue"], "say only one of --public and --tenant T"),
        (["list", "--tenant", "public"], "no tenant is called 'public'"),
        (["rollback", "ingest-1", "--public"], "say neither --public nor --tenant"),
        (["export", "--json"], "export writes JSON lines already"),
    ],
)
def test_bad_usage_ends_with_2_and_one_line_and_changes_nothing(
    directory: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(capsys, "sources", directory, *arguments)

    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert said in ran.err


def test_what_is_not_there_ends_with_1(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["show", "Z"], ["delete", "Z"], ["show", "B", "--tenant", "blue"]):
        ran = run(capsys, "sources", directory, *arguments)
        assert (ran.status, ran.out, len(ran.err.splitlines())) == (1, "", 1)
