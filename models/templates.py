"""How does a model's own chat template turn messages into its whole input?

Rendered by transformers, in its sandbox, from files of a folder that the operator named and may pin by digest. The
template sees the messages, the names of its special tokens and a clock that is given (R23); nothing draws lots. A
template that takes no system message, or does not write contents as they stand, is refused when it is opened.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jinja2
from jinja2 import nodes

from evidence.canonical import Json, digest
from evidence.chat import ChatMessage, ChatTemplate
from evidence.instant import Instant
from models.errors import DigestMismatch, InvalidTemplate
from models.local_tokenizer import LocalTokenizer, read_file

TEMPLATE_FILES = ("chat_template.jinja", "tokenizer_config.json", "tokenizer.json")  # all that is read, in this order

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_LOTS = frozenset({"lipsum", "random"})  # what Jinja itself offers for drawing lots
_PROBE = (
    ChatMessage(role="system", content='Answer from the evidence.\n\n{"cite":["EV-0"]}'),
    ChatMessage(role="user", content='{"slot":"retrieved-evidence","text":"a \\u003c b"}\n{"slot":"caller-turn"}'),
)


def open_template(folder: Path, *, name: str, digests: Mapping[str, str] | None = None) -> ChatTemplate:
    """The chat template in `folder`, called `name`, checked and tried once.

    digests: hex SHA-256 by file name; with it every file that is read must be pinned, without it none is.
    Raises ModelMissing, DigestMismatch, InvalidTemplate, and what LocalTokenizer refuses.
    """
    files = _read(folder, name=name, digests=digests)
    config = _json_object(files["tokenizer_config.json"], "tokenizer_config.json", name=name)
    source = _source(files, config, name=name)
    special = _special_tokens(config)
    tokenizer = LocalTokenizer(folder, name=name)
    _check_special_tokens(special, config, tokenizer=tokenizer, name=name)
    render = _Rendering(source, special, name=name)
    probe = render(_PROBE, Instant(0))
    _check_probe(probe, name=name)
    record: dict[str, Json] = {
        "files": {file: f"sha256:{hashlib.sha256(data).hexdigest()}" for file, data in files.items()},
        "generation_prompt": True,
        "special_tokens": dict(special),
        "truncation_side": _truncation_side(config),
        "begins_text": "template" if _begins(probe, special.get("bos_token")) else "nobody",
    }
    return ChatTemplate(name=name, digest=digest(record), render=render, record=record)


class _Rendering:
    """The render function of one template."""

    def __init__(self, source: str, special: Mapping[str, str], *, name: str) -> None:
        # Slow to import, and few catalogs have a chat template. Its public function takes no clock.
        from transformers.utils.chat_template_utils import _compile_jinja_template  # noqa: PLC0415 - see above

        self._name = name
        self._special = dict(special)
        try:
            self._template = _compile_jinja_template(source)
            drawn = _LOTS & _names_used(self._template.environment.parse(source))
        except jinja2.TemplateError as error:
            raise InvalidTemplate(name, f"is no Jinja template ({type(error).__name__})") from None
        if drawn:
            raise InvalidTemplate(name, f"uses {sorted(drawn)[0]}, which gives another text each time")

    def __call__(self, messages: Sequence[ChatMessage], clock: Instant) -> str:
        moment = _EPOCH + timedelta(microseconds=clock)
        try:
            rendered: str = self._template.render(
                **self._special,
                messages=[{"role": message.role, "content": message.content} for message in messages],
                tools=None,
                documents=None,
                add_generation_prompt=True,
                strftime_now=moment.strftime,
            )
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            # The template runs on our own roles and escaped contents, so its complaint can only be about their order.
            raise InvalidTemplate(self._name, f"cannot render these messages ({type(error).__name__})") from None
        return rendered


def _read(folder: Path, *, name: str, digests: Mapping[str, str] | None) -> dict[str, bytes]:
    """The files that decide the text, by name."""
    present = [file for file in TEMPLATE_FILES if file != TEMPLATE_FILES[0] or (folder / file).exists()]
    files = {file: read_file(folder / file, name=name) for file in present}
    if digests is None:
        return files
    for file in sorted({*files, *digests}):
        got = hashlib.sha256(files[file]).hexdigest() if file in files else "missing"
        expected = digests.get(file, "none pinned")
        if got != expected:
            raise DigestMismatch(f"{name}: {file}", expected=expected, got=got)
    return files


def _json_object(data: bytes, file: str, *, name: str) -> dict[str, Json]:
    try:
        value = json.loads(data)
    except ValueError:
        raise InvalidTemplate(name, f"{file} is no JSON") from None
    if not isinstance(value, dict):
        raise InvalidTemplate(name, f"{file} is no JSON object")
    return value


def _source(files: Mapping[str, bytes], config: Mapping[str, Json], *, name: str) -> str:
    """The template's text: its own file, else the one in the configuration, of several the one named `default`."""
    if TEMPLATE_FILES[0] in files:
        try:
            return files[TEMPLATE_FILES[0]].decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidTemplate(name, f"{TEMPLATE_FILES[0]} is not UTF-8") from None
    found = config.get("chat_template")
    if isinstance(found, list):
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
        found = named.get("default")
    if not isinstance(found, str):
        raise InvalidTemplate(name, "there is none: no chat_template.jinja, and none in tokenizer_config.json")
    return found


def _special_tokens(config: Mapping[str, Json]) -> dict[str, str]:
    """The special tokens that the configuration names, each by its role."""
    found = {}
    for role in _SPECIAL_TOKENS:
        token = config.get(role)
        if isinstance(token, dict):
            token = token.get("content")
        if isinstance(token, str):
            found[role] = token
    return found


def _check_special_tokens(
    special: Mapping[str, str], config: Mapping[str, Json], *, tokenizer: LocalTokenizer, name: str
) -> None:
    """What the configuration calls a token must be one in `tokenizer.json`, which is what counts."""
    stated = config.get("added_tokens_decoder")
    listed = stated.values() if isinstance(stated, dict) else []
    contents = [token.get("content") for token in listed if isinstance(token, dict)]
    for content in (*special.values(), *contents):
        if isinstance(content, str) and content not in tokenizer.added:
            raise InvalidTemplate(name, f"tokenizer_config.json adds the token {content!r}, tokenizer.json does not")


def _check_probe(probe: str, *, name: str) -> None:
    at = 0
    for message in _PROBE:
        if probe.count(message.content) != 1:
            raise InvalidTemplate(name, f"does not write the content of a {message.role} message once, as it stands")
        place = probe.index(message.content)
        if place < at:
            raise InvalidTemplate(name, "writes the messages in another order")
        at = place + len(message.content)


def _names_used(template: nodes.Template) -> set[str]:
    """Every name and filter in a template."""
    names = {str(node.name) for node in template.find_all(nodes.Name)}
    return names | {str(node.name) for node in template.find_all(nodes.Filter)}


def _truncation_side(config: Mapping[str, Json]) -> str:
    """On which side a runtime that is given too much would truncate; transformers' default is right."""
    return "left" if config.get("truncation_side") == "left" else "right"


def _begins(rendered: str, token: str | None) -> bool:
    return token is not None and rendered.startswith(token)
