"""May a tokenizer from the operator's own folder count what is rendered, and how many tokens does it find?

Its added tokens become single ids wherever they stand in a text, so one that rendered content could spell would let
content become control (R26). The escape is what prevents it: an added token that holds an escaped character can never
come out of a string. One that holds none is refused here, unless it is white space only (runs of spaces and line
breaks have ids of their own in some vocabularies, and instruct nobody).
"""

import hashlib
import json
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import tokenizers

from evidence.escape import ESCAPED
from models.errors import InvalidTokenizer, ModelMissing, UnsafeTokenizer
from models.seams import counts_add_at_seams
from models.tokenizer import Tokenizer

_SPACE = "\u2581"  # how SentencePiece writes a space in its vocabulary


class LocalTokenizer:
    """The counter of a folder with a `tokenizer.json`. Safe to call from several threads.

    Raises ModelMissing, InvalidTokenizer, UnsafeTokenizer.
    """

    def __init__(self, folder: Path, *, name: str) -> None:
        self.name = name
        data = read_file(folder / "tokenizer.json", name=name)
        try:
            record = json.loads(data)
            tokenizer = tokenizers.Tokenizer.from_buffer(data)
        except Exception as error:  # noqa: BLE001 - the library raises plain Exception for whatever it cannot read
            raise InvalidTokenizer(name, f"tokenizer.json cannot be read ({type(error).__name__})") from None
        self.digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.adds_at_seams = counts_add_at_seams(record)
        self.added = frozenset(token.content for token in tokenizer.get_added_tokens_decoder().values())
        _refuse_survivors(tokenizer, name=name)
        self._tokenizer = Tokenizer(tokenizer)

    def count(self, text: str) -> int:
        return self._tokenizer.count(text)


def read_file(path: Path, *, name: str) -> bytes:
    """The bytes of one file of the folder called `name`. Raises ModelMissing, InvalidTokenizer."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ModelMissing(f"tokenizer {name}: there is no {path.name} in its folder") from None
    except OSError as error:
        raise InvalidTokenizer(name, f"{path.name} cannot be read ({error.strerror})") from None


def is_layout(token: str) -> bool:
    """Whether an added token is white space only."""
    return token.replace(_SPACE, " ").isspace()


def _refuse_survivors(tokenizer: tokenizers.Tokenizer, *, name: str) -> None:
    """Refuse the first added token, by code point, that content can spell once its characters are escaped."""
    added = sorted(tokenizer.get_added_tokens_decoder().values(), key=lambda token: str(token.content))
    made = frozenset[str]()
    if tokenizer.normalizer is not None and any(token.normalized for token in added):
        made = _escaped_in(tokenizer.normalizer.normalize_str(_standing_raw()))
    for token in added:
        written = str(token.content)
        safe = _escaped_in(written) - (made if token.normalized else frozenset())
        if not safe and not is_layout(written):
            raise UnsafeTokenizer(name, written)


def _escaped_in(text: str) -> frozenset[str]:
    """The characters of `text` that never stand raw inside a rendered string."""
    return frozenset(character for character in text if _is_escaped(ord(character)))


def _is_escaped(point: int) -> bool:
    return any(first <= point <= last for first, last in ESCAPED)


def _standing_raw() -> str:
    """Every assigned character that content can put raw into a rendered string: what its normalizer may meet."""
    return "".join(_raw_characters())


def _raw_characters() -> Iterable[str]:
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        if unicodedata.category(character) not in ("Cn", "Co", "Cs") and not _is_escaped(point):
            yield character
