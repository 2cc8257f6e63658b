import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from models.errors import DigestMismatch, InvalidEntry, ModelMissing, UnpinnedModel, UnsafeModel
from models.folder import open_folder
from models.registry import EncoderEntry, HubModel, LocalFolder, Location, PackageFolder
from tests.models.builders import folder_of, repinned, rewrite_json


@pytest.fixture
def entry(tiny_entry: EncoderEntry, tmp_path: Path) -> EncoderEntry:
    """The small encoder in a folder of its own that the test may change."""
    path = shutil.copytree(folder_of(tiny_entry), tmp_path / "model")
    return replace(tiny_entry, location=LocalFolder(path=path))


def test_a_folder_that_is_what_its_entry_says_opens(entry: EncoderEntry) -> None:
    assert open_folder(entry).path == folder_of(entry)


def test_one_changed_byte_of_the_weights_is_refused_naming_file_and_both_digests(entry: EncoderEntry) -> None:
    weights = folder_of(entry) / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)

    with pytest.raises(DigestMismatch) as refused:
        open_folder(entry)
    assert refused.value.file == "tiny: model.safetensors"
    assert refused.value.expected == dict(entry.digests)["model.safetensors"]
    assert refused.value.got in str(refused.value)
    assert refused.value.got != refused.value.expected


def test_a_pinned_file_that_is_gone_is_refused(entry: EncoderEntry) -> None:
    (folder_of(entry) / "tokenizer.json").unlink()

    with pytest.raises(DigestMismatch, match="missing"):
        open_folder(entry)


def test_a_model_without_pins_is_refused_with_the_digests_to_pin(entry: EncoderEntry) -> None:
    with pytest.raises(UnpinnedModel) as refused:
        open_folder(replace(entry, digests=()))
    assert refused.value.found == entry.digests
    assert open_folder(replace(entry, digests=refused.value.found)).digests == entry.digests


@pytest.mark.parametrize(
    "name", ["modeling_x.py", "pytorch_model.bin", "model.pt", "data.pkl", "model.onnx", "lib.so", "1_Pooling/x.py"]
)
def test_a_planted_file_that_could_hold_code_is_refused_before_anything_is_imported(
    entry: EncoderEntry, name: str
) -> None:
    """Threats F1 and F3."""
    (folder_of(entry) / name).write_text("raise SystemExit('ran')")

    with pytest.raises(UnsafeModel) as refused:
        open_folder(entry)
    assert refused.value.file == name
    assert "modeling_x" not in sys.modules


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"auto_map": {"AutoModel": "modeling_x.Model"}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["tokenization_x.T", None]}}),
        ("sentence_bert_config.json", {"config_args": {"trust_remote_code": True}}),
        ("config.json", {"attn_implementation": "somebody/kernel"}),
    ],
)
def test_a_setting_that_names_code_is_refused_even_when_its_file_is_pinned(
    entry: EncoderEntry, file: str, changes: dict[str, object]
) -> None:
    rewrite_json(folder_of(entry) / file, **changes)

    with pytest.raises(UnsafeModel, match=file):
        open_folder(repinned(entry))


@pytest.mark.parametrize("kind", ["os.abort", "modeling_x.Custom", "sentence_transformers.base.modules.dense.Dense"])
def test_a_module_type_outside_the_list_is_refused(entry: EncoderEntry, kind: str) -> None:
    modules = folder_of(entry) / "modules.json"
    modules.write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": kind}]), "utf-8")

    with pytest.raises(UnsafeModel, match="module type"):
        open_folder(entry)


def test_a_module_path_that_leaves_the_folder_is_refused(entry: EncoderEntry) -> None:
    modules = folder_of(entry) / "modules.json"
    listed = json.loads(modules.read_text("utf-8"))
    listed[1]["path"] = "../elsewhere"
    modules.write_text(json.dumps(listed), "utf-8")

    with pytest.raises(UnsafeModel, match="leaves the folder"):
        open_folder(entry)


def test_a_linked_folder_is_refused(entry: EncoderEntry, tmp_path: Path) -> None:
    (folder_of(entry) / "more").symlink_to(tmp_path)

    with pytest.raises(UnsafeModel, match="link"):
        open_folder(entry)


def test_a_dimension_that_is_not_the_models_is_refused(entry: EncoderEntry) -> None:
    with pytest.raises(InvalidEntry, match="says 384 where hidden_size"):
        open_folder(replace(entry, dimension=384))


@pytest.mark.parametrize(
    "location",
    [
        PackageFolder(package="no_such_package", folder="model"),
        LocalFolder(path=Path("/no/such/folder")),
        HubModel(hub="nobody/nothing", revision="main"),
    ],
)
def test_a_model_that_is_not_on_this_machine_is_named_and_never_fetched(
    entry: EncoderEntry, location: Location
) -> None:
    with pytest.raises(ModelMissing, match="tiny"):
        open_folder(replace(entry, location=location))


def test_a_model_is_digested_by_every_file_that_decides_its_outputs(entry: EncoderEntry) -> None:
    before = open_folder(entry).digest
    rewrite_json(folder_of(entry) / "config.json", layer_norm_eps=1e-6)

    assert open_folder(repinned(entry)).digest != before
