"""Which number has a term, read where the sorted terms lie, without a Python object for each? (pure)"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from index.compiled import compiled, read_only

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

_ABSENT = -1


class Vocabulary(Mapping[str, int]):
    """term -> number, numbered from 0 in code-point order, which is the order of UTF-8 bytes too.

    text: (bytes,) uint8, all terms in UTF-8, one after the other. offsets: (terms + 1,) int64 into it.
    A look-up is a binary search: 21 comparisons for a million terms, and as many for a term that is not there, since
    whether a text that the caller may not see holds it must not show in the time that looking takes.
    """

    def __init__(self, *, text: Bytes, offsets: Offsets) -> None:
        self._text = read_only(text)
        self._offsets = read_only(offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __iter__(self) -> Iterator[str]:
        return (self._term(number).decode("utf-8") for number in range(len(self)))

    def __getitem__(self, term: str) -> int:
        wanted = np.frombuffer(term.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        number = _find(self._text, self._offsets, wanted)
        if number == _ABSENT:
            raise KeyError(term)
        return number

    def _term(self, number: int) -> bytes:
        return self._text[self._offsets[number] : self._offsets[number + 1]].tobytes()


def write_terms(terms: Sequence[str]) -> tuple[Bytes, Offsets]:
    """The two arrays of a `Vocabulary` over `terms`, which are in code-point order, none twice."""
    encoded = [term.encode("utf-8") for term in terms]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(term) for term in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


@compiled
def _find(text: Bytes, offsets: Offsets, wanted: Bytes) -> int:
    """The number of the term with these bytes, or _ABSENT, after as many comparisons wherever it lies."""
    low, left = 0, offsets.size - 1
    while left > 1:
        half = left // 2
        if _compare(text[offsets[low + half - 1] : offsets[low + half]], wanted) < 0:
            low += half
        left -= half
    if left == 0 or _compare(text[offsets[low] : offsets[low + 1]], wanted) != 0:
        return _ABSENT
    return low


@compiled
def _compare(one: Bytes, other: Bytes) -> int:
    """Below, at or above 0 as `one` comes before, is, or comes behind `other`."""
    for at in range(min(one.size, other.size)):
        if one[at] != other[at]:
            return -1 if one[at] < other[at] else 1
    return one.size - other.size
