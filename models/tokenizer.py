"""Which tokens does a model read, and where do they stand in the text?

The file's own truncation and padding are switched off: the packaged MiniLM's ships with 128 tokens of both. Offsets
are code points. Useful for encoders, rerankers and exact counts. Not useful for models of OpenAI's: see tokens.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tokenizers

from models.errors import NotText

_SHORT = 4096  # characters, a few milliseconds at most: a longer text goes where the library lets other threads work


class TokenRow(NamedTuple):
    """One row of a network's input, with its special tokens, without padding. `types`: segment 0 or 1 of each."""

    ids: list[int]
    types: list[int]


class Windows(NamedTuple):
    """A text as rows of at most one window each. `seen` of `total` tokens are in them, special ones not counted."""

    rows: list[TokenRow]
    seen: int
    total: int


class Tokenizer:
    """A model's tokenizer. Immutable in use; safe to call from several threads."""

    def __init__(self, source: Path | tokenizers.Tokenizer) -> None:
        """Reads a `tokenizer.json`, or takes over one that was read."""
        self._tokenizer = tokenizers.Tokenizer.from_file(str(source)) if isinstance(source, Path) else source
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.special_tokens: int = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self.pair_special_tokens: int = self._tokenizer.num_special_tokens_to_add(is_pair=True)

    def count(self, text: str) -> int:
        """Tokens of `text`, without special ones. Raises NotText."""
        return len(self._encode(text).ids)

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The code points `[start, end)` of each token of `text`, in order, without special ones. Raises NotText."""
        offsets: list[tuple[int, int]] = self._encode(text).offsets
        return offsets

    def row(self, text: str) -> TokenRow:
        """All of `text` with special tokens, whatever its length. Raises NotText."""
        return _row(self._tokenizer.post_process(self._encode(text)))

    def windows(self, text: str, *, window: int, most: int) -> Windows:
        """`text` as consecutive rows of at most `window` tokens with special ones; at most `most` rows."""
        encoding = self._encode(text)
        total = len(encoding.ids)
        pieces = _pieces(encoding, window - self.special_tokens)[:most]
        rows = [_row(self._tokenizer.post_process(piece)) for piece in pieces]
        return Windows(rows=rows, seen=sum(len(piece.ids) for piece in pieces), total=total)

    def pair_windows(self, query: str, text: str, *, window: int, query_most: int, most: int) -> Windows:
        """`text` as consecutive rows that each start with `query`, cut to `query_most` tokens; at most `most` rows
        of at most `window` tokens with special ones. `seen` and `total` are those of `text`."""
        head = self._encode(query)
        head.truncate(query_most)
        encoding = self._encode(text)
        total = len(encoding.ids)
        pieces = _pieces(encoding, window - self.pair_special_tokens - len(head.ids))[:most]
        rows = [_row(self._tokenizer.post_process(head, piece)) for piece in pieces]
        return Windows(rows=rows, seen=sum(len(piece.ids) for piece in pieces), total=total)

    def vocabulary(self) -> list[str]:
        """The tokens of the vocabulary as the file writes them, by code point; added and special ones are left out."""
        added = {token.content for token in self._tokenizer.get_added_tokens_decoder().values()}
        return sorted(self._tokenizer.get_vocab(with_added_tokens=False).keys() - added)

    def _encode(self, text: str) -> tokenizers.Encoding:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise NotText from None
        if len(text) <= _SHORT:
            return self._tokenizer.encode(text, add_special_tokens=False)
        return self._tokenizer.encode_batch([text], add_special_tokens=False)[0]


def _pieces(encoding: tokenizers.Encoding, size: int) -> list[tokenizers.Encoding]:
    """`encoding` cut into consecutive pieces of `size` tokens; one empty piece for an empty text."""
    encoding.truncate(size)
    return [encoding, *encoding.overflowing]


def _row(encoding: tokenizers.Encoding) -> TokenRow:
    return TokenRow(ids=encoding.ids, types=encoding.type_ids)
