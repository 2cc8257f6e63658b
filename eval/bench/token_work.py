"""Which texts are counted, and which pieces are packed?

Words of the packaged vocabulary by Zipf's law, with punctuation and numbers between them, and strings of odd characters
on which two tokenizers would come apart first.
"""

import json
import random
from collections.abc import Sequence
from itertools import accumulate

SHORT_WORDS = (4, 24)  # 200 such passages are little more than 8,000 tokens
UNIT_WORDS = (100, 180)  # as a catalog cuts them: some 200 tokens
_SEED = 31
_NUMBER, _STOP = 0.06, 0.12  # of the words are followed by one
_ODD = (
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "\u00a0",
    "\u3000",
    "'",
    "'s",
    "'LL",
    "\u017f",  # a long s, which folds to s
    '"',
    "\\",
    "/",
    "<|endoftext|>",
    "<|fim_prefix|>",
    "e\u0301",
    "\u0301",
    "\u01c5",  # a letter of title case
    "\u02b0",  # a modifier letter
    "\u4e0a\u4f20",
    "\u0e2a\u0e27\u0e31\u0e2a",
    "\u0645\u0631\u062d\u0628\u0627",
    "\U0001f600",
    "\U0001f468\u200d\U0001f469",
    "\u00bd",
    "\u0661\u0662\u0663",
    "\u200b",
    "\ufffd",
    "\x00",
    "12345",
    "A",
    "b",
    "Cd",
    "eF",
    "...",
    "---",
    "#!",
)


class Writer:
    """Writes texts, the same ones for the same words."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._odds = list(accumulate(1 / (rank + 1) for rank in range(len(words))))
        self._chance = random.Random(_SEED)  # noqa: S311 - nothing secret

    def text(self, words: int) -> str:
        """So many words."""
        parts = []
        for word in self._chance.choices(self._words, cum_weights=self._odds, k=words):
            parts.append(word)
            if self._chance.random() < _NUMBER:
                parts.append(str(self._chance.randrange(10_000)))
            if self._chance.random() < _STOP:
                parts[-1] += self._chance.choice([".", ",", ";", ".\n", " (see note)"])
        return " ".join(parts)

    def passages(self, words: tuple[int, int], *, count: int) -> list[str]:
        """Passages as a rendered packet holds them, between `words` long."""
        lengths = [self._chance.randint(*words) for _ in range(count)]
        records = [
            {"handle": f"u{place}", "text": self.text(length), "trust": "untrusted"}
            for place, length in enumerate(lengths)
        ]
        return [json.dumps(record) + "," for record in records]

    def fuzz(self, count: int) -> list[str]:
        """Strings of odd characters among words; no lone surrogates, which neither side reads."""
        return ["".join(self._odd() for _ in range(self._chance.randrange(24))) for _ in range(count)]

    def _odd(self) -> str:
        draw = self._chance.random()
        if draw < 0.2:
            return self._chance.choice(self._words)
        if draw < 0.3:
            code = self._chance.randrange(0x11_0000 - 0x800)
            return chr(code if code < 0xD800 else code + 0x800)
        return self._chance.choice(_ODD)
