"""Tests of `muniment revoke`: what an operator takes back, and where."""

import json
from pathlib import Path

import pytest

from evidence.grants import Dimension, Grant, Revocations, Subject, Token
from evidence.identity import PUBLIC, Namespace, RevisionKey
from index.catalog import Catalog
from tests.muniment.commands import run
from tests.worlds import build, record

BLUE = Namespace("blue")


@pytest.fixture(name="directory")
def fixture_directory(tmp_path: Path) -> Path:
    build(tmp_path / "catalog", [record("A", "ours", tenant="blue"), record("A", "public"), record("B", "public too")])
    return tmp_path / "catalog"


def revocations_of(directory: Path) -> Revocations:
    with Catalog.open(directory) as catalog, catalog.read() as reading:
        return reading.revocations


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--subject", "ann"], Revocations(subjects=frozenset({Subject(None, "ann")}))),
        (["--subject", "ann", "--tenant", "blue"], Revocations(subjects=frozenset({Subject(BLUE, "ann")}))),
        (["--subject", "ann", "--public"], Revocations(subjects=frozenset({Subject(PUBLIC, "ann")}))),
        (["--token-id", "j-1"], Revocations(token_ids=frozenset({Token(None, "j-1")}))),
        (
            ["--grant", '{"subject": "ann", "purpose": "service"}', "--tenant", "blue"],
            Revocations(grants=frozenset({Grant(BLUE, "ann", Dimension.PURPOSE, "service")})),
        ),
    ],
)
def test_what_is_said_is_revoked_everywhere_or_in_one_namespace(
    directory: Path, arguments: list[str], expected: Revocations, capsys: pytest.CaptureFixture[str]
) -> None:
    first = json.loads(run(capsys, "revoke", directory, *arguments, "--json").out)
    again = json.loads(run(capsys, "revoke", directory, *arguments, "--json").out)

    assert revocations_of(directory) == expected
    assert (first["changed"], again["changed"]) == (True, False)


def test_a_revision_is_revoked_in_the_one_namespace_that_has_its_source(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(capsys, "revoke", directory, "--source", "B", "--revision", "1", "--json")

    assert json.loads(ran.out) == {"namespace": "public", "revoked": "revision", "changed": True}
    with Catalog.open(directory) as catalog, catalog.read() as reading:
        assert reading.facts()[RevisionKey(PUBLIC, "B", "1")].status == "revoked"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "say one of --subject"),
        (["--subject", "ann", "--token-id", "j"], 2, "exactly one of"),
        (["--source", "A"], 2, "source_id and revision go together"),
        (["--grant", "{"], 2, "--grant: "),
        (["--grant", '{"subject": "ann"}'], 2, "$.grant"),
        (["--subject", "ann", "--public", "--tenant", "blue"], 2, "only one of --public and --tenant T"),
        (["--source", "A", "--revision", "1"], 2, "is in blue, public; say --public or --tenant T"),
        (["--source", "Z", "--revision", "1"], 1, "there is no source 'Z'"),
        (["--source", "B", "--revision", "9"], 1, "has no revision '9'"),
    ],
)
def test_what_cannot_be_revoked_ends_in_one_line_and_changes_nothing(
    directory: Path, arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(capsys, "revoke", directory, *arguments)

    assert (ran.status, ran.out, len(ran.err.splitlines())) == (status, "", 1)
    assert said in ran.err
    assert revocations_of(directory) == Revocations()
