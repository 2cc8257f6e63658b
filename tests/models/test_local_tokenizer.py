"""A tokenizer of the operator's own: what it counts, and which one is refused before content could become control."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from models.errors import InvalidTokenizer, ModelMissing, NotText, UnsafeTokenizer
from models.local_tokenizer import LocalTokenizer
from tests.models.chat_families import CHATML, FAMILIES, GEMMA, Family, save_family, tokenizer_file


def write(folder: Path, text: str) -> Path:
    (folder / "tokenizer.json").write_text(text)
    return folder


def added(folder: Path, content: str, *, normalized: bool = False, normalizer: object = None) -> Path:
    """ChatML's tokenizer with one more added token."""
    record: dict[str, Any] = json.loads(tokenizer_file(CHATML))
    last = {**record["added_tokens"][-1], "id": 9000, "content": content, "special": False, "normalized": normalized}
    return write(
        folder, json.dumps({**record, "added_tokens": [*record["added_tokens"], last], "normalizer": normalizer})
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_files_own_truncation_padding_and_special_tokens_are_off(family: Family, tmp_path: Path) -> None:
    """R23. The reference is the library itself, told so call by call."""
    reference = tokenizers.Tokenizer.from_str(tokenizer_file(family))
    assert len(reference.encode("door " * 300).ids) == 64
    reference.no_truncation()
    reference.no_padding()

    counter = LocalTokenizer(save_family(family, tmp_path), name="hf:x")
    for text in ("door " * 300, "", "naïve 上传 😀"):
        assert counter.count(text) == len(reference.encode(text, add_special_tokens=False).ids)


def test_it_is_known_by_the_name_given_and_the_digest_of_its_file(tmp_path: Path) -> None:
    counter = LocalTokenizer(save_family(CHATML, tmp_path), name="hf:models/a")

    assert counter.name == "hf:models/a"
    assert counter.digest == f"sha256:{hashlib.sha256((tmp_path / 'tokenizer.json').read_bytes()).hexdigest()}"


@pytest.mark.parametrize("token", ["madeupword7", "### Instruction:", "{tool}", "\\n\\n", "|im_start|>", "\u2581a"])
def test_an_added_token_that_content_can_spell_is_refused_by_name(token: str, tmp_path: Path) -> None:
    """R26: it holds no character that rendering escapes."""
    with pytest.raises(UnsafeTokenizer) as refused:
        LocalTokenizer(added(tmp_path, token), name="hf:x")
    assert refused.value.token == token
    assert repr(token) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("token", ["<|tool|>", "[OUT]", "｜x｜", "\u200bx", "  ", "\n\n", "\u2581\u2581"])
def test_an_added_token_with_an_escaped_character_or_of_white_space_alone_is_taken(token: str, tmp_path: Path) -> None:
    assert LocalTokenizer(added(tmp_path, token), name="hf:x").count("a") == 1


def test_a_normalizer_that_makes_an_escaped_character_of_another_is_refused(tmp_path: Path) -> None:
    """U+226E stands raw, and is `<` once its stroke is taken off as an accent: so `≮tool>` would be the token."""
    stripping = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]}
    folder = added(tmp_path, "<tool>", normalized=True, normalizer=stripping)
    read = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(
        "\u226etool>", add_special_tokens=False
    )
    assert "<tool>" in read.tokens

    with pytest.raises(UnsafeTokenizer):
        LocalTokenizer(folder, name="hf:x")


@pytest.mark.parametrize(("normalized", "normalizer"), [(True, {"type": "NFC"}), (False, {"type": "StripAccents"})])
def test_a_normalizer_that_cannot_make_one_is_taken(normalized: bool, normalizer: object, tmp_path: Path) -> None:
    folder = added(tmp_path, "<tool>", normalized=normalized, normalizer=normalizer)

    assert LocalTokenizer(folder, name="hf:x").count("a") == 1


def test_layout_tokens_of_a_vocabulary_do_not_count_as_control(tmp_path: Path) -> None:
    counter = LocalTokenizer(save_family(GEMMA, tmp_path), name="hf:x")

    assert counter.count("▁▁▁") == 1


def test_a_folder_without_a_tokenizer_names_the_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"hf:x: there is no tokenizer\.json"):
        LocalTokenizer(tmp_path, name="hf:x")


@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"model": {"type": "Other"}}'])
def test_a_file_that_is_no_tokenizer_is_refused_without_its_content(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidTokenizer, match=r"^tokenizer hf:x: tokenizer\.json cannot be read \(\w+\)$"):
        LocalTokenizer(write(tmp_path, text), name="hf:x")


def test_a_lone_surrogate_is_not_text(tmp_path: Path) -> None:
    with pytest.raises(NotText):
        LocalTokenizer(save_family(CHATML, tmp_path), name="hf:x").count("a\ud800")
