"""How many tokens does a text have for the model that will read it?

Exact counts by the model's own tokenizer over one whole string, with no estimate for any model (R23). Texts that look
like special tokens count as text for OpenAI's and Mistral's vocabularies. Counting never truncates, pads or adds
tokens. None of them needs a network: vocabularies come from installed packages, or from a folder of the operator's.
"""

import gzip
import hashlib
import importlib
import importlib.util
import warnings
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Protocol

from models.errors import DigestMismatch, ModelMissing, NotText, UnknownTokenizer
from models.folder import file_digest, open_folder
from models.local_tokenizer import LocalTokenizer
from models.registry import DEFAULT_ENCODER, find_encoder
from models.tokenizer import Tokenizer

MINILM_WORDPIECE = "minilm-wordpiece"
MISTRAL_SENTENCEPIECE = "mistral-v3"
LOCAL = "hf:"  # then the path of a folder, as the operator wrote it
_OPENAI_PACKAGE = "bpe_openai"
_MISTRAL_PACKAGE = "mistral_common"  # its data alone is read; its code never runs
_MISTRAL_MODEL = "mistral_instruct_tokenizer_240323.model.v3"
# SHA-256 of the vocabularies as OpenAI publishes them, the same that tiktoken checks in `openai_public.py`.
_OPENAI_VOCABULARIES = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
# SHA-256 of the model as Mistral publishes it for Mistral 7B 0.3 (`tokenizer.model.v3`).
_MISTRAL_VOCABULARY = "9addc8bdce5988448ae81b729336f43a81262160ae8da760674badab9d4c7d33"
TOKENIZER_NAMES = (*_OPENAI_VOCABULARIES, MINILM_WORDPIECE, MISTRAL_SENTENCEPIECE)


class Counter(Protocol):
    """Counts tokens for one model. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """The tokenizer, as requests and manifests name it."""

    @property
    def digest(self) -> str:
        """`sha256:` and the hex SHA-256 of its vocabulary file."""

    @property
    def adds_at_seams(self) -> bool:
        """Whether counts add at seams, proved as `seams` says."""

    def count(self, text: str) -> int:
        """Tokens of `text`. Raises NotText for a string with lone surrogates."""


def get_counter(name: str, *, allowed: Sequence[Path] = ()) -> Counter:
    """The counter called `name`, or by the packaged encoder's name for its WordPiece. Keep it: opening takes up to a
    second, counting a microsecond for each token.

    allowed: the folders that may be named as `hf:PATH`, each in exactly the operator's spelling; no other is looked at.
    Raises UnknownTokenizer listing the names allowed, DigestMismatch when a vocabulary is not the published one, and
    what LocalTokenizer refuses.
    """
    if name in _OPENAI_VOCABULARIES:
        return _OpenaiCounter(name)
    if name in (MINILM_WORDPIECE, DEFAULT_ENCODER):
        return _WordpieceCounter()
    if name == MISTRAL_SENTENCEPIECE:
        return _SentencepieceCounter()
    for folder in allowed:
        if name == f"{LOCAL}{folder}":
            return LocalTokenizer(folder, name=name)
    raise UnknownTokenizer(name, TOKENIZER_NAMES)


def import_openai_encodings() -> ModuleType:
    """The compiled encodings of bpe-openai. Takes 0.6 s the first time, for its import reads every vocabulary.

    Its public class refuses texts of a million characters; the tokenizer under it, which is taken here, does not.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "open_binary is deprecated", DeprecationWarning)
        return importlib.import_module("._bindings", package=_OPENAI_PACKAGE)


def openai_vocabulary(name: str) -> bytes:
    """The vocabulary of an encoding as OpenAI publishes it, in tiktoken's format. Raises DigestMismatch."""
    packed = resources.files(_OPENAI_PACKAGE) / "data" / f"{name}.tiktoken.gz"
    vocabulary = gzip.decompress(packed.read_bytes())
    got = hashlib.sha256(vocabulary).hexdigest()
    if got != _OPENAI_VOCABULARIES[name]:
        raise DigestMismatch(f"{name}.tiktoken", expected=_OPENAI_VOCABULARIES[name], got=got)
    return vocabulary


class _OpenaiCounter:
    """An encoding of OpenAI's. The published vocabulary is checked here; the compiled one is no file, and the tests
    hold it to the published one.

    Its pattern looks ahead over white space only, and every match ends between a letter or digit and `"` or a
    backslash: counts add at seams.
    """

    adds_at_seams = True

    def __init__(self, name: str) -> None:
        encodings = import_openai_encodings()
        openai_vocabulary(name)  # checks it
        self.name = name
        self.digest = f"sha256:{_OPENAI_VOCABULARIES[name]}"
        self._tokenizer = encodings.tokenizer_for_encoding(name)

    def count(self, text: str) -> int:
        try:
            return int(self._tokenizer.count(text))
        except UnicodeEncodeError:
            raise NotText from None


class _WordpieceCounter:
    """The packaged encoder's own WordPiece. It splits before and after every `"` and backslash: counts add at seams."""

    adds_at_seams = True

    def __init__(self) -> None:
        entry = find_encoder(DEFAULT_ENCODER, folder=None)
        self.name = MINILM_WORDPIECE
        self.digest = f"sha256:{dict(entry.digests)['tokenizer.json']}"
        self._tokenizer = Tokenizer(open_folder(entry).tokenizer_file)

    def count(self, text: str) -> int:
        return self._tokenizer.count(text)


class _SentencepieceCounter:
    """Mistral's SentencePiece model, third version: byte-pair merges over the whole text, which is not normalized.
    No piece of it holds a pair that stands at a seam: counts add there."""

    adds_at_seams = True

    def __init__(self) -> None:
        spec = importlib.util.find_spec(_MISTRAL_PACKAGE)  # finds the package without running it
        if spec is None or not spec.submodule_search_locations:
            raise ModelMissing(f"tokenizer {MISTRAL_SENTENCEPIECE}: the package {_MISTRAL_PACKAGE} is not installed")
        file = Path(spec.submodule_search_locations[0]) / "data" / _MISTRAL_MODEL
        got = file_digest(file) if file.is_file() else "missing"
        if got != _MISTRAL_VOCABULARY:
            raise DigestMismatch(_MISTRAL_MODEL, expected=_MISTRAL_VOCABULARY, got=got)
        self.name = MISTRAL_SENTENCEPIECE
        self.digest = f"sha256:{got}"
        self._processor = importlib.import_module("sentencepiece").SentencePieceProcessor(model_file=str(file))

    def count(self, text: str) -> int:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise NotText from None
        return len(self._processor.encode(text))
