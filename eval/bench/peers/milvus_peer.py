"""How does milvus-lite search vectors with a filter?

Its flat index by inner product, behind a filter on the tenant.
"""

from typing import TYPE_CHECKING

from pymilvus import DataType, MilvusClient

if TYPE_CHECKING:
    from eval.bench.peers.turns import Searches, Work

PACKAGES = ("milvus-lite", "pymilvus")
_BATCH = 5_000  # rows that it takes at once


def searches(work: "Work") -> "Searches":
    """By vector."""
    client = MilvusClient(str(work.folder / "units.db"))
    schema = client.create_schema()
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("tenant", DataType.INT64)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=work.vectors.shape[1])
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="FLAT", metric_type="IP")
    client.create_collection("units", schema=schema, index_params=indexes)
    for first in range(0, len(work.vectors), _BATCH):
        part = slice(first, first + _BATCH)
        rows = zip(work.tenants[part].tolist(), work.vectors[part].tolist(), strict=True)
        client.insert(
            "units",
            [{"id": row, "tenant": tenant, "vector": vector} for row, (tenant, vector) in enumerate(rows, start=first)],
        )

    def by_vector() -> list[list[int]]:
        found = []
        for query, tenant in zip(work.queries, work.asked.tolist(), strict=True):
            answer = client.search("units", [query.tolist()], limit=work.k, filter=f"tenant == {tenant}")
            found.append([hit["id"] for hit in answer[0]])
        return found

    return {"vector": by_vector}
