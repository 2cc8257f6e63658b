"""Tests of `muniment eval`: the report, and one clear line for what cannot be evaluated."""

import json
from pathlib import Path

import pytest

from tests.muniment.commands import run
from tests.sample.shipped import SAMPLE

BLUE = SAMPLE / "principals" / "blue-technician.json"
QUERIES = {
    "size": ("What is the maximum size of an uploaded file in megabytes?", "POL-UPLOADS"),
    "programs": ("Are executable programs refused?", "POL-EXECUTABLES"),
}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    """Judged queries on the sample, as a BEIR folder without a corpus."""
    folder = tmp_path / "judged"
    folder.mkdir()
    rows = [json.dumps({"_id": name, "text": text}) for name, (text, _) in QUERIES.items()]
    (folder / "queries.jsonl").write_text("\n".join(rows) + "\n")
    judged = [f"{name}\t{source}\t1" for name, (_, source) in QUERIES.items()]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n")
    return folder


def test_all_channels_are_measured_and_the_report_is_written(
    sample_catalog: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.json"

    ran = run(capsys, "eval", sample_catalog, folder, "--as", BLUE, "--measures", "R@10 RR", "--json", out)
    report = json.loads(out.read_text())
    assert (ran.status, list(report["channels"])) == (0, ["lexical", "dense", "hybrid"])
    assert all(figures == {"R@10": 1.0, "RR": figures["RR"]} for figures in report["channels"].values())
    assert (report["queries"], report["k"], report["rerank"]) == (2, 200, False)
    assert [line.split()[0] for line in ran.out.splitlines()] == ["lexical", "dense", "hybrid", "2"]


def test_one_channel_can_be_reranked_under_another_fusion(
    sample_catalog: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.json"
    chosen: list[str | Path] = [
        "--channel",
        "hybrid",
        "--rerank",
        "--fusion",
        '{"method": "rrf", "depth": 100}',
        "--json",
        out,
    ]

    ran = run(capsys, "eval", sample_catalog, folder, "--as", BLUE, *chosen)
    report = json.loads(out.read_text())
    assert (ran.status, list(report["channels"])) == (0, ["hybrid"])
    assert report["formula"]["fusion"] == {"method": "rrf", "rrf_k": 60, "depth": 100}
    assert (report["k"], report["rerank"], report["degraded"]) == (100, True, {"hybrid": []})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["FOLDER", "--measures", "nDGC@10"], "unknown measure nDGC@10"),
        (["FOLDER", "--measures", "R@1000"], "a measure looks at 1000 sources"),
        (["FOLDER", "--channel", "both"], "--channel both: allowed are lexical, dense, hybrid"),
        (["FOLDER", "--fusion", '{"method": "sum"}'], "--fusion: $.method"),
        (["FOLDER", "--fusion", "{"], "--fusion: "),
        (["FOLDER", "--split", "dev"], "qrels/dev.tsv: cannot be read"),
        (["FOLDER", "--json", "absent/report.json"], "there is no folder absent"),
        (["absent"], "absent/queries.jsonl: cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_evaluated_ends_with_2_and_one_line(
    arguments: list[str], told: str, sample_catalog: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [folder if word == "FOLDER" else word for word in arguments]

    ran = run(capsys, "eval", sample_catalog, *given, "--as", BLUE)
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert told in ran.err


def test_judgements_that_are_missing_are_named(
    sample_catalog: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "qrels.tsv").unlink()

    ran = run(capsys, "eval", sample_catalog, folder, "--as", BLUE)
    assert ran.status == 2
    assert "qrels/test.tsv: cannot be read" in ran.err
