"""Which texts have exactly so many tokens?

Whole words that are one token each, drawn at random and the same on every run. Useful where speed is measured. Not
useful for quality: they mean nothing.
"""

from collections.abc import Sequence

import numpy as np

from models.tokenizer import Tokenizer

_SEED = 13


def single_words(tokenizer: Tokenizer) -> list[str]:
    """Words that are one token each, by code point."""
    return [word for word in tokenizer.vocabulary() if word.isascii() and word.isalpha() and len(word) > 2]


def texts_of(tokenizer: Tokenizer, lengths: Sequence[int]) -> list[str]:
    """Texts of so many tokens each, special ones among them."""
    words = single_words(tokenizer)
    rng = np.random.default_rng(_SEED)
    special = tokenizer.special_tokens
    return [" ".join(words[place] for place in rng.integers(0, len(words), length - special)) for length in lengths]


def mixed_lengths(count: int, *, shortest: int, longest: int) -> list[int]:
    """Spread evenly from the shortest to the longest, in no order."""
    lengths = np.linspace(shortest, longest, count).astype(int)
    return [int(length) for length in np.random.default_rng(_SEED).permutation(lengths)]
