"""Tests of `muniment explain`: what an operator reads, and how the command ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from muniment.explain import lines
from tests.muniment.commands import Ran, run
from tests.sample.shipped import SAMPLE

BLUE = SAMPLE / "principals" / "blue-technician.json"
QUERY = "What is the maximum size of an uploaded file in megabytes?"


def explain(capsys: pytest.CaptureFixture[str], catalog: Path, unit: str, *options: str) -> Ran:
    return run(capsys, "explain", catalog, QUERY, unit, "--as", BLUE, "--device", "cpu", *options)


def test_a_unit_in_the_packet_is_followed_to_its_end(sample_catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = explain(capsys, sample_catalog, "blue/POL-UPLOADS@3#0")

    assert ran.status == 0
    assert ran.out.splitlines()[0].startswith("blue/POL-UPLOADS@3#0  EV-")
    assert "standing   usable" in ran.out
    assert ran.out.splitlines()[-1] == "result     in the packet (included)"


def test_another_tenants_unit_is_told_to_the_operator_with_exit_status_1(
    sample_catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = explain(capsys, sample_catalog, "red/POL-UPLOADS@4#0")

    assert ran.status == 1
    assert "label      namespace: NOT MET; needs red, the principal holds public, blue" in ran.out
    assert ran.out.splitlines()[-1] == "result     left at label"


def test_the_record_is_printed_as_json(sample_catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = explain(capsys, sample_catalog, "blue/POL-UPLOADS@2#0", "--json")

    answer = json.loads(ran.out)
    assert (ran.status, answer["left_at"], answer["standing"]) == (1, "standing", "stale")
    assert "blue/POL-UPLOADS@3 is newer" in answer["because"]


def test_what_names_no_unit_ends_with_2_and_one_line(sample_catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = explain(capsys, sample_catalog, "EV-0000000000000000")

    assert (ran.status, ran.out) == (2, "")
    assert ran.err == "muniment: no unit of this catalog has that handle or id\n"


def test_a_request_file_that_holds_a_query_is_refused(
    sample_catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"query": "x"}')

    ran = explain(capsys, sample_catalog, "blue/POL-UPLOADS@3#0", "--request", str(file))

    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1


def test_every_finding_has_a_line() -> None:
    explained: dict[str, Any] = {
        "unit_id": "public/A@1#0",
        "handle": "EV-0000000000000000",
        "label": [
            {"dimension": "namespace", "needs": ["public"], "holds": ["public"], "meets": True},
            {"dimension": "cases", "needs": [], "holds": [], "meets": True},
        ],
        "standing": "usable",
        "because": [],
        "channels": {
            "lexical": {"rank": None, "score": None, "of": 3, "offered": False},
            "dense": {"rank": 9, "score": 77, "of": 12, "offered": False},
        },
        "fused": {"rank": None, "score": None, "of": 4},
        "reranked": None,
        "conflict_groups": [{"id": "CG-1", "members": ["public/A@1#0", "public/B@1#0"]}],
        "packet": {"packet_id": "sha256:0", "disposition": "accepted", "state": "conflicting"},
        "omission": {"reason": "omitted-budget", "unit_id": "public/A@1#0"},
        "left_at": "assembly",
    }

    assert list(lines(explained)) == [
        "public/A@1#0  EV-0000000000000000",
        "label      namespace: met; needs public, the principal holds public",
        "standing   usable",
        "lexical    not among 3",
        "dense      rank 9 of 12, score 77, deeper than the channel offers",
        "fused      not among 4",
        "conflict   CG-1, 2 units",
        "packet     accepted, conflicting",
        "result     left at assembly (omitted-budget)",
    ]
