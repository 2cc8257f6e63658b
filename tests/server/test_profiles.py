"""Model profiles: what an operator can describe, what is refused at the start, what a request may count."""

import hashlib
import json
from pathlib import Path

import pytest

from evidence.adapters import Adapter
from server.errors import Invalid, StartError
from server.profiles import Profile, counted_folders, find_profile, load_profiles, refuse_uncountable
from tests.models.chat_families import CHATML, LLAMA, save_family

MANAGED = {"name": "managed", "adapter": "openai", "tokenizer": "o200k_base", "window": 128_000}


def written(folder: Path, *profiles: object) -> Path:
    file = folder / "models.json"
    file.write_text(json.dumps({"profiles": profiles}))
    return file


def local(folder: Path, **more: object) -> dict[str, object]:
    """A profile of a folder beside the file, which is made."""
    (folder / "local").mkdir(exist_ok=True)
    save_family(LLAMA, folder / "local")
    return {"name": "local", "adapter": "hf-chat", "folder": "local", **more}


def test_without_a_file_there_are_no_profiles() -> None:
    assert load_profiles(None) == {}


def test_a_profile_of_a_managed_model_has_no_template(tmp_path: Path) -> None:
    profiles = load_profiles(written(tmp_path, MANAGED))

    assert profiles == {
        "managed": Profile(
            name="managed",
            adapter=Adapter.OPENAI,
            tokenizer="o200k_base",
            window=128_000,
            reserved_output_tokens=None,
            folder=None,
        )
    }
    assert profiles["managed"].template is None


def test_a_profile_of_a_local_model_counts_and_renders_with_its_folder(tmp_path: Path) -> None:
    file = written(tmp_path, local(tmp_path, window=4096, reserved_output_tokens=512))

    profile = load_profiles(file)["local"]
    assert profile.tokenizer == f"hf:{tmp_path / 'local'}"
    assert (profile.window, profile.reserved_output_tokens) == (4096, 512)
    assert profile.template is not None
    assert profile.template.name == "local"
    assert counted_folders({"local": profile}, [Path("/more")]) == (Path("/more"), tmp_path / "local")


def test_profiles_stand_in_the_order_of_their_names(tmp_path: Path) -> None:
    file = written(tmp_path, {**MANAGED, "name": "b"}, {**MANAGED, "name": "a"})

    assert list(load_profiles(file)) == ["a", "b"]


def test_pinned_files_are_checked_at_the_start(tmp_path: Path) -> None:
    record = local(tmp_path)
    pins = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "local").iterdir()}
    assert load_profiles(written(tmp_path, {**record, "digests": pins}))["local"].digests == tuple(sorted(pins.items()))

    (tmp_path / "local" / "chat_template.jinja").write_text(LLAMA.template + " ")
    with pytest.raises(StartError, match=r"\$\.profiles\[0\]: local: chat_template\.jinja: expected SHA-256"):
        load_profiles(written(tmp_path, {**record, "digests": pins}))


def test_a_tokenizer_folder_of_the_operator_may_be_named(tmp_path: Path) -> None:
    folder = save_family(CHATML, tmp_path)
    file = written(tmp_path, {**MANAGED, "tokenizer": f"hf:{folder}"})

    assert load_profiles(file, tokenizer_folders=[folder])["managed"].tokenizer == f"hf:{folder}"
    with pytest.raises(StartError, match="no tokenizer named"):
        load_profiles(file)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"name": None}, r"\.name: must be a text"),
        ({"name": ""}, r"\.name: must be a text"),
        ({"adapter": "other"}, r"\.adapter: allowed: json, openai, anthropic, hf-chat"),
        ({"adapter": None}, r"\.adapter: allowed"),
        ({"adapter": []}, r"\.adapter: allowed"),
        ({"window": -1}, r"\.window: must be an integer from 0"),
        ({"window": True}, r"\.window: must be an integer"),
        ({"window": 1.5}, r"\.window: must be an integer"),
        ({"reserved_output_tokens": "7"}, r"\.reserved_output_tokens: must be an integer"),
        ({"tokenizer": "gpt-5"}, ": no tokenizer named 'gpt-5'"),
        ({"tokenizer": None}, r"\.window: needs a tokenizer"),
        ({"template": "x"}, r"\.template: unknown; allowed: name, adapter"),
        ({"digests": {"tokenizer.json": "0" * 64}}, r"\.digests: pins files of a folder"),
        ({"digests": {"tokenizer.json": "short"}}, r"\.digests: must map file names"),
        ({"digests": []}, r"\.digests: must map file names"),
        ({"adapter": "hf-chat"}, r"\.folder: goes with the adapter hf-chat"),
        ({"adapter": "anthropic"}, r"\.tokenizer: the provider behind anthropic publishes none"),
        ({"adapter": "anthropic", "tokenizer": None}, r"\.window: needs a tokenizer"),
    ],
)
def test_a_wrong_profile_ends_the_start_with_one_line_that_names_the_place(
    change: dict[str, object], place: str, tmp_path: Path
) -> None:
    file = written(tmp_path, {**MANAGED, "name": "first"}, {**MANAGED, **change})

    with pytest.raises(StartError, match=rf"models\.json: \$\.profiles\[1\]{place}") as refused:
        load_profiles(file)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"tokenizer": "o200k_base"}, r"\.tokenizer: is that of the folder"),
        ({"adapter": "openai"}, r"\.folder: goes with the adapter hf-chat"),
        ({"folder": "elsewhere"}, r": tokenizer local: there is no tokenizer_config\.json"),
    ],
)
def test_a_wrong_profile_of_a_folder_is_refused(change: dict[str, object], place: str, tmp_path: Path) -> None:
    with pytest.raises(StartError, match=rf"\$\.profiles\[0\]{place}"):
        load_profiles(written(tmp_path, {**local(tmp_path), **change}))


def test_two_profiles_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"\$\.profiles\[1\]\.name: another profile has this name"):
        load_profiles(written(tmp_path, MANAGED, MANAGED))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "models.json: "),
        ('{"profiles": [], "profiles": []}', "models.json: "),
        ("[]", "must be an object with one key"),
        ('{"profiles": {}}', "must be an object with one key"),
        ('{"models": []}', "must be an object with one key"),
        ('{"profiles": [7]}', r"\$\.profiles\[0\]: must be an object"),
    ],
)
def test_a_file_that_holds_no_profiles_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "models.json"
    file.write_text(text)

    with pytest.raises(StartError, match=problem):
        load_profiles(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"models\.json: cannot be read \(No such file or directory\)"):
        load_profiles(tmp_path / "models.json")


def test_an_unknown_profile_lists_those_there_are(tmp_path: Path) -> None:
    profiles = load_profiles(written(tmp_path, MANAGED))

    assert find_profile(profiles, "managed").name == "managed"
    with pytest.raises(Invalid, match=r"^\$\.model: no such model profile; allowed: managed$"):
        find_profile(profiles, "other")
    with pytest.raises(Invalid, match=r"allowed: none$"):
        find_profile({}, "other")


@pytest.mark.parametrize(
    ("tokenizer", "limited_by", "path"),
    [("o200k_base", None, "tokenizer"), (None, "max_tokens", "max_tokens"), (None, "window", "window")],
)
def test_tokens_of_a_provider_without_a_public_tokenizer_are_not_counted(
    tokenizer: str | None, limited_by: str | None, path: str
) -> None:
    """R23: another model's count would be an estimate. Bytes still work."""
    with pytest.raises(Invalid, match=r"anthropic publishes no tokenizer.*limit max_bytes instead") as refused:
        refuse_uncountable(Adapter.ANTHROPIC, tokenizer=tokenizer, limited_by=limited_by)
    assert refused.value.path == f"$.budget.{path}"

    refuse_uncountable(Adapter.ANTHROPIC, tokenizer=None, limited_by=None)
    refuse_uncountable(Adapter.OPENAI, tokenizer=tokenizer, limited_by=limited_by)
