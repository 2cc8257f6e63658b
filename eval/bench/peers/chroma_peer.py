"""How does Chroma search vectors with a filter?

Its HNSW graph by inner product, which it keeps in memory, searched wider than by default so that it finds what is near.
"""

from typing import TYPE_CHECKING

import chromadb

if TYPE_CHECKING:
    from eval.bench.peers.turns import Searches, Work

PACKAGES = ("chromadb",)
_BATCH = 5_000  # rows that it takes at once
_WIDTH = 200  # candidates that a search keeps; it is 100 by default


def searches(work: "Work") -> "Searches":
    """By vector."""
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    units = client.create_collection(
        "units", embedding_function=None, configuration={"hnsw": {"space": "ip", "ef_search": _WIDTH}}
    )
    for first in range(0, len(work.vectors), _BATCH):
        part = slice(first, first + _BATCH)
        tenants = work.tenants[part].tolist()
        units.add(
            ids=[str(first + place) for place in range(len(tenants))],
            embeddings=work.vectors[part],
            metadatas=[{"tenant": tenant} for tenant in tenants],
        )

    def by_vector() -> list[list[int]]:
        found = []
        for query, tenant in zip(work.queries, work.asked.tolist(), strict=True):
            answer = units.query(query_embeddings=[query], n_results=work.k, where={"tenant": tenant}, include=[])
            found.append([int(one) for one in answer["ids"][0]])
        return found

    return {"vector": by_vector}
