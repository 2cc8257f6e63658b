"""Tests of the command line: exit status, one clear line, nothing half-written."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from index.catalog import Catalog
from muniment.options import read_principal
from server import query_classes
from server.pipeline import Pipeline
from server.schemas import SearchRequest
from tests.malformed.cases import CASES, Case
from tests.muniment.commands import run
from tests.sample.shipped import SAMPLE

BLUE = SAMPLE / "principals" / "blue-technician.json"


@pytest.fixture(name="catalog")
def fixture_catalog(sample_catalog: Path, tmp_path: Path) -> Path:
    """A copy of the sample catalog, to write to."""
    copy = tmp_path / "catalog"
    shutil.copytree(sample_catalog, copy)
    return copy


def fingerprint(directory: Path) -> str:
    """Of every file that holds what a catalog knows; SQLite's working files come and go."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.name.endswith(("-wal", "-shm", ".lock")):
            digest.update(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_malformed_source_ends_with_2_one_line_and_an_unchanged_catalog(
    case: Case, sample_catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / case.file
    path.write_bytes(case.data)
    before = fingerprint(sample_catalog)

    ran = run(capsys, "ingest", sample_catalog, path)
    assert ran.status == 2
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1
    assert f"{path}:{case.line}: " in ran.err
    assert case.path in ran.err
    assert fingerprint(sample_catalog) == before


def test_the_same_revision_with_other_bytes_is_refused_and_named(
    catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "changed.jsonl"
    first = json.loads((SAMPLE / "sources.jsonl").read_text().splitlines()[0])
    good = {"source_id": "NEW", "revision": "1", "text": "new", "access": {"public": True}}
    path.write_text(json.dumps(good) + "\n" + json.dumps({**first, "text": first["text"] + " More."}) + "\n")
    before = fingerprint(catalog)

    ran = run(capsys, "ingest", catalog, path)
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert first["source_id"] in ran.err
    assert "new revision" in ran.err
    assert fingerprint(catalog) == before


def test_the_same_sources_again_are_unchanged(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = fingerprint(catalog)

    ran = run(capsys, "ingest", catalog, SAMPLE / "sources.jsonl", "--json")
    report = json.loads(ran.out)
    assert (ran.status, report["accepted"], report["unchanged"]) == (0, 0, 73)
    assert fingerprint(catalog) == before


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("# One\n\nA note about nothing much.\n")
    before = fingerprint(catalog)

    ran = run(capsys, "ingest", catalog, tmp_path / "notes", "--tenant", "blue", "--dry-run", "--json")
    report = json.loads(ran.out)
    assert (ran.status, report["accepted"], report["units"], report["dry_run"]) == (0, 1, 1, True)
    assert report["tokens"] > 0
    assert report["seconds_to_encode"] >= 0
    assert fingerprint(catalog) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest", "CATALOG", "absent.jsonl"],
        ["ingest", "CATALOG", "FILE", "--public", "--tenant", "blue"],
        ["ingest", "CATALOG", "FILE", "--role", "technician"],
        ["ingest", "CATALOG", "FILE", "--tenant", "public"],
        ["ingest", "CATALOG", "FILE", "--format", "pdf"],
        ["ingest", "ABSENT", "FILE"],
        ["init", "CATALOG"],
        ["init", "NEW", "--encoder", "absent"],
        ["init", "NEW", "--language", "klingon"],
        ["init", "NEW", "--bm25", "bm42"],
        ["init", "NEW", "--k1", "-1"],
        ["init", "NEW", "--b", "2"],
        ["init", "NEW", "--target", "0"],
        ["search", "CATALOG", "x", "--as", "/dev/zero"],
        ["search", "CATALOG", "x", "--as", "absent.json"],
        ["search", "CATALOG", "x", "--as", "FILE"],
        ["search", "CATALOG", "x", "--as", "PRINCIPAL", "-k", "0"],
        ["search", "CATALOG", "x", "--as", "PRINCIPAL", "--channel", "both"],
        ["search", "CATALOG", "x", "--as", "PRINCIPAL", "--filter", "{"],
        ["search", "CATALOG", "x", "--as", "PRINCIPAL", "--filter", '{"tenant": ["red"]}'],
        ["search", "CATALOG", "x", "--as", "PRINCIPAL", "--as-of", "yesterday"],
        ["search", "CATALOG", "x", "--as", "PRINCIPAL", "--purpose", "espionage"],
        ["search", "CATALOG", "x", "--as", "PRINCIPAL", "--device", "tpu"],
        ["search", "CATALOG", "x", "--as", "PRINCIPAL", "--device", "cuda"],
        ["search", "ABSENT", "x", "--as", "PRINCIPAL"],
        ["packet", "CATALOG", "x", "--as", "PRINCIPAL", "--request", "FILE"],
        ["token", "CATALOG"],
        ["token", "CATALOG", "--tenant", "blue", "--no-tenant"],
        ["token", "CATALOG", "--tenant", "blue", "--ttl", "soon"],
        ["token", "CATALOG", "--tenant", "blue", "--scope", "everything"],
        ["token", "ABSENT", "--tenant", "blue"],
        ["reindex", "ABSENT"],
        ["verify", "ABSENT"],
        ["serve", "ABSENT"],
        ["serve", "CATALOG", "--config", "absent.toml"],
        ["absent-command"],
        ["search"],
    ],
    ids=" ".join,
)
def test_bad_usage_ends_with_2_and_no_traceback(
    arguments: list[str], sample_catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[-1] == "cuda":
        torch = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("there is a CUDA device here")
    file = tmp_path / "file.jsonl"
    file.write_text('{"query": 1}\n')
    known = {
        "CATALOG": sample_catalog,
        "ABSENT": tmp_path / "no-catalog",
        "NEW": tmp_path / "new",
        "FILE": file,
        "PRINCIPAL": BLUE,
    }
    before = fingerprint(sample_catalog)

    ran = run(capsys, *[known.get(word, word) for word in arguments])
    assert ran.status == 2
    assert "Traceback" not in ran.err
    assert ran.err.strip()
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("muniment: ")
    assert fingerprint(sample_catalog) == before
    assert not (tmp_path / "new").exists()


def test_json_is_exactly_the_body_of_the_server(
    sample_catalog: Path, sample_pipeline: Pipeline, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(capsys, "search", sample_catalog, "upload limit", "--as", BLUE, "-k", "3", "--json")
    printed = json.loads(ran.out)
    served = dict(sample_pipeline.search(SearchRequest(query="upload limit", k=3), read_principal(BLUE)))
    del printed["run"], served["run"]
    assert ran.status == 0
    assert printed == json.loads(json.dumps(served))


def test_a_refused_packet_ends_with_1(sample_catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = tmp_path / "request.json"
    request.write_text('{"budget": {"max_bytes": 10}}')

    ran = run(capsys, "packet", sample_catalog, "upload limit", "--as", BLUE, "--request", request)
    assert ran.status == 1
    assert "refused-budget" in ran.out


def test_a_whole_catalog_verifies_and_a_damaged_one_does_not(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "verify", catalog).status == 0

    codes = next((catalog / "generations").glob("*/codes.int8"))
    data = bytearray(codes.read_bytes())
    data[100] ^= 1
    codes.chmod(0o600)
    codes.write_bytes(data)
    ran = run(capsys, "verify", catalog)
    assert ran.status == 1
    assert "codes.int8" in ran.out


def test_the_parameters_of_the_formula_are_in_the_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R9."""
    assert run(capsys, "init", tmp_path / "c", "--bm25", "okapi", "--k1", "0.9", "--b", "0.4").status == 0

    with Catalog.open(tmp_path / "c") as catalog:
        assert (catalog.recipe.bm25, catalog.recipe.k1, catalog.recipe.b) == ("okapi", "0.9", "0.4")


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    commands = ["init", "ingest", "reindex", "search", "packet", "verify", "eval", "token", "serve", "demo"]
    for command in [*commands, "bench", "doctor"]:
        ran = run(capsys, command, "--help")
        assert ran.status == 0
        assert f"Example: muniment {command}" in " ".join(ran.out.split())


def test_a_record_without_a_label_is_told_which_options_give_one(
    catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text('{"source_id": "N", "revision": "1", "text": "x"}\n')

    ran = run(capsys, "ingest", catalog, path)
    assert ran.status == 2
    assert ran.err.startswith(f"muniment: {path}:1: $.access: `access` is required")
    assert "--public or --tenant T" in ran.err


def managed(folder: Path) -> Path:
    """A file of settings with one model profile and one query class of its own."""
    (folder / "models.json").write_text('{"profiles": [{"name": "managed", "adapter": "openai"}]}')
    classes = folder / "classes"
    classes.mkdir()
    shipped = json.loads((Path(query_classes.__file__).parent / "query_classes" / "lookup.json").read_text())
    (classes / "own.json").write_text(json.dumps({**shipped, "name": "own"}))
    config = folder / "server.toml"
    config.write_text(f'device = "cpu"\nmodels_file = "{folder}/models.json"\nquery_classes_dir = "{classes}"\n')
    return config


@pytest.mark.parametrize(
    ("asked", "missing"),
    [
        ({"model": "managed"}, "the model profile 'managed' is not configured here (setting models_file)"),
        ({"query_class": "own"}, "the query class 'own' is not configured here (setting query_classes_dir)"),
    ],
)
def test_a_replay_without_the_settings_of_the_answer_says_what_is_not_configured(
    asked: dict[str, str], missing: str, catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, request, manifest = managed(tmp_path), tmp_path / "request.json", tmp_path / "manifest.json"
    request.write_text(json.dumps(asked))
    made = run(capsys, "packet", catalog, "upload", "--as", BLUE, "--request", request, "--config", config, "--json")
    assert made.status == 0
    manifest.write_text(made.out)

    replayed: list[str | Path] = ["replay", catalog, manifest, "--as", BLUE, "--device", "cpu"]
    same = run(capsys, *replayed, "--config", config)
    assert (same.status, same.out) == (0, "identical\n")
    differs = run(capsys, *replayed)
    assert differs.status == 1
    assert differs.out.splitlines()[1:] == [missing]
    assert set(json.loads(run(capsys, *replayed, "--json").out)) == {"verdict", "layer"}


@pytest.mark.parametrize("command", ["search", "explain"])
def test_a_command_that_asks_reads_the_settings_of_its_file(
    command: str, sample_catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "server.toml"
    config.write_text('device = "cpu"\ndense = false\n')
    named = ["blue/POL-UPLOADS@3#0"] if command == "explain" else []

    ran = run(capsys, command, sample_catalog, "upload", *named, "--as", BLUE, "--config", config, "--json")
    answer = json.loads(ran.out)
    if command == "search":
        assert "dense: switched off" in answer["degraded"]
    else:
        assert answer["channels"]["dense"]["of"] == 0
