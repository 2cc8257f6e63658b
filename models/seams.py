r"""Where may a text be cut so that the tokens of its parts add up to those of the whole? (pure)

Token counts do not add: a token may cross any cut, and a tokenizer may look beyond it. At a *seam*, a place with an
ASCII letter or digit on its left and `"` or `\` on its right, they do for many tokenizers, whatever stands around it:

    count(left + right) == count(left) + (count(x + right) - count(x)), where x is the last character of `left`

(x stands before `right` so that what a tokenizer adds at the start of a text is not added at the seam.) Rendered JSON
has a seam near both ends of everything, since keys and names end so.

A tokenizer has this property when each step it takes does. Added tokens are found first: none may cross the seam, or
end at it and so make it the start of a section of its own. A normalizer must work on single characters, or as
Unicode's normal forms, which never join two ASCII characters. A splitter must find what it finds left of the seam
without looking beyond it, and start afresh at it or pass over it: true of those that look at single characters, and
of the published patterns below, which hold no look-behind and look ahead over white space only. Then byte-pair merges
cannot cross the seam when no entry of the vocabulary holds a pair that stands at one: the merges of both sides are
independent. WordPiece needs the seam to be the end of a word. Unigram models choose a best path by sums of floats,
whose ties may fall otherwise in another text, so nothing is claimed for them.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from evidence.canonical import Json

SEAM = re.compile(r'(?<=[A-Za-z0-9])(?=["\\])')

_LEFT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_RIGHT = '"\\'
_LOCAL_NORMALIZERS = frozenset(
    {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer", "Prepend", "Strip"}
)
_LOCAL_SPLITTERS = frozenset(
    {"BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Whitespace", "WhitespaceSplit"}
)
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (  # and cl100k_base
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_DEEPSEEK_NUMBERS, _DEEPSEEK_HAN = r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+"
_DEEPSEEK_WORDS = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_PATTERNS = frozenset({_GPT2, _LLAMA3, _QWEN, _TEKKEN, _DEEPSEEK_NUMBERS, _DEEPSEEK_HAN, _DEEPSEEK_WORDS})


def outermost_seams(text: str) -> tuple[int, int] | None:
    r"""The places of the first and the last seam of `text`; None where it has none. Reads no more than it must.

    >>> outermost_seams('{"handle":"u1","text":"a"}'), outermost_seams(" no seam")
    ((8, 24), None)
    """
    first = SEAM.search(text)
    if first is None:
        return None
    last = len(text)
    while not SEAM.match(text, last):
        last = max(text.rfind(right, 0, last) for right in _RIGHT)
    return first.start(), last


def crosses_a_seam(tokens: Iterable[str]) -> bool:
    """Whether any token, as a vocabulary writes it, holds a pair of characters that stands at a seam."""
    return any(SEAM.search(token) is not None for token in tokens)


def counts_add_at_seams(tokenizer: Mapping[str, Json]) -> bool:
    """Whether the tokenizer of a `tokenizer.json` has the property; False wherever it is not proved above."""
    return (
        all(_stays_clear(content) for content in _added(tokenizer))
        and all(_is_local_normalizer(step) for step in _steps(tokenizer.get("normalizer"), "normalizers"))
        and all(_is_local_splitter(step) for step in _steps(tokenizer.get("pre_tokenizer"), "pretokenizers"))
        and _model_keeps_to_its_side(tokenizer)
    )


def _added(tokenizer: Mapping[str, Json]) -> list[str]:
    tokens = tokenizer.get("added_tokens")
    contents = [token.get("content") for token in tokens if isinstance(token, dict)] if isinstance(tokens, list) else []
    return [content for content in contents if isinstance(content, str)]


def _stays_clear(added: str) -> bool:
    """An added token that neither crosses a seam nor ends at one, also where it is matched in normalized text."""
    return all(
        written != "" and written[-1] not in _LEFT and not set(_RIGHT) & set(written)
        for written in (added, unicodedata.normalize("NFKC", added))
    )


def _steps(step: Json, inner: str) -> list[dict[str, Json]]:
    """The step, or the steps of a sequence, in order; [{}] for what is no step."""
    if step is None:
        return []
    if not isinstance(step, dict):
        return [{}]
    if step.get("type") != "Sequence":
        return [step]
    steps = step.get(inner)
    return [found for one in steps for found in _steps(one, inner)] if isinstance(steps, list) else [{}]


def _is_local_normalizer(step: Mapping[str, Json]) -> bool:
    return step.get("type") in _LOCAL_NORMALIZERS or (
        step.get("type") == "Replace" and _is_literal(step.get("pattern"))
    )


def _is_local_splitter(step: Mapping[str, Json]) -> bool:
    if step.get("type") != "Split":
        return step.get("type") in _LOCAL_SPLITTERS
    pattern = step.get("pattern")
    if _is_literal(pattern):
        return True
    known = isinstance(pattern, dict) and pattern.get("Regex") in _PATTERNS
    return known and (step.get("behavior"), step.get("invert")) in (("Isolated", False), ("Removed", True))


def _is_literal(pattern: Json) -> bool:
    """A literal that can neither cross a seam nor change the characters at one."""
    literal = pattern.get("String") if isinstance(pattern, dict) else None
    return isinstance(literal, str) and literal != "" and not set(literal) & set(_LEFT + _RIGHT)


def _model_keeps_to_its_side(tokenizer: Mapping[str, Json]) -> bool:
    model = tokenizer.get("model")
    if not isinstance(model, dict):
        return False
    if model.get("type") == "WordPiece":
        return [step.get("type") for step in _steps(tokenizer.get("pre_tokenizer"), "")] == ["BertPreTokenizer"]
    vocabulary = model.get("vocab")
    return (
        model.get("type") == "BPE"
        and isinstance(vocabulary, dict)
        and not any(model.get(option) for option in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"))
        and all(character in vocabulary for character in _LEFT + _RIGHT)  # else two unknown ones may be fused
        and not crosses_a_seam(vocabulary)
    )
