"""How long does the whole path take, glued from four libraries as many build it?

sentence-transformers encodes the query; faiss searches a flat index behind a bitmap of the tenant's rows; rank-bm25
scores the tenant's texts; an exact tokenizer counts. Everything that can be made beforehand is: bitmaps, a BM25 index
for each tenant that asks, the counts of all single texts. Both rankings are merged by min-max as ours are, so that the
answers can be compared. What ours does beyond that, it does without: no revisions, no conflicts, no record.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sentence_transformers import SentenceTransformer

from eval.bench.faiss_peer import FaissPeer, Kind
from evidence.identity import UnitKey, unit_id
from index.analysis import Analyzer
from index.bm25 import formula
from models.quantize import quantize
from models.tokens import Counter
from server.reference_bm25 import ReferenceBm25

Codes = npt.NDArray[np.int8]
Scores = dict[int, float]

DEPTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What both sides search: codes (n, d) int8, the texts, and the key of each row."""

    codes: Codes
    texts: Sequence[str]
    keys: Sequence[UnitKey]


class Glued:
    """The path over some rows, for the tenants named."""

    def __init__(
        self,
        rows: Rows,
        *,
        tenants: Sequence[str],
        model: SentenceTransformer,
        scale: str,
        analyzer: Analyzer,
        variant: str,
        counter: Counter,
    ) -> None:
        self._rows = rows
        self._model = model
        self._scale = scale
        self._analyzer = analyzer
        self._counter = counter
        namespaces = np.array([key.namespace for key in rows.keys])
        self._owners: Sequence[str] = namespaces.tolist()
        self._places = {tenant: np.flatnonzero(namespaces == tenant) for tenant in tenants}
        self._near = FaissPeer(Kind.FLAT, rows.codes)
        self._visible = {tenant: self._near.visible(namespaces == tenant) for tenant in tenants}
        self._words: Mapping[str, ReferenceBm25] = {
            tenant: ReferenceBm25([analyzer.terms(rows.texts[row]) for row in places.tolist()], formula(variant))
            for tenant, places in self._places.items()
        }

    def search(self, text: str, tenant: str, *, k: int) -> list[int]:
        """The first `k` rows, best first."""
        vector = self._model.encode([text], show_progress_bar=False)
        code = quantize(vector, scale=self._scale)[0]
        _, rows = self._near.search(code[None].astype(np.float32), DEPTH, self._visible[tenant])
        terms = self._analyzer.terms(text)
        worded = self._words[tenant].scores(terms)
        places = self._places[tenant]
        best = np.argsort(-worded, kind="stable")[:DEPTH]
        found = {int(row) for row in rows[0] if row >= 0} | {int(places[at]) for at in best if worded[at] > 0}
        union = np.array(sorted(found), dtype=np.int64)
        dense = _scaled((self._rows.codes[union].astype(np.int32) @ code.astype(np.int32)).astype(np.float64))
        lexical = _scaled(worded[np.searchsorted(places, union)])
        order = np.argsort(-(dense + lexical) / 2, kind="stable")[:k]
        return [int(row) for row in union[order]]

    def key(self, row: int) -> UnitKey:
        """The unit that a row stands for."""
        return self._rows.keys[row]

    def packet(self, text: str, tenant: str, *, k: int, max_tokens: int) -> str:
        """A prompt of what fits, with an account of what is in it."""
        parts: list[str] = []
        included: list[dict[str, Any]] = []
        for row in self.search(text, tenant, k=k):
            if self._owners[row] != tenant:  # looked at again before it leaves
                continue
            key = self.key(row)
            part = json.dumps({"id": unit_id(key), "text": self._rows.texts[row]})
            if self._counter.count("\n".join([*parts, part])) > max_tokens:
                break
            parts.append(part)
            included.append({"id": unit_id(key), "sha256": hashlib.sha256(part.encode()).hexdigest()})
        body = "\n".join(parts)
        return json.dumps({"body": body, "tokens": self._counter.count(body), "included": included})


def _scaled(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    low, high = min(float(scores.min(initial=0.0)), 0.0) if (scores == 0).any() else scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)
