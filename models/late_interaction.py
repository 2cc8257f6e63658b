"""How well do the tokens of a text answer those of the query, by the encoder's own token vectors?

MaxSim (Khattab & Zaharia, ColBERT, SIGIR 2020): for each token of the query the largest cosine with any token of the
text; here the mean over the query's tokens, which orders like their sum and stays within [-1, 1]. Special tokens take
part on both sides: over the first 20 of BM25 for 60 queries of NFCorpus, nDCG@10 is 0.308 with them and 0.303 without
them on either side or both (BM25's own order: 0.285).
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from evidence.canonical import digest
from models.encoder import Encoder
from models.quantize import fixed_scores
from models.reranker import MOST_WINDOWS, Reading, RerankResult
from models.tokenizer import Windows

_METHOD = "maxsim-mean-special-tokens"
_TEXTS_AT_ONCE = 16  # whose token vectors are held together; of 8 windows of 256 tokens each these are 50 MB


class LateInteraction:
    """Reranks with the token vectors of the catalog's own encoder; needs no model of its own.

    Each window of a text is encoded alone and its padding removed before it is compared, so that no other text and
    no padding can change a score.
    """

    def __init__(self, encoder: Encoder, *, device: str) -> None:
        self._encoder = encoder
        self.device = device
        self.name = f"late-interaction:{encoder.name}"
        self.digest = digest(
            {
                "method": _METHOD,
                "windows": MOST_WINDOWS,
                "model": encoder.model_digest,
                "prompts": [encoder.entry.query_prompt, encoder.entry.document_prompt],
                "runtime": encoder.runtime,
            }
        )

    def read(self, query: str, texts: Sequence[str]) -> Reading:
        return self._reading(query, self._windows(texts))

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        windows = self._windows(texts)
        query_vectors = self._encoder.token_vectors([self._encoder.query_row(query)])[0]
        scores: list[float] = []
        for start in range(0, len(windows), _TEXTS_AT_ONCE):
            part = windows[start : start + _TEXTS_AT_ONCE]
            vectors = iter(self._encoder.token_vectors([row for text in part for row in text.rows]))
            for text in part:
                of_text = np.concatenate(list(islice(vectors, len(text.rows))))
                scores.append(mean_largest_cosine(query_vectors, of_text))
        reading = self._reading(query, windows)
        return RerankResult(
            scores=fixed_scores(np.array(scores, np.float64)),
            tokens_seen=reading.tokens_seen,
            query_tokens_seen=reading.query_tokens_seen,
        )

    def _windows(self, texts: Sequence[str]) -> list[Windows]:
        return [self._encoder.document_windows(text, most=MOST_WINDOWS) for text in texts]

    def _reading(self, query: str, windows: Sequence[Windows]) -> Reading:
        return Reading(
            tokens_seen=tuple((text.seen, text.total) for text in windows),
            query_tokens_seen=self._encoder.truncated(query),
        )


def mean_largest_cosine(query: NDArray[np.float32], text: NDArray[np.float32]) -> float:
    """MaxSim of token vectors of length 1: query (q, d) float32, text (t, d) float32, t at least 1."""
    return float((query @ text.T).max(axis=1).mean(dtype=np.float64))
