"""How does LanceDB search vectors, and vectors and words together, with a filter?

Its own exact scan behind a filter that is applied first, with a scalar index of the tenants; no approximate index.
Words by its full-text index, both merged by its default, reciprocal ranks.
"""

from typing import TYPE_CHECKING

import lancedb

if TYPE_CHECKING:
    from eval.bench.peers.turns import Searches, Work

PACKAGES = ("lancedb",)


def searches(work: "Work") -> "Searches":
    """By vector, and hybrid."""
    rows = [
        {"row": row, "tenant": tenant, "text": text, "vector": vector}
        for row, (tenant, text, vector) in enumerate(
            zip(work.tenants.tolist(), work.texts, work.vectors.tolist(), strict=True)
        )
    ]
    table = lancedb.connect(str(work.folder)).create_table("units", rows)
    table.create_scalar_index("tenant")
    table.create_fts_index("text", with_position=False, stem=False, remove_stop_words=False)
    asked = list(zip(work.queries, work.query_texts, work.asked.tolist(), strict=True))

    def by_vector() -> list[list[int]]:
        return [
            table.search(query)
            .distance_type("dot")
            .where(f"tenant = {tenant}", prefilter=True)
            .select(["row"])
            .limit(work.k)
            .to_arrow()["row"]
            .to_pylist()
            for query, _, tenant in asked
        ]

    def hybrid() -> list[list[int]]:
        return [
            table.search(query_type="hybrid")
            .vector(query)
            .text(text)
            .distance_type("dot")
            .where(f"tenant = {tenant}", prefilter=True)
            .limit(work.k)
            .to_arrow()["row"]
            .to_pylist()
            for query, text, tenant in asked
        ]

    return {"vector": by_vector, "hybrid": hybrid}
