"""Where does language allow a cut inside a block? (pure)

Four ways, the strongest first. Each gives ascending positions, in code points, where a part starts, without 0. No part
is blank and none but the first starts with a space: spaces belong to the part before them. Cost is linear.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from unicode_segmentation_rs import split_word_bounds, unicode_sentences

_LINE_END = re.compile(r"[\r\n]\s*")
_SPACE = re.compile(r"\s+")


def sentence_starts(text: str) -> list[int]:
    """Sentences of UAX #29, but a line end is only a space: in hard-wrapped text it ends no sentence.

    >>> sentence_starts("It broke\\nat 3.14. Why? (Nobody knows.) So")
    [18, 23, 39]
    """
    flat = text.replace("\r", " ").replace("\n", " ")
    starts, position = [], 0
    for sentence in unicode_sentences(flat):  # leaves out what holds no letter or digit, so each has one first place
        position = flat.index(sentence, position)
        starts.append(position)
        position += len(sentence)
    return _proper(starts[1:], text)


def line_starts(text: str) -> list[int]:
    """Lines that are not blank."""
    return _proper((match.end() for match in _LINE_END.finditer(text)), text)


def space_ends(text: str) -> list[int]:
    """Wherever space ends."""
    return _proper((match.end() for match in _SPACE.finditer(text)), text)


def word_starts(text: str) -> list[int]:
    """Word boundaries of UAX #29; between the characters of scripts that are written without spaces, too."""
    return _proper(accumulate(map(len, split_word_bounds(text))), text)


def _proper(positions: Iterable[int], text: str) -> list[int]:
    blank = len(text) - len(text.lstrip())
    return [position for position in positions if blank < position < len(text) and not text[position].isspace()]


BREAKS: Sequence[Callable[[str], list[int]]] = (sentence_starts, line_starts, space_ends, word_starts)
