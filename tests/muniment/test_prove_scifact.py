"""Does the proof hold on a real data set that three tenants share, and does it fail when a fault is switched on?

Abstracts of SciFact, split over three tenants and the public by chance, many of them under roles, purposes or regions
of which a principal holds some.
"""

import json
import random
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from index.catalog import Catalog
from muniment.ingest import NO_LABEL, ingest
from muniment.initialize import initialize
from muniment.reindex import reindex as reindex_as_operator
from server import opening
from tests.converters import write_jsonl
from tests.muniment.commands import run
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.mutants.every import MUTANTS
from tests.real_data import data_folder
from tests.worlds import build

TENANTS = ("amber", "blue", "coral")
ROLES, PURPOSES, REGIONS = ("clinician", "editor", "statistician"), ("review", "trial"), ("east", "west")
GLOBAL_N = next(mutant for mutant in MUTANTS if mutant.number == 1)


def corpus(most: int) -> Iterator[dict[str, Any]]:
    """The first abstracts as source revisions, each under a label by chance."""
    chance = random.Random(11)
    with (data_folder() / "scifact" / "corpus.jsonl").open() as lines:
        for _, line in zip(range(most), lines, strict=False):
            row = json.loads(line)
            access: dict[str, Any] = {"public": True} if chance.random() < 0.2 else {"tenant": chance.choice(TENANTS)}
            if chance.random() < 0.4:
                access["roles"] = chance.sample(ROLES, chance.choice((1, 2)))
            if chance.random() < 0.15:
                access["purposes"] = [chance.choice(PURPOSES)]
            if chance.random() < 0.15:
                access["regions"] = [chance.choice(REGIONS)]
            yield {
                "source_id": row["_id"],
                "revision": "1",
                "title": row["title"],
                "text": row["text"],
                "access": access,
            }


def principals(folder: Path) -> list[Path]:
    """A principal file for each tenant, with roles by chance."""
    chance = random.Random(12)
    paths = []
    for tenant in TENANTS:
        path = folder / f"{tenant}.json"
        grants = {"roles": chance.sample(ROLES, 2), "purposes": [chance.choice(PURPOSES)], "regions": ["east"]}
        path.write_text(json.dumps({"sub": f"reader-{tenant}", "tenant": tenant, **grants}))
        paths.append(path)
    return paths


def questions(folder: Path, count: int) -> Path:
    """The first judged queries."""
    judged = {line.split("\t")[0] for line in (data_folder() / "scifact" / "qrels.tsv").read_text().splitlines()[1:]}
    rows = map(json.loads, (data_folder() / "scifact" / "queries.jsonl").read_text().splitlines())
    chosen = [row["text"] for row in rows if row["_id"] in judged][:count]
    assert len(chosen) == count
    path = folder / "questions.txt"
    path.write_text("".join(f"{query}\n" for query in chosen))
    return path


@pytest.mark.real_data
def test_three_tenants_that_share_a_part_of_scifact_get_what_is_theirs_and_a_fault_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R6, with an encoder that is quick."""
    monkeypatch.setattr(opening, "open_encoder", lambda *_, **__: FastEncoder())
    monkeypatch.setenv("MUNIMENT_RERANKER", "none-here")
    directory = tmp_path / "catalog"
    build(directory, list(corpus(300)))
    asked, everyone = questions(tmp_path, 4), principals(tmp_path)

    reports = [
        json.loads(run(capsys, "prove", directory, "--as", who, "--queries", asked, "--json").out) for who in everyone
    ]
    assert [report["verdict"] for report in reports] == ["identical"] * 3
    assert {report["answers"] for report in reports} == {4 * 5 + 3 + 2 * 4}
    for report in reports:
        assert 0 < report["views"][0]["visible"]["sources"] < report["catalog"]["sources"] / 2
    with GLOBAL_N.switched_on():
        found = [
            run(capsys, "prove", directory, "--as", who, "--queries", asked, "--limit", "1", "--json")
            for who in everyone
        ]
    assert [ran.status for ran in found] == [1] * 3
    for ran in found:
        first = json.loads(ran.out)["first"]
        assert (first["route"], first["request"]) == ("POST /v1/search", "hybrid")
        assert re.fullmatch(r"\$\.hits\[\d+\]\.scores?(\.\w+)?", first["field"])


@pytest.mark.real_data
@pytest.mark.soak
def test_three_tenants_that_share_all_of_scifact_get_what_is_theirs_and_a_fault_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R6: 5,183 abstracts, 300 queries for each of three principals, with the packaged encoder and reranker."""
    directory, records = tmp_path / "catalog", tmp_path / "records.jsonl"
    write_jsonl(corpus(10_000), records)
    initialize(directory, device="cpu")
    ingest(directory, [records], label=NO_LABEL)
    reindex_as_operator(directory, device="cpu")
    with Catalog.open(directory) as catalog, catalog.read() as reading:
        assert len(reading.facts()) == 5183
    asked, everyone = questions(tmp_path, 300), principals(tmp_path)

    for who in everyone:
        begun = time.monotonic()
        ran = run(capsys, "prove", directory, "--as", who, "--queries", asked, "--json", "--device", "cpu")
        report = json.loads(ran.out)
        with capsys.disabled():
            peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
            figures = {name: report[name] for name in ("verdict", "principal", "answers", "bytes", "statuses")}
            print(json.dumps({**figures, "views": report["views"], "s": round(time.monotonic() - begun), "gib": peak}))
        assert (ran.status, report["verdict"], report["differing"]) == (0, "identical", 0)
        assert report["answers"] >= 300 * 5
    with GLOBAL_N.switched_on():
        found = run(capsys, "prove", directory, "--as", everyone[0], "--queries", asked, "--limit", "20")
    with capsys.disabled():
        print(found.out)
    assert found.status == 1
    assert "first: POST /v1/search (hybrid)" in found.out
