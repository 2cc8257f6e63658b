import base64
import gzip
import hashlib
import json
from importlib import resources
from pathlib import Path

import pytest

from models import tokens
from models.errors import DigestMismatch, ModelMissing, NotText, UnknownTokenizer
from models.folder import open_folder
from models.registry import DEFAULT_ENCODER, find_encoder
from models.seams import counts_add_at_seams, crosses_a_seam
from models.tokens import TOKENIZER_NAMES, Counter, get_counter, import_openai_encodings
from tests.models.chat_families import CHATML, save_family


@pytest.fixture(scope="module", params=TOKENIZER_NAMES)
def counter(request: pytest.FixtureRequest) -> Counter:
    return get_counter(request.param)


@pytest.fixture(scope="module")
def o200k() -> Counter:
    return get_counter("o200k_base")


@pytest.fixture(scope="module")
def cl100k() -> Counter:
    return get_counter("cl100k_base")


@pytest.mark.parametrize(
    ("text", "cl100k_tokens", "o200k_tokens"),
    [
        ("tiktoken is great!", 6, 6),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 9, 8),
        ("", 0, 0),
    ],
)
def test_counts_are_the_published_ones(
    cl100k: Counter, o200k: Counter, text: str, cl100k_tokens: int, o200k_tokens: int
) -> None:
    """The examples of OpenAI's cookbook, "How to count tokens with tiktoken"."""
    assert (cl100k.count(text), o200k.count(text)) == (cl100k_tokens, o200k_tokens)


def test_the_wordpiece_counts_the_models_own_tokens_and_no_special_ones() -> None:
    """un ##aff ##able is the example of the WordPiece paper's code; the file's 128 tokens of padding are off."""
    wordpiece = get_counter("minilm-wordpiece")

    assert (wordpiece.count("unaffable"), wordpiece.count("door " * 300), wordpiece.count("")) == (3, 300, 0)


def test_mistrals_pieces_are_the_published_ones() -> None:
    """Its own tests: "Hello, world!" is `▁Hello` `,` `▁world` `!`; what has no piece is its UTF-8 bytes."""
    mistral = get_counter("mistral-v3")

    assert (mistral.count("Hello, world!"), mistral.count(""), mistral.count("\ufe64")) == (4, 0, 1 + 3)


def test_mistrals_markers_are_counted_as_text() -> None:
    """R26: as control tokens they would be three."""
    assert get_counter("mistral-v3").count("<s>[INST]</s>") == 9


def test_no_piece_of_mistrals_crosses_a_seam() -> None:
    """What its counter claims."""
    processor = get_counter("mistral-v3")._processor  # type: ignore[attr-defined]  # the vocabulary is not public

    assert not crosses_a_seam(processor.id_to_piece(piece) for piece in range(processor.vocab_size()))


def test_the_packaged_wordpiece_adds_at_seams() -> None:
    """What its counter claims."""
    file = open_folder(find_encoder(DEFAULT_ENCODER, folder=None)).tokenizer_file

    assert counts_add_at_seams(json.loads(file.read_text()))


def test_a_folder_is_counted_by_its_name_only_where_the_operator_allows_it(tmp_path: Path) -> None:
    save_family(CHATML, tmp_path)

    assert get_counter(f"hf:{tmp_path}", allowed=[tmp_path]).name == f"hf:{tmp_path}"
    for allowed, name in (([], f"hf:{tmp_path}"), ([tmp_path], f"hf:{tmp_path}/"), ([tmp_path], f"hf:{tmp_path}/../x")):
        with pytest.raises(UnknownTokenizer):
            get_counter(name, allowed=allowed)


def test_another_model_of_mistrals_than_the_published_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MISTRAL_VOCABULARY", "0" * 64)

    with pytest.raises(DigestMismatch, match=r"model\.v3"):
        get_counter("mistral-v3")


def test_without_mistrals_package_the_name_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MISTRAL_PACKAGE", "no_such_package")

    with pytest.raises(ModelMissing, match="no_such_package"):
        get_counter("mistral-v3")


def test_the_packaged_encoders_name_means_its_wordpiece() -> None:
    assert get_counter("all-MiniLM-L6-v2").name == "minilm-wordpiece"


def test_text_that_looks_like_a_special_token_is_counted_as_text(o200k: Counter, cl100k: Counter) -> None:
    """R26: as a token it would be one."""
    assert (o200k.count("<|endoftext|>"), cl100k.count("<|endoftext|>")) == (7, 7)


def test_a_text_of_more_than_a_million_characters_is_counted_whole(o200k: Counter) -> None:
    assert o200k.count("door\n" * 300_000) == 300_000 * o200k.count("door\n")


def test_a_lone_surrogate_has_no_tokens(counter: Counter) -> None:
    with pytest.raises(NotText):
        counter.count("a\udfffb")


def test_a_counter_names_itself_and_its_vocabulary(counter: Counter) -> None:
    assert counter.name in TOKENIZER_NAMES
    assert counter.digest.startswith("sha256:")
    assert len(counter.digest) == len("sha256:") + 64


@pytest.mark.parametrize("name", ["gpt-5", "", "O200K_BASE", "../o200k_base"])
def test_an_unknown_tokenizer_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(UnknownTokenizer) as refused:
        get_counter(name)
    assert refused.value.allowed == ("cl100k_base", "o200k_base", "minilm-wordpiece", "mistral-v3")


def test_another_vocabulary_than_the_published_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tokens._OPENAI_VOCABULARIES, "o200k_base", "0" * 64)

    with pytest.raises(DigestMismatch, match="o200k_base"):
        get_counter("o200k_base")


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_compiled_tokenizer_holds_the_published_vocabulary(name: str) -> None:
    """Every token that is text by itself, beside the file whose SHA-256 is pinned."""
    packed = resources.files("bpe_openai.data") / f"{name}.tiktoken.gz"
    lines = gzip.decompress(packed.read_bytes()).splitlines()
    compiled = import_openai_encodings().tokenizer_for_encoding(name)

    wrong, compared = 0, 0
    for line in lines:
        token, rank = line.split()
        try:
            text = base64.b64decode(token).decode("utf-8")
        except UnicodeDecodeError:
            continue
        compared += 1
        wrong += compiled.decode([int(rank)]) != text
    assert wrong == 0
    assert compared > 0.98 * len(lines)
    assert hashlib.sha256(b"\n".join(lines) + b"\n").hexdigest() == tokens._OPENAI_VOCABULARIES[name]
