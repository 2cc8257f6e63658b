"""Chat templates of local models: rendered in a sandbox, by a given clock, from pinned files."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from evidence.chat import ChatMessage
from evidence.instant import Instant, parse_instant
from models.errors import DigestMismatch, InvalidTemplate, ModelMissing, UnsafeTokenizer
from models.templates import open_template
from tests.models.chat_families import CHATML, FAMILIES, GEMMA, LLAMA, Family, changed, save_family

NOON = parse_instant("2025-03-01T12:00:00Z")
MESSAGES = (
    ChatMessage(role="system", content="Answer from the evidence."),
    ChatMessage(role="user", content='{"text":"\\u003cs>"}\n{"slot":"caller-turn"}'),
)


def saved(folder: Path, template: str, config: Mapping[str, object] | None = None, *, family: Family = CHATML) -> Path:
    """A family's folder with another template, and more in its configuration."""
    save_family(replace(family, template=template), folder)
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_input_is_what_transformers_own_tokenizer_renders(family: Family, tmp_path: Path) -> None:
    """The reference reads the folder its own way; no template here but Llama's has a clock, and that one is fixed."""
    folder = save_family(replace(family, template=family.template.replace("%d %b %Y", "day")), tmp_path)
    reference = AutoTokenizer.from_pretrained(str(folder))
    expected = reference.apply_chat_template(
        [{"role": message.role, "content": message.content} for message in MESSAGES],
        tokenize=False,
        add_generation_prompt=True,
    )

    assert open_template(folder, name="local").render(MESSAGES, NOON) == expected


def test_the_templates_clock_is_the_moment_given(tmp_path: Path) -> None:
    """R23: `as_of` or the start of `valid`, never the machine's."""
    template = open_template(save_family(LLAMA, tmp_path), name="local")

    assert "Today Date: 01 Mar 2025\n" in template.render(MESSAGES, NOON)
    assert "Today Date: 31 Dec 1969\n" in template.render(MESSAGES, Instant(-1))


def test_the_record_says_what_decides_the_text(tmp_path: Path) -> None:
    """R23, R34: digests, generation prompt, special tokens, truncation side, who writes the first token."""
    folder = save_family(GEMMA, tmp_path)

    template = open_template(folder, name="local")
    assert template.record == {
        "files": {name: f"sha256:{digest}" for name, digest in digests(folder).items()},
        "generation_prompt": True,
        "special_tokens": {"bos_token": "<bos>"},
        "truncation_side": "left",
        "begins_text": "template",
    }
    assert template.name == "local"


def test_a_template_without_a_first_token_says_so(tmp_path: Path) -> None:
    assert open_template(save_family(CHATML, tmp_path), name="local").record["begins_text"] == "nobody"


def test_another_template_has_another_digest(tmp_path: Path) -> None:
    first = open_template(save_family(CHATML, tmp_path), name="local").digest
    second = open_template(saved(tmp_path, CHATML.template + " "), name="local").digest

    assert first != second
    assert open_template(save_family(CHATML, tmp_path), name="another").digest == first


def test_pinned_files_are_what_is_read(tmp_path: Path) -> None:
    pins = digests(save_family(CHATML, tmp_path))
    open_template(tmp_path, name="local", digests=pins)
    saved(tmp_path, CHATML.template + " ")

    with pytest.raises(DigestMismatch, match=r"local: chat_template\.jinja"):
        open_template(tmp_path, name="local", digests=pins)


@pytest.mark.parametrize("file", ["chat_template.jinja", "tokenizer.json", "tokenizer_config.json"])
def test_with_pins_every_file_that_is_read_needs_one(file: str, tmp_path: Path) -> None:
    pins = digests(save_family(CHATML, tmp_path))
    del pins[file]

    with pytest.raises(DigestMismatch, match="expected SHA-256 none pinned"):
        open_template(tmp_path, name="local", digests=pins)


def test_a_pinned_file_that_is_not_there_is_missing(tmp_path: Path) -> None:
    pins = digests(save_family(CHATML, tmp_path))

    with pytest.raises(DigestMismatch, match="got missing"):
        open_template(tmp_path, name="local", digests={**pins, "added_tokens.json": "0" * 64})


def test_of_several_templates_the_one_named_default_is_taken(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": CHATML.template}]
    save_family(CHATML, tmp_path)
    (tmp_path / "chat_template.jinja").unlink()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))

    assert open_template(tmp_path, name="local").render(MESSAGES, NOON).startswith("<|im_start|>system")


BODY = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{% for m in messages %}", "is no Jinja template"),
        ("{{ lipsum() }}" + BODY, "uses lipsum"),
        ("{{ [1, 2] | random }}" + BODY, "uses random"),
        ("{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + BODY, "cannot render"),
        ("{{ messages[7].content }}" + BODY, "cannot render"),
        ("{{ ''.__class__.__mro__ }}" + BODY, "cannot render"),
        ("{{ 1 // 0 }}" + BODY, "cannot render"),
        ("{{ messages[1].content }}", "does not write the content of a system message once"),
        (BODY + BODY, "does not write the content of a system message once"),
        (BODY.replace("content", "content | upper"), "does not write the content of a system message once"),
        (BODY.replace("messages", "messages | reverse"), "writes the messages in another order"),
    ],
)
def test_a_template_that_cannot_be_relied_on_is_refused_when_it_is_opened(
    template: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidTemplate, match=f"^chat template of local: {problem}") as refused:
        open_template(saved(tmp_path, template), name="local")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"bos_token": "<bos>"}, "adds the token '<bos>'"),
        ({"bos_token": {"content": "<bos>"}}, "adds the token '<bos>'"),
        ({"added_tokens_decoder": {"9": {"content": "<new>"}}}, "adds the token '<new>'"),
    ],
)
def test_a_token_that_only_the_configuration_knows_is_refused(
    config: Mapping[str, object], problem: str, tmp_path: Path
) -> None:
    """transformers would add it, and then count otherwise than tokenizer.json does."""
    with pytest.raises(InvalidTemplate, match=problem):
        open_template(saved(tmp_path, CHATML.template, config), name="local")


def test_a_folder_without_any_template_says_where_it_was_looked_for(tmp_path: Path) -> None:
    save_family(CHATML, tmp_path)
    (tmp_path / "chat_template.jinja").unlink()

    with pytest.raises(InvalidTemplate, match="there is none"):
        open_template(tmp_path, name="local")


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json"])
def test_a_file_that_is_missing_is_named(file: str, tmp_path: Path) -> None:
    (save_family(CHATML, tmp_path) / file).unlink()

    with pytest.raises(ModelMissing, match=file):
        open_template(tmp_path, name="local")


@pytest.mark.parametrize("text", ["", "[]", "nonsense"])
def test_a_configuration_that_is_no_object_is_refused(text: str, tmp_path: Path) -> None:
    (save_family(CHATML, tmp_path) / "tokenizer_config.json").write_text(text)

    with pytest.raises(InvalidTemplate, match="is no JSON"):
        open_template(tmp_path, name="local")


def test_a_tokenizer_whose_control_tokens_content_could_spell_has_no_template(tmp_path: Path) -> None:
    """R26."""
    save_family(CHATML, tmp_path)
    record = json.loads(changed(CHATML))
    record["added_tokens"][0]["content"] = "ENDOFTEXT"
    (tmp_path / "tokenizer.json").write_text(json.dumps(record))

    with pytest.raises(UnsafeTokenizer, match="ENDOFTEXT"):
        open_template(tmp_path, name="local")
