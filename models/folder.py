"""Is a model folder safe to load, and is it what its entry says?

Everything here is decided before any model library is imported: file names against a list of what is allowed, settings
that could run code, then SHA-256 of every file that decides the outputs. Useful before loading. Not useful for
loading: see network.
"""

import hashlib
import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evidence.canonical import digest
from models.errors import DigestMismatch, InvalidEntry, ModelMissing, UnpinnedModel, UnsafeModel
from models.registry import CrossEncoderEntry, EncoderEntry, HubModel, LocalFolder, Location, PackageFolder

# Weights as safetensors, settings and vocabularies as text: none of these can hold code (pickles, modules and shared
# libraries can). Readme and licence files are read by nobody.
_ALLOWED_NAMES = re.compile(
    r".+\.safetensors|.+\.json|vocab\.txt|merges\.txt|tokenizer\.model|spiece\.model|sentencepiece\.bpe\.model"
    r"|README(\.md)?|LICENSE(\.md|\.txt)?|NOTICE(\.txt)?|\.gitattributes|\.gitignore"
)
_TOKENIZER_DATA = re.compile(r"tokenizer\.json|vocab\.json|.+\.index\.json")  # large tables, no settings
_CODE_SETTINGS = frozenset({"auto_map", "trust_remote_code", "custom_pipelines", "custom_generate"})
_MODULE_TYPES = frozenset(
    {
        "sentence_transformers.models.Transformer",
        "sentence_transformers.models.Pooling",
        "sentence_transformers.models.Normalize",
        "sentence_transformers.base.modules.transformer.Transformer",
        "sentence_transformers.base.modules.normalize.Normalize",
        "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
        "sentence_transformers.sentence_transformer.modules.normalize.Normalize",
    }
)
_DECIDES_OUTPUTS = re.compile(r".+\.safetensors|tokenizer\.json|config\.json")  # at the top of the folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A model folder that passed every check. `digests`: the files that decide its outputs, sorted by name."""

    path: Path
    digests: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """The digest of the model: of the names and SHA-256 of the files that decide its outputs."""
        return digest(dict(self.digests))

    @property
    def tokenizer_file(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def pad_id(self) -> int:
        """The id that pads a row; some models count positions by it, so that it must be theirs."""
        stated = self.setting("pad_token_id")
        return stated if isinstance(stated, int) else 0

    def setting(self, name: str) -> object:
        """A value of the model's `config.json`, or None."""
        config = json.loads((self.path / "config.json").read_text("utf-8"))
        return config.get(name) if isinstance(config, dict) else None


def open_folder(entry: EncoderEntry | CrossEncoderEntry) -> ModelFolder:
    """The folder of an entry's model, checked. Reads all of it: about a second for each gigabyte.

    Raises ModelMissing, UnsafeModel (names, settings), UnpinnedModel, DigestMismatch, or InvalidEntry when the
    folder contradicts the entry.
    """
    path = _locate(entry.name, entry.location)
    files = sorted(_files(path))
    for file in files:
        _refuse_code(path, file)
    _check_digests(entry, path, files)
    folder = ModelFolder(path=path, digests=entry.digests)
    if isinstance(entry, EncoderEntry):
        _agree(entry, folder, "hidden_size", entry.dimension)
    return folder


def file_digest(path: Path) -> str:
    """The hex SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _locate(name: str, location: Location) -> Path:
    match location:
        case PackageFolder(package=package, folder=folder):
            spec = importlib.util.find_spec(package)  # finds the package without running it
            if spec is None or not spec.submodule_search_locations:
                raise ModelMissing(f"model {name}: the Python package {package} is not installed")
            path = Path(spec.submodule_search_locations[0]) / folder
        case LocalFolder(path=path):
            pass
        case HubModel(hub=hub, revision=revision):
            path = _hub_snapshot(name, hub, revision)
    if not path.is_dir():
        raise ModelMissing(f"model {name}: there is no folder {path}")
    return path


def _hub_snapshot(name: str, hub: str, revision: str) -> Path:
    from transformers.utils.hub import cached_file  # noqa: PLC0415 - slow to import, and most models are plain folders

    try:
        config = cached_file(hub, "config.json", revision=revision, local_files_only=True)
    except OSError:
        config = None
    if config is None:
        raise ModelMissing(
            f"model {name}: {hub} at revision {revision} is not in the local cache, and nothing is ever fetched here. "
            f'Fetch it once with: hf download {hub} --revision {revision} --include "*.safetensors" "*.json" "*.txt"'
        )
    return Path(config).parent


def _files(path: Path) -> Iterator[str]:
    """Every file below `path`, as a relative name with slashes. A linked folder is refused, a linked file is not:
    the hub's cache links each file to its content."""
    for place, folders, names in os.walk(path, followlinks=False):
        for folder in folders:
            if (Path(place) / folder).is_symlink():
                raise UnsafeModel(folder, "a link to a folder")
        for name in names:
            yield (Path(place) / name).relative_to(path).as_posix()


def _refuse_code(path: Path, file: str) -> None:
    name = PurePosixPath(file).name
    if not _ALLOWED_NAMES.fullmatch(name):
        raise UnsafeModel(file, "not among the file names allowed: *.safetensors, *.json, tokenizer and text files")
    if not name.endswith(".json") or _TOKENIZER_DATA.fullmatch(name):
        return
    try:
        settings = json.loads((path / file).read_text("utf-8"))
    except ValueError:
        raise UnsafeModel(file, "not readable as JSON") from None
    for key, value in _settings(settings):
        if key in _CODE_SETTINGS:
            raise UnsafeModel(file, f"the setting {key} names code to run")
        if key.endswith("attn_implementation") and "/" in str(value):
            raise UnsafeModel(file, f"the setting {key} names a kernel to fetch")
    if name == "modules.json":
        _refuse_modules(file, settings)


def _refuse_modules(file: str, modules: object) -> None:
    if not isinstance(modules, list):
        raise UnsafeModel(file, "not a list of modules")
    for module in modules:
        kind = module.get("type") if isinstance(module, dict) else None
        if kind not in _MODULE_TYPES:
            raise UnsafeModel(file, f"module type {kind!r} is not allowed: only Transformer, Pooling and Normalize are")
        place = PurePosixPath(str(module.get("path", "")))
        if place.is_absolute() or ".." in place.parts:
            raise UnsafeModel(file, "a module's path leaves the folder")


def _settings(value: object) -> Iterator[tuple[str, object]]:
    """Every key of every object inside `value`, with its value."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key), item
            yield from _settings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _settings(item)


def _check_digests(entry: EncoderEntry | CrossEncoderEntry, path: Path, files: list[str]) -> None:
    pinned = dict(entry.digests)
    for file, expected in entry.digests:
        got = file_digest(path / file) if file in files else "missing"
        if got != expected:
            raise DigestMismatch(f"{entry.name}: {file}", expected=expected, got=got)
    deciding = [file for file in files if _DECIDES_OUTPUTS.fullmatch(file)]
    unpinned = [(file, file_digest(path / file)) for file in deciding if file not in pinned]
    if unpinned:
        raise UnpinnedModel(entry.name, unpinned)
    for needed in ("config.json", "tokenizer.json"):
        if needed not in deciding:
            raise ModelMissing(f"model {entry.name}: its folder holds no {needed}")
    if not any(file.endswith(".safetensors") for file in deciding):
        raise ModelMissing(f"model {entry.name}: its folder holds no weights as *.safetensors")


def _agree(entry: EncoderEntry, folder: ModelFolder, setting: str, expected: int) -> None:
    got = folder.setting(setting)
    if got != expected:
        raise InvalidEntry(entry.name, f"says {expected} where {setting} in config.json is {got!r}")
