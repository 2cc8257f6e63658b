"""Tests of `muniment prove`: what it says, and how it ends. What it compares: tests/eval/proof/test_proving."""

import json
import re
import shutil
import signal
from pathlib import Path
from unittest import mock

import pytest

from eval.proof import proving
from index.catalog import Catalog
from server import opening
from server.keys import create_key
from tests.muniment.commands import run
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.mutants.every import MUTANTS
from tests.sample.shipped import SAMPLE
from tests.worlds import RECIPE, build, record

GLOBAL_N = next(mutant for mutant in MUTANTS if mutant.number == 1)
NOT_COMPARED = (
    "not compared: how long an answer takes; the milliseconds of `run` (the stopwatch stands still on both sides);"
    " answers to an overload (429, 503); the headers `date` and `x-request-id`"
)


@pytest.fixture(scope="module", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four blue sources, one of them for supervisors; ten of red."""
    directory = tmp_path_factory.mktemp("prove") / "catalog"
    texts = ["the drum latch is tight", "the pump filter", "a bolt of the latch"]
    blue = [record(f"B-{number}", text, tenant="blue") for number, text in enumerate(texts)]
    hidden = [record("B-9", "the latch of the panel", tenant="blue", access={"roles": ["supervisor"]})]
    build(directory, [*blue, *hidden, *(record(f"R-{number}", "latch", tenant="red") for number in range(10))])
    return directory


@pytest.fixture(name="blue")
def fixture_blue(tmp_path: Path) -> Path:
    """A principal file."""
    path = tmp_path / "blue.json"
    path.write_text('{"sub": "ann", "tenant": "blue", "roles": ["technician"], "purposes": ["repair"]}')
    return path


@pytest.fixture(name="words")
def fixture_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder of `made`, and no reranker."""
    monkeypatch.setattr(opening, "open_encoder", lambda *_, **__: FastEncoder())
    monkeypatch.setenv("MUNIMENT_RERANKER", "none-here")


def test_the_sample_answers_alike_with_the_packaged_encoder_and_reranker(
    sample_catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R6."""
    blue = SAMPLE / "principals" / "blue-technician.json"

    ran = run(capsys, "prove", sample_catalog, "--as", blue, "--limit", "1", "--device", "cpu")
    assert (ran.status, ran.err.count("Traceback")) == (0, 0)
    who, view, compared, verdict, rest = ran.out.splitlines()
    assert who == "ines.calder of blue"
    assert view == "  no purpose: 47 of 66 sources visible, 74 of 95 units; 1 query"
    assert re.fullmatch(r"compared 16 answers, \d+ bytes of bodies: 16 with status 200", compared)
    assert verdict == "identical"
    assert rest == NOT_COMPARED


@pytest.mark.usefixtures("words")
def test_a_fault_ends_with_1_and_the_first_field_that_differs(
    made: Path, blue: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R9: N counted over everything."""
    queries = tmp_path / "queries.txt"
    queries.write_text("drum latch\n")

    with GLOBAL_N.switched_on():
        shown = run(capsys, "prove", made, "--as", blue, "--queries", queries)
        printed = run(capsys, "prove", made, "--as", blue, "--queries", queries, "--json")
    assert (shown.status, printed.status) == (1, 1)
    report = json.loads(printed.out)
    assert report["verdict"] == "differs"
    assert report["first"]["request"] == "hybrid"
    assert re.fullmatch(r"\$\.hits\[\d\]\.scores?(\.\w+)?", report["first"]["field"])
    lines = shown.out.splitlines()
    assert f"{report['differing']} of {report['answers']} answers differ" in lines
    assert f'first: POST /v1/search (hybrid) for "drum latch": {report["first"]["field"]}' in lines
    assert f"  over the whole catalog: {report['first']['whole_catalog']}" in lines
    assert f"  over what is visible:   {report['first']['visible_only']}" in lines
    assert lines[-1] == NOT_COMPARED


@pytest.mark.usefixtures("words")
def test_the_report_as_json_says_all_that_was_compared(
    made: Path, blue: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"query": "latch", "purpose": "repair"}\n{"query": "pump"}\n')

    report = json.loads(run(capsys, "prove", made, "--as", blue, "--queries", queries, "--limit", "1", "--json").out)
    assert report["bytes"] > 1000
    assert {name: value for name, value in report.items() if name != "bytes"} == {
        "verdict": "identical",
        "principal": {"sub": "ann", "tenant": "blue"},
        "catalog": {"sources": 14, "units": 14},
        "views": [{"purpose": "repair", "drafts": False, "visible": {"sources": 3, "units": 3}, "queries": 1}],
        "views_not_asked": [],
        "answers": 16,
        "statuses": {"200": 16},
        "differing": 0,
        "first": None,
        "not_compared": NOT_COMPARED.removeprefix("not compared: ").split("; "),
    }


@pytest.mark.usefixtures("words")
def test_a_report_that_nobody_reads_is_not_taken_for_a_difference(
    made: Path, blue: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("muniment.prove.print_json", closed)

    ran = run(capsys, "prove", made, "--as", blue, "--limit", "1", "--json")
    assert ran.status == 2
    assert ran.err.splitlines()[-1] == "muniment: nobody reads the report: its pipe was closed"


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"query": "a"}\n{"query": "b", "k": "many"}\n', ":2: $.k: "),
        ('{"query": "a", "purpose": "espionage"}\n', ":1: $.purpose: the purpose was not granted to this principal"),
        ("\n", ":1: $: holds no query"),
    ],
)
def test_a_bad_line_ends_with_2_and_says_where(
    content: str, said: str, made: Path, blue: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = tmp_path / "queries"
    queries.write_text(content)

    ran = run(capsys, "prove", made, "--as", blue, "--queries", queries)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"muniment: {queries}{said}")
    assert len(ran.err.splitlines()) == 1


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prove", "EMPTY", "--as", "BLUE"], "has no published index yet"),
        (["prove", "ABSENT", "--as", "BLUE"], "holds no catalog"),
        (["prove", "MADE", "--as", "ABSENT"], "cannot be read"),
        (["prove", "MADE", "--as", "BLUE", "--queries", "ABSENT"], "cannot be read"),
        (["prove", "MADE", "--as", "BLUE", "--limit", "0"], "limit"),
        (["prove", "MADE"], "--as"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_ends_with_2_and_one_line(
    arguments: list[str], said: str, made: Path, blue: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Catalog.create(tmp_path / "empty", RECIPE, prepare=create_key).close()
    known = {"EMPTY": tmp_path / "empty", "ABSENT": tmp_path / "absent", "MADE": made, "BLUE": blue}
    before = sorted(made.parent.iterdir())

    ran = run(capsys, *[known.get(word, word) for word in arguments])
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert sorted(made.parent.iterdir()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blue.json", "empty"]


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_proof_and_leaves_nothing_behind(
    number: signal.Signals, made: Path, blue: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "kept" / "catalog"
    shutil.copytree(made, directory)
    seen: list[int] = []

    def end(*_: object) -> None:
        seen.append(len(list(directory.parent.iterdir())))
        signal.raise_signal(number)

    before = signal.getsignal(number)
    with mock.patch.object(proving, "first_difference", end):
        ran = run(capsys, "prove", directory, "--as", blue, "--limit", "1")
    assert ran.status == 128 + number
    assert seen == [2]
    assert list(directory.parent.iterdir()) == [directory]
    assert signal.getsignal(number) == before


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_keep_what_was_built(
    number: signal.Signals, made: Path, blue: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "kept" / "catalog"
    shutil.copytree(made, directory)
    remove = shutil.rmtree

    def end(*_: object) -> None:
        signal.raise_signal(number)

    def impatient(path: Path) -> None:
        signal.raise_signal(number)
        remove(path)

    with mock.patch.object(proving, "first_difference", end), mock.patch("shutil.rmtree", impatient):
        ran = run(capsys, "prove", directory, "--as", blue, "--limit", "1")
    assert ran.status == 128 + number
    assert list(directory.parent.iterdir()) == [directory]


def test_the_help_says_what_is_not_compared_and_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(run(capsys, "prove", "--help").out.split())

    for part in ("how long an answer takes", "milliseconds of `run`", "429, 503", "`date` and `x-request-id`"):
        assert part in said
    assert "Example: muniment prove" in said
