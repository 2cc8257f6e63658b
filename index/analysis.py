"""Which terms does a text put into the lexical channel? (pure)

Text is normalized (NFKC, full case folding), cut into UAX #29 words, and each word stemmed (R9). The rules:

- A word is what UAX #29 calls one and holds a letter or digit: `don't`, `3.14`, `1,000`, `foo_bar` and `a.b` are one
  term each; `C++` gives `c`, `e-mail` gives `e` and `mail`, `#tag` gives `tag`; a lone symbol or emoji gives none.
- A maximal run of Han, Hiragana, Katakana and Hangul gives its overlapping pairs of characters, one character alone
  gives itself: no dictionary decides what a word is. A combining mark stays with its character. Other scripts
  written without spaces (Thai, Lao, Khmer, Burmese) have no such rule and give the pieces UAX #29 makes.
- Invisible characters (Default_Ignorable_Code_Point: soft hyphen, joiners, variation selectors) are no part of a term,
  as in Unicode's NFKC_Casefold; a zero-width space separates words. The typographic apostrophe is read as `'`.
- A term longer than 256 code points is kept as `#` and the first 32 hex digits of its SHA-256, so that a hash or an
  encoded blob can still be found whole; no word starts with `#`. It is not stemmed.

Useful for both sides of BM25: a query and a unit must pass the same analyzer. Not useful for showing words to people.
Cost is linear in the text, also for one endless word and for endless combining marks.
"""

import functools
import hashlib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise

import regex
import Stemmer
from unicode_segmentation_rs import unicode_words

from index.recipe import Recipe

ANALYZER_VERSION = 1  # counts changes of the rules above
SEGMENTATION_UNICODE = "17.0"  # of unicode-segmentation-rs 1.0.0, which embeds unicode-segmentation 1.13.3
MAX_TERM_CODE_POINTS = 256

# Apache Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET, 33 words.
_LUCENE_ENGLISH = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
"""
STOP_WORDS = frozenset(_LUCENE_ENGLISH.split())
ENGLISH = ("english", "porter")  # languages the stop words belong to

# U+30FC lengthens a Kana vowel; its Script is Common. Marks and invisible characters inside a run belong to it.
_PAIRED = r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u30FC]"
_PAIRED_RUN = regex.compile(rf"({_PAIRED}(?:{_PAIRED}|[\p{{M}}\p{{DI}}])*+)")
_CHARACTER = regex.compile(r"\P{M}\p{M}*+|\p{M}++")
_INVISIBLE = regex.compile(r"\p{DI}+")
_MARKS = regex.compile(r"\P{ccc=0}{30}(?=\P{ccc=0})")
_JOINER = "\u034f"  # COMBINING GRAPHEME JOINER


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyzer:
    """Turns text into terms. Holds no state: one instance serves any number of threads.

    language: a Snowball stemmer's name, or None for no stemming. stop_words: leave 33 common English words out (only
    with an English stemmer); saves a sixth of the postings and changes nothing else: nDCG@10 with and without them is
    0.690 and 0.688 on SciFact (train), 0.282 and 0.283 on NFCorpus (dev). So they are kept, and any word can be found.
    Raises ValueError for a language without a stemmer, naming those there are.
    """

    language: str | None = "english"
    stop_words: bool = False

    def __post_init__(self) -> None:
        languages = Stemmer.algorithms()
        if self.language is not None and self.language not in languages:
            raise ValueError(f"no stemmer for language {self.language!r}; there are: {', '.join(languages)}; or None")
        if self.stop_words and self.language not in ENGLISH:
            raise ValueError(f"stop words are English only, got language {self.language!r}; switch them off")

    @property
    def name(self) -> str:
        """Every choice that terms depend on, with its version; goes into the recipe (R10): equal names, equal terms."""
        return _name(self.language, self.stop_words)

    def terms(self, text: str) -> list[str]:
        """The terms of `text` in order, repeats kept."""
        words = _words(text.casefold()) if text.isascii() else _international_words(text)
        if self.stop_words:
            words = [word for word in words if word not in STOP_WORDS]
        if self.language is not None:
            # A stemmer must not be shared between threads; a new one takes a microsecond. Its cache would cost more
            # than it saves: above 10,000 distinct words it sorts itself again and again.
            words = Stemmer.Stemmer(self.language, 0).stemWords(words)
        return words


def analyzer_for(recipe: Recipe) -> Analyzer:
    """The analyzer with the recipe's settings, in this process's version: its name may differ from the recipe's."""
    return Analyzer(language=recipe.language or None, stop_words=recipe.stop_words)


@functools.cache
def _name(language: str | None, stop_words: bool) -> str:
    """Put together once: every query is compared by it, and asking for an installed version takes milliseconds."""
    words = f"Unicode {SEGMENTATION_UNICODE} (unicode-segmentation-rs {version('unicode-segmentation-rs')})"
    stemmer = "none" if language is None else f"{language} (PyStemmer {Stemmer.version()})"
    return "; ".join(
        (
            f"muniment-analyzer {ANALYZER_VERSION}",
            f"NFKC and case folding of Unicode {unicodedata.unidata_version}",
            f"UAX #29 words of {words}",
            f"pairs of Han, Hiragana, Katakana, Hangul (regex {regex.__version__})",
            f"stemmer {stemmer}",
            f"stop words {'lucene-english-33' if stop_words else 'none'}",
            f"terms to {MAX_TERM_CODE_POINTS} code points",
        )
    )


def _international_words(text: str) -> list[str]:
    words: list[str] = []
    for position, run in enumerate(_PAIRED_RUN.split(_normalize(text))):
        words += _pairs(run) if position % 2 else _words(run)  # split gives: between, run, between, run, ... between
    return words


def _normalize(text: str) -> str:
    """NFKC, case folding, NFKC again because folding can undo it.

    Normalization sorts runs of combining marks in quadratic time, so that endless runs are interrupted first, by the
    Stream-Safe Text Process of UAX #15: a joiner, which no term keeps, after 30 marks.
    """
    text = _MARKS.sub(rf"\g<0>{_JOINER}", text)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _words(text: str) -> list[str]:
    words = unicode_words(text)
    if text.isascii():
        return words if max(map(len, words), default=0) <= MAX_TERM_CODE_POINTS else [_bounded(word) for word in words]
    return [word for word in map(_visible, words) if word]


def _visible(word: str) -> str:
    if word.isascii():
        return _bounded(word)
    visible = (
        _INVISIBLE.sub("", word).replace("\u2019", "'").lstrip()
    )  # a vowel sign after a space makes a word of both
    if len(visible) <= MAX_TERM_CODE_POINTS and visible != word:
        visible = unicodedata.normalize("NFKC", visible)  # letter and mark may have met
    return _bounded(visible)


def _pairs(run: str) -> Iterator[str]:
    characters = _CHARACTER.findall(_INVISIBLE.sub("", run))
    if len(characters) == 1:
        yield _bounded(characters[0])
    for first, second in pairwise(characters):
        yield _bounded(first + second)


def _bounded(term: str) -> str:
    if len(term) <= MAX_TERM_CODE_POINTS:
        return term
    return "#" + hashlib.sha256(term.encode("utf-8")).hexdigest()[:32]
