import base64
import gzip
import hashlib
from importlib import resources

import pytest

from models import tokens
from models.errors import DigestMismatch, NotText, UnknownTokenizer
from models.tokens import TOKENIZER_NAMES, Counter, get_counter, import_openai_encodings


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
    assert refused.value.allowed == ("cl100k_base", "o200k_base", "minilm-wordpiece")


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
