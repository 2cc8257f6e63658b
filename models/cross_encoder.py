"""How well does a text answer the query, by a model that reads both together?

Any sentence-transformers CrossEncoder with one label. A text that does not fit beside the query is read in windows
and gets the best window's score (MaxP; Dai & Callan, SIGIR 2019), so that one oversized pair never fails a request.
"""

from collections.abc import Sequence

import numpy as np

from evidence.canonical import digest
from models.batching import ONE_BY_ONE
from models.folder import ModelFolder
from models.forward import RowRunner
from models.quantize import fixed_scores
from models.registry import CrossEncoderEntry
from models.reranker import MOST_WINDOWS, Reading, RerankResult
from models.runtime import SCORES, Runtime
from models.tokenizer import Tokenizer, Windows

_METHOD = "cross-encoder-maxp"


class CrossEncoderReranker:
    """Reranks with a cross-encoder on one runtime, pair by pair at fixed padded lengths."""

    def __init__(self, entry: CrossEncoderEntry, folder: ModelFolder, runtime: Runtime, *, device: str) -> None:
        self._runner = RowRunner(runtime=runtime, pad_id=folder.pad_id, window=entry.window)
        self._tokenizer = Tokenizer(folder.tokenizer_file)
        self._window = entry.window
        self.device = device
        self.name = f"cross-encoder:{entry.name}"
        self.digest = digest(
            {
                "method": _METHOD,
                "windows": MOST_WINDOWS,
                "window": entry.window,
                "model": folder.digest,
                "runtime": runtime.name,
            }
        )

    def read(self, query: str, texts: Sequence[str]) -> Reading:
        return self._reading(query, self._windows(query, texts))

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        windows = self._windows(query, texts)
        rows = [row for text in windows for row in text.rows]
        outputs = self._runner.run(rows, output=SCORES, batch_sizes=ONE_BY_ONE)
        starts = np.cumsum([0, *(len(text.rows) for text in windows)])[:-1]
        best = np.maximum.reduceat(np.array(outputs, np.float64), starts) if texts else np.empty(0)
        reading = self._reading(query, windows)
        return RerankResult(
            scores=fixed_scores(best),
            tokens_seen=reading.tokens_seen,
            query_tokens_seen=reading.query_tokens_seen,
        )

    def _windows(self, query: str, texts: Sequence[str]) -> list[Windows]:
        window, most = self._window, self._query_most
        return [
            self._tokenizer.pair_windows(query, text, window=window, query_most=most, most=MOST_WINDOWS)
            for text in texts
        ]

    def _reading(self, query: str, windows: Sequence[Windows]) -> Reading:
        total = self._tokenizer.count(query)
        return Reading(
            tokens_seen=tuple((text.seen, text.total) for text in windows),
            query_tokens_seen=(min(total, self._query_most), total),
        )

    @property
    def _query_most(self) -> int:
        return self._window // 2  # the other half is the text's
