"""Which target models did the operator describe, and can their tokens be counted?

A profile says for whom to render, with which tokenizer and template, and how large the window is. Requests name it as
`model`; their own fields override it. Profiles are one JSON file, read once at the start:

    {"profiles": [{"name": "local-8b", "adapter": "hf-chat", "folder": "/models/local-8b", "window": 32768,
                   "reserved_output_tokens": 1024, "digests": {"tokenizer.json": "…", "tokenizer_config.json": "…"}},
                  {"name": "managed", "adapter": "openai", "tokenizer": "o200k_base", "window": 128000}]}

A relative folder is taken from the file's own folder.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from evidence.adapters import Adapter
from evidence.chat import ChatTemplate
from evidence.strict_json import InvalidJson, loads
from models.errors import ModelError
from models.templates import open_template
from models.tokens import LOCAL, get_counter
from server.errors import Invalid, StartError

Profiles: TypeAlias = "Mapping[str, Profile]"  # name -> profile, in the order of their names

UNCOUNTED = frozenset({Adapter.ANTHROPIC})  # their providers publish no tokenizer
_KEYS = ("name", "adapter", "tokenizer", "window", "reserved_output_tokens", "folder", "digests")
_LARGEST = 2**52 - 1  # as for the same numbers of a request
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A target model. None where the profile leaves a thing to the request.

    tokenizer: as `get_counter` knows it; with a folder it is that folder's. window and reserved_output_tokens: tokens.
    template: of the adapter `hf-chat`, and of no other.
    """

    name: str
    adapter: Adapter
    tokenizer: str | None
    window: int | None
    reserved_output_tokens: int | None
    folder: Path | None
    digests: tuple[tuple[str, str], ...] = ()
    template: ChatTemplate | None = field(default=None, compare=False)


def load_profiles(file: Path | None, *, tokenizer_folders: Sequence[Path] = ()) -> Profiles:
    """The profiles of the operator's file, every folder and template opened and checked; none without a file.

    Raises StartError, one line that names the file, the place and what is wrong.
    """
    if file is None:
        return {}
    try:
        value = loads(file.read_bytes())
    except OSError as error:
        raise StartError(f"{file}: cannot be read ({error.strerror})") from None
    except InvalidJson as error:
        raise StartError(f"{file}: {error}") from None
    if not isinstance(value, dict) or set(value) != {"profiles"} or not isinstance(value["profiles"], list):
        raise StartError(f"{file}: $: must be an object with one key, profiles, which holds a list")
    profiles: dict[str, Profile] = {}
    for place, record in enumerate(value["profiles"]):
        path = f"$.profiles[{place}]"
        try:
            profile = _profile(record, folder=file.parent, tokenizer_folders=tokenizer_folders)
        except _Wrong as error:
            raise StartError(f"{file}: {path}{error}") from None
        except ModelError as error:
            raise StartError(f"{file}: {path}: {error}") from None
        if profile.name in profiles:
            raise StartError(f"{file}: {path}.name: another profile has this name")
        profiles[profile.name] = profile
    return dict(sorted(profiles.items()))


def find_profile(profiles: Profiles, name: str) -> Profile:
    """The profile called `name`. Raises Invalid listing those there are."""
    try:
        return profiles[name]
    except KeyError:
        raise Invalid(f"no such model profile; allowed: {', '.join(profiles) or 'none'}", path="$.model") from None


def counted_folders(profiles: Profiles, tokenizer_folders: Sequence[Path]) -> tuple[Path, ...]:
    """Every folder whose tokenizer may be named: the operator's own list, and those of the profiles."""
    return (*tokenizer_folders, *(profile.folder for profile in profiles.values() if profile.folder is not None))


def refuse_uncountable(adapter: Adapter, *, tokenizer: str | None, limited_by: str | None) -> None:
    """Refuse to count where no tokenizer of the provider is public: another one's count is an estimate (R23).

    limited_by: the token limit of the request, as `max_tokens`. Raises Invalid naming what cannot be had.
    """
    if adapter not in UNCOUNTED:
        return
    for named, what in ((tokenizer, "tokenizer"), (limited_by, limited_by)):
        if named is not None:
            raise Invalid(
                f"the provider behind the adapter {adapter.value} publishes no tokenizer, so its tokens cannot be "
                "counted here; limit max_bytes instead",
                path=f"$.budget.{what}",
            )


class _Wrong(Exception):
    """A profile breaks the schema; `place` is below the profile."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")


def _profile(record: object, *, folder: Path, tokenizer_folders: Sequence[Path]) -> Profile:
    if not isinstance(record, dict):
        raise _Wrong("", "must be an object")
    for key in record:
        if key not in _KEYS:
            raise _Wrong(f".{key}", f"unknown; allowed: {', '.join(_KEYS)}")
    name = _text(record, "name")
    if name is None:
        raise _Wrong(".name", "must be a text that is not empty")
    own = _text(record, "folder")
    profile = Profile(
        name=name,
        adapter=_adapter(record),
        tokenizer=_text(record, "tokenizer"),
        window=_tokens(record, "window"),
        reserved_output_tokens=_tokens(record, "reserved_output_tokens"),
        folder=None if own is None else folder / own,
        digests=_digests(record),
    )
    return _opened(profile, tokenizer_folders)


def _opened(profile: Profile, tokenizer_folders: Sequence[Path]) -> Profile:
    """The profile with its tokenizer named and its template opened."""
    tokenizer, template = profile.tokenizer, None
    if profile.folder is not None:
        if tokenizer is not None:
            raise _Wrong(".tokenizer", "is that of the folder; leave it out")
        tokenizer = f"{LOCAL}{profile.folder}"
        template = open_template(profile.folder, name=profile.name, digests=dict(profile.digests) or None)
    elif profile.digests:
        raise _Wrong(".digests", "pins files of a folder, and there is none")
    elif tokenizer is not None:
        get_counter(tokenizer, allowed=tokenizer_folders)
    if (profile.adapter is Adapter.HF_CHAT) != (profile.folder is not None):
        raise _Wrong(".folder", "goes with the adapter hf-chat, and with no other")
    if profile.adapter in UNCOUNTED and tokenizer is not None:
        raise _Wrong(".tokenizer", f"the provider behind {profile.adapter.value} publishes none")
    if profile.window is not None and tokenizer is None:
        raise _Wrong(".window", "needs a tokenizer")
    return Profile(
        name=profile.name,
        adapter=profile.adapter,
        tokenizer=tokenizer,
        window=profile.window,
        reserved_output_tokens=profile.reserved_output_tokens,
        folder=profile.folder,
        digests=profile.digests,
        template=template,
    )


def _adapter(record: Mapping[str, object]) -> Adapter:
    for adapter in Adapter:
        if adapter.value == record.get("adapter"):
            return adapter
    raise _Wrong(".adapter", f"allowed: {', '.join(Adapter)}")


def _text(record: Mapping[str, object], key: str) -> str | None:
    value = record.get(key)
    if value is None or (isinstance(value, str) and value):
        return value
    raise _Wrong(f".{key}", "must be a text that is not empty")


def _tokens(record: Mapping[str, object], key: str) -> int | None:
    value = record.get(key)
    if value is None or (type(value) is int and 0 <= value <= _LARGEST):
        return value
    raise _Wrong(f".{key}", f"must be an integer from 0 to {_LARGEST}")


def _digests(record: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    value = record.get("digests", {})
    if not isinstance(value, dict) or not all(
        isinstance(one, str) and _SHA256.fullmatch(one) for one in value.values()
    ):
        raise _Wrong(".digests", "must map file names to hex SHA-256")
    return tuple(sorted(value.items()))
