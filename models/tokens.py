"""How many tokens does a text have for the model that will read it?

Exact counts by the model's own tokenizer over one whole string, with no estimate for any model (R23). Texts that look
like special tokens count as text for OpenAI's encodings. Counting never truncates, pads or adds tokens.
"""

import gzip
import hashlib
import importlib
import warnings
from importlib import resources
from types import ModuleType
from typing import Protocol

from models.errors import DigestMismatch, NotText, UnknownTokenizer
from models.folder import open_folder
from models.registry import DEFAULT_ENCODER, find_encoder
from models.tokenizer import Tokenizer

MINILM_WORDPIECE = "minilm-wordpiece"
_OPENAI_PACKAGE = "bpe_openai"
# SHA-256 of the vocabularies as OpenAI publishes them, the same that tiktoken checks in `openai_public.py`.
_OPENAI_VOCABULARIES = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
TOKENIZER_NAMES = (*_OPENAI_VOCABULARIES, MINILM_WORDPIECE)


class Counter(Protocol):
    """Counts tokens for one model. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """The tokenizer, as requests and manifests name it."""

    @property
    def digest(self) -> str:
        """`sha256:` and the hex SHA-256 of its vocabulary file."""

    def count(self, text: str) -> int:
        """Tokens of `text`. Raises NotText for a string with lone surrogates."""


def get_counter(name: str) -> Counter:
    """The counter called `name`, or by the packaged encoder's name for its WordPiece. Keep it: opening takes up to a
    second, counting a microsecond for each token.

    Raises UnknownTokenizer listing the names allowed, DigestMismatch when a vocabulary is not the published one.
    """
    if name in _OPENAI_VOCABULARIES:
        return _OpenaiCounter(name)
    if name in (MINILM_WORDPIECE, DEFAULT_ENCODER):
        return _WordpieceCounter()
    raise UnknownTokenizer(name, TOKENIZER_NAMES)


def import_openai_encodings() -> ModuleType:
    """The compiled encodings of bpe-openai. Takes 0.6 s the first time, for its import reads every vocabulary.

    Its public class refuses texts of a million characters; the tokenizer under it, which is taken here, does not.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "open_binary is deprecated", DeprecationWarning)
        return importlib.import_module("._bindings", package=_OPENAI_PACKAGE)


class _OpenaiCounter:
    """An encoding of OpenAI's. The published vocabulary is checked here; the compiled one is no file, and the tests
    hold it to the published one."""

    def __init__(self, name: str) -> None:
        encodings = import_openai_encodings()
        expected = _OPENAI_VOCABULARIES[name]
        packed = resources.files(_OPENAI_PACKAGE) / "data" / f"{name}.tiktoken.gz"
        got = hashlib.sha256(gzip.decompress(packed.read_bytes())).hexdigest()
        if got != expected:
            raise DigestMismatch(f"{name}.tiktoken", expected=expected, got=got)
        self.name = name
        self.digest = f"sha256:{expected}"
        self._tokenizer = encodings.tokenizer_for_encoding(name)

    def count(self, text: str) -> int:
        try:
            return int(self._tokenizer.count(text))
        except UnicodeEncodeError:
            raise NotText from None


class _WordpieceCounter:
    """The packaged encoder's own WordPiece."""

    def __init__(self) -> None:
        entry = find_encoder(DEFAULT_ENCODER, folder=None)
        self.name = MINILM_WORDPIECE
        self.digest = f"sha256:{dict(entry.digests)['tokenizer.json']}"
        self._tokenizer = Tokenizer(open_folder(entry).tokenizer_file)

    def count(self, text: str) -> int:
        return self._tokenizer.count(text)
