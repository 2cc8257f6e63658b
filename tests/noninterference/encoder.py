"""Which codes does a text get in these worlds?

From its words alone, so that equal texts have equal codes and a text that is the query lies closest to it. The vector
of a word is made once.
"""

import functools
import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tests.worlds import DIMENSION, WordEncoder


class FastEncoder(WordEncoder):
    """`WordEncoder`, remembering words and texts."""

    def encode_query(self, text: str) -> npt.NDArray[np.int8]:
        return _code(text).copy()

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        return np.array([_code(text) for text in texts], dtype=np.int8).reshape(-1, DIMENSION)


@functools.lru_cache(maxsize=65_536)
def _code(text: str) -> npt.NDArray[np.int8]:
    total = np.ones(DIMENSION)
    for word in text.lower().split():
        total = total + _vector(word)
    code: npt.NDArray[np.int8] = np.clip(np.rint(total / np.linalg.norm(total) * 400), -127, 127).astype(np.int8)
    return code


@functools.lru_cache(maxsize=65_536)
def _vector(word: str) -> npt.NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
    return np.random.default_rng(seed).standard_normal(DIMENSION)
