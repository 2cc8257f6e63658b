"""Tests of `muniment doctor`: does it see what is wrong, and say what to do?"""

import json
import shutil
from importlib import metadata
from pathlib import Path
from unittest import mock

import pytest

from index.analysis import Analyzer
from muniment import health_of_machine
from muniment.findings import Status, examine, ok
from muniment.ingest import NO_LABEL, ingest
from tests.muniment.commands import run

Found = dict[str, dict[str, str]]


@pytest.fixture(name="catalog")
def fixture_catalog(sample_catalog: Path, tmp_path: Path) -> Path:
    """A copy of the sample catalog, to harm."""
    copy = tmp_path / "catalog"
    shutil.copytree(sample_catalog, copy)
    return copy


def examined(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, Found]:
    ran = run(capsys, "doctor", *arguments, "--json")
    return ran.status, {one["check"]: one for one in json.loads(ran.out)["findings"]}


def test_a_healthy_machine_and_catalog_have_nothing_that_fails(
    sample_catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = examined(capsys, sample_catalog)

    assert status == 0
    assert {one["status"] for one in found.values()} <= {"ok", "warn"}
    assert {"python", "torch", "int8 product", "faiss", "packaged model", "tokenizers", "cache folder"} <= found.keys()
    assert {"signing key", "catalog", "encoder", "runtime", "analyzer", "index"} <= found.keys()
    assert found["index"]["found"].endswith("none waits for a reindex")


def test_each_finding_is_a_line_that_starts_with_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "doctor")

    assert ran.status == 0
    assert {line.split()[0] for line in ran.out.splitlines()} <= {"ok", "warn"}
    assert ran.out.splitlines()[0].startswith("ok    python")


def test_a_key_that_others_can_read_fails_and_says_what_to_do(
    catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (catalog / "keys" / "signing.json").chmod(0o644)

    status, found = examined(capsys, catalog)
    assert (status, found["signing key"]["status"]) == (1, "fail")
    assert "chmod 600" in found["signing key"]["found"]


def test_sources_that_wait_for_a_reindex_are_counted(
    catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = {"source_id": "NEW", "revision": "1", "text": "A new note.", "access": {"public": True}}
    (tmp_path / "note.jsonl").write_text(json.dumps(note) + "\n")
    ingest(catalog, [tmp_path / "note.jsonl"], label=NO_LABEL)

    status, found = examined(capsys, catalog)
    assert (status, found["index"]["status"]) == (0, "warn")
    assert found["index"]["found"].endswith("; 1 unit of 1 revision came after it and can be searched already")
    assert found["index"]["advice"] == f"muniment reindex {catalog}"


def test_a_catalog_that_was_never_indexed_is_a_warning(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (catalog / "CURRENT").unlink()

    status, found = examined(capsys, catalog)
    assert (status, found["index"]["status"], found["index"]["found"]) == (0, "warn", "nothing is published yet")


def test_a_damaged_index_fails(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = next((catalog / "generations").glob("*/codes.int8"))
    codes.chmod(0o600)
    codes.write_bytes(codes.read_bytes()[:-1] + b"\x01")

    status, found = examined(capsys, catalog)
    assert (status, found["index"]["status"]) == (1, "fail")
    assert "codes.int8" in found["index"]["found"]


def test_a_folder_without_a_catalog_fails_once_and_the_machine_is_looked_at_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = examined(capsys, tmp_path / "absent")

    assert (status, found["catalog"]["status"], found["faiss"]["status"]) == (1, "fail", "ok")
    assert "`muniment init` makes one" in found["catalog"]["found"]
    assert "index" not in found


def test_another_analyzer_version_is_a_warning(
    sample_catalog: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Analyzer, "name", property(lambda self: "muniment-analyzer 0"))

    assert examined(capsys, sample_catalog)[1]["analyzer"]["status"] == "warn"


def test_another_encoder_of_the_same_name_fails(
    sample_catalog: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.folder.ModelFolder.digest", property(lambda self: "sha256:other"))

    status, found = examined(capsys, sample_catalog)
    assert (status, found["encoder"]["status"]) == (1, "fail")


def test_a_runtime_that_is_not_at_hand_is_a_warning_that_names_it(
    sample_catalog: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muniment.health_of_catalog.runtime_names", lambda device: ("elsewhere-1-f32",))

    found = examined(capsys, sample_catalog)[1]["runtime"]
    assert found["status"] == "warn"
    assert "queries are encoded on elsewhere-1-f32" in found["found"]


def test_a_product_that_is_not_exact_is_a_warning_because_faiss_serves(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.product.product_self_test", lambda device: False)

    status, found = examined(capsys)
    assert (status, found["int8 product"]["status"]) == (0, "warn")


def test_both_builds_of_faiss_at_once_fail(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They write the same module over each other."""
    monkeypatch.setattr(metadata, "distributions", lambda name: [name])
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1" if name == "faiss-gpu" else version(name))

    assert examined(capsys)[1]["faiss"]["status"] == "fail"


def test_a_cache_folder_that_cannot_be_made_fails_and_names_the_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("MUNIMENT_CACHE_DIR", str(tmp_path / "file" / "cache"))

    found = examined(capsys)[1]["cache folder"]
    assert (found["status"], "MUNIMENT_CACHE_DIR" in (found["advice"] or "")) == ("fail", True)


def test_little_disk_space_is_a_warning_and_none_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([2**40, 2**30, 2**20])
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": next(free)})())

    seen = [health_of_machine.disk_space(tmp_path).status for _ in range(3)]
    assert seen == [Status.OK, Status.WARN, Status.FAIL]


def test_a_wrong_setting_fails_and_everything_else_is_looked_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUNIMENT_PORT", "eighty")

    status, found = examined(capsys)
    assert (status, found["settings"]["status"], found["tokenizers"]["status"]) == (1, "fail", "ok")
    assert "port" in found["settings"]["found"]


def test_a_look_that_breaks_is_a_failure_without_the_errors_own_words() -> None:
    def breaks() -> None:
        raise ZeroDivisionError("private words")

    (first, second) = examine([("one", breaks), ("two", lambda: ok("well"))])  # type: ignore[list-item]  # it breaks

    assert (first.status, second.status) == (Status.FAIL, Status.OK)
    assert "ZeroDivisionError" in first.finding.found
    assert "private words" not in first.finding.found


def test_what_was_taken_in_with_its_codes_is_told_apart_from_what_waits(
    catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mock.patch("muniment.ingest._can_be_searched_at_once", return_value=True):
        take_in(catalog, tmp_path, "NEW")
    with mock.patch("muniment.ingest._can_be_searched_at_once", return_value=False):
        take_in(catalog, tmp_path, "LATER")

    found = examined(capsys, catalog)[1]["index"]
    assert found["status"] == "warn"
    assert "; 1 unit of 1 revision came after it and can be searched already" in found["found"]
    assert found["found"].endswith("; 1 unit of 1 revision cannot be searched until a reindex")


def take_in(catalog: Path, folder: Path, source_id: str) -> None:
    note = {"source_id": source_id, "revision": "1", "text": f"A note: {source_id}.", "access": {"public": True}}
    (folder / "note.jsonl").write_text(json.dumps(note) + "\n")
    ingest(catalog, [folder / "note.jsonl"], label=NO_LABEL)


@pytest.mark.parametrize("name", ["models_file", "query_classes_dir", "authority_rules"])
def test_a_setting_that_names_nothing_fails_under_its_own_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"MUNIMENT_{name.upper()}", str(tmp_path / "absent"))

    status, found = examined(capsys)
    assert status == 1
    assert [check for check, one in found.items() if one["status"] == "fail"] == [name]
    assert str(tmp_path / "absent") in found[name]["found"]


def test_a_folder_without_a_tokenizer_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUNIMENT_TOKENIZER_FOLDERS", json.dumps([str(tmp_path)]))

    status, found = examined(capsys)
    assert (status, found["tokenizer_folders"]["status"]) == (1, "fail")
    assert "there is no tokenizer.json" in found["tokenizer_folders"]["found"]


def test_the_settings_of_a_file_are_looked_at_and_what_they_name_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "models.json").write_text('{"profiles": [{"name": "managed", "adapter": "openai"}]}')
    config = tmp_path / "server.toml"
    config.write_text(f'models_file = "{tmp_path / "models.json"}"\n')

    status, found = examined(capsys, "--config", config)
    assert (status, found["settings"]["found"]) == (0, "given: models_file")
    assert found["models_file"]["found"] == f"{tmp_path / 'models.json'}: managed"


def test_settings_that_cannot_be_read_are_reported_once(
    sample_catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = examined(capsys, sample_catalog, "--config", tmp_path / "absent.toml")

    assert status == 1
    assert [check for check, one in found.items() if one["status"] == "fail"] == ["settings"]
