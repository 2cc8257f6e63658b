"""How do faiss and rank-bm25 search vectors and words together with a filter, when they are glued by hand?

For each tenant, made beforehand: a bitmap for faiss, and a BM25 index of its rows alone. Both merged by reciprocal
ranks.
"""

from typing import TYPE_CHECKING, Any

import faiss
import numpy as np
from rank_bm25 import BM25Okapi

if TYPE_CHECKING:
    from eval.bench.peers.turns import Searches, Work

PACKAGES = ("faiss-cpu", "rank-bm25")
_DEPTH = 200  # rows that each of the two rankings offers
_RRF_K = 60


def searches(work: "Work") -> "Searches":
    """By vector, and hybrid."""
    index = faiss.IndexFlatIP(work.vectors.shape[1])
    index.add(work.vectors)
    tenants = {int(tenant): _Tenant(work, int(tenant)) for tenant in np.unique(work.asked)}
    asked = list(zip(work.queries, work.query_texts, work.asked.tolist(), strict=True))

    def near(query: Any, tenant: int, k: int) -> list[int]:
        _, rows = index.search(query[None], k, params=tenants[tenant].parameters)
        return [row for row in rows[0].tolist() if row >= 0]

    def by_vector() -> list[list[int]]:
        return [near(query, tenant, work.k) for query, _, tenant in asked]

    def hybrid() -> list[list[int]]:
        found = []
        for query, text, tenant in asked:
            scores: dict[int, float] = {}
            for ranking in (near(query, tenant, _DEPTH), tenants[tenant].worded(text)):
                for rank, row in enumerate(ranking, start=1):
                    scores[row] = scores.get(row, 0.0) + 1 / (_RRF_K + rank)
            found.append(sorted(scores, key=lambda row: (-scores[row], row))[: work.k])
        return found

    return {"vector": by_vector, "hybrid": hybrid}


class _Tenant:
    """What is made for one tenant beforehand."""

    def __init__(self, work: "Work", tenant: int) -> None:
        visible = work.tenants == tenant
        self._rows = np.flatnonzero(visible)
        self._bits = np.packbits(visible, bitorder="little")
        self._selector = faiss.IDSelectorBitmap(len(self._bits), faiss.swig_ptr(self._bits))  # reads the bits in place
        self.parameters = faiss.SearchParameters()
        self.parameters.sel = self._selector
        self._words = BM25Okapi([work.texts[row].split() for row in self._rows.tolist()])

    def worded(self, text: str) -> list[int]:
        scores = self._words.get_scores(text.split())
        best = np.argsort(-scores)[:_DEPTH]
        rows: list[int] = self._rows[best[scores[best] > 0]].tolist()
        return rows
