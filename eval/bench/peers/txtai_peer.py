"""How does txtai search vectors, and vectors and words together, with a filter?

Its flat faiss index, its own BM25 and SQLite behind its SQL. It filters what the index offers, so that the index must
offer more than is wanted: enough that a tenant's rows are among it.
"""

from typing import TYPE_CHECKING

import numpy as np
from txtai import Embeddings

if TYPE_CHECKING:
    from eval.bench.peers.turns import Search, Searches, Work

PACKAGES = ("txtai", "faiss-cpu")
_OFFERED = 20  # times the rows that all tenants together would need on average


def searches(work: "Work") -> "Searches":
    """By vector, and hybrid."""
    vectors = dict(zip([*work.texts, *work.query_texts], [*work.vectors, *work.queries], strict=True))
    offered = min(_OFFERED * work.k * len(np.unique(work.tenants)), len(work.texts))
    query = f"SELECT id FROM txtai WHERE similar(:text, {offered}) AND tenant = :tenant"  # noqa: S608 - a number of ours
    asked = [
        {"text": text, "tenant": tenant} for text, tenant in zip(work.query_texts, work.asked.tolist(), strict=True)
    ]

    def searching(*, hybrid: bool) -> "Search":
        embeddings = Embeddings(
            method="external",
            transform=lambda texts: np.stack([vectors[text] for text in texts]),
            content=True,
            hybrid=hybrid,
            backend="faiss",
            faiss={"components": "IDMap,Flat"},
            normalize=False,
        )
        embeddings.index(
            (row, {"text": text, "tenant": tenant}, None)
            for row, (text, tenant) in enumerate(zip(work.texts, work.tenants.tolist(), strict=True))
        )
        return lambda: [
            [int(hit["id"]) for hit in embeddings.search(query, limit=work.k, parameters=one)] for one in asked
        ]

    return {"vector": searching(hybrid=False), "hybrid": searching(hybrid=True)}
